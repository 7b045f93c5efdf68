"""Other people's words for targets, retries and ways out, and what WangTimer calls them."""

from collections.abc import Mapping

_WAY_OUT = (
    "a way out other than HTTP is a target of the app: make it with PUT /v1/targets/NAME, and write its "
    'name here, as in "target": {"name": "NAME"}'
)
_NO_KIND = "a target has no kind: url is called over HTTP; " + _WAY_OUT
_IN_PLACE_OF_URL = "write queue, celery or consumers here in place of url, as in " + (
    '"queue": {"broker": "orders", "list": "work"}'
)
_NO_KIND_HERE = "a target has no kind: url is called over HTTP; for messages " + _IN_PLACE_OF_URL
_NO_RUN = (
    "WangTimer runs no code: write the URL of a service, or for a Celery task "
    '"celery": {"task": "shop.tasks.expire"}'
)
_STATUSES = "any 2xx is a success; which failures are tried again stands beside the target, as in " + (
    '"retry": {"finalStatuses": ["4xx"]}'
)
_MOMENT = "the timer's schedule is the moment, as in " + '"schedule": {"delay": "1m"}'
_CREDENTIALS = (
    'credentials are a header, as in "headers": {"Authorization": "Bearer ..."}, which is kept secret'
)
_CERTIFICATES = "the certificate of a target is always checked; the operator names further authorities"
_QUERY = "what is in a query stands in the URL, as in https://shop.example/expire?order=7"
_FORM = (
    'write the form as text in body, with "headers": {"Content-Type": "application/x-www-form-urlencoded"}'
)
_SIGNED = "calls are signed with the secrets of the app, which POST /v1/signing-secrets makes"
_ACK = 'work that goes on after an answer 202 has ackTimeout, as in "ackTimeout": "30m"'
_REDIRECTS = "redirects are not followed: write the URL where they lead"

_KINDS = ("type", "kind", "protocol", "scheme")
_OF_BROKERS = (
    "message",
    "redis",
    "rabbitmq",
    "amqp",
    "kafka",
    "sqs",
    "broker",
    "exchange",
    "routingKey",
    "topic",
)
_OF_PLACES = ("group", "consumerGroup", "stream", "list")
# What a call has somewhere else, or in another way.
ELSEWHERE_THAN_CALLS: Mapping[str, str] = {
    **dict.fromkeys(_KINDS, _NO_KIND),
    **dict.fromkeys(_OF_BROKERS, _WAY_OUT),
    **dict.fromkeys(("shell", "command", "script", "function", "code"), _NO_RUN),
    **dict.fromkeys(
        (
            "statuses",
            "status",
            "success",
            "successStatuses",
            "successCodes",
            "expectedStatus",
            "expectedStatuses",
        ),
        _STATUSES,
    ),
    **dict.fromkeys(
        ("auth", "authorization", "username", "user", "password", "token", "apiKey"), _CREDENTIALS
    ),
    **dict.fromkeys(
        ("verify", "insecure", "verifySsl", "verifyTls", "sslVerify", "skipTlsVerify"), _CERTIFICATES
    ),
    **dict.fromkeys(("params", "query", "queryParams"), _QUERY),
    "form": _FORM,
    **dict.fromkeys(("secret", "signingSecret", "signature"), _SIGNED),
    **dict.fromkeys(("async", "ack", "asynchronous", "manualAck"), _ACK),
    **dict.fromkeys(("followRedirects", "allowRedirects", "maxRedirects"), _REDIRECTS),
}
# What only a named target has, and a timer's own target has not.
ELSEWHERE_THAN_TIMERS: Mapping[str, str] = {
    **ELSEWHERE_THAN_CALLS,
    **dict.fromkeys(("queue", "consumers", *_OF_PLACES), _WAY_OUT),
}
# A named target is where those are made.
ELSEWHERE_THAN_TARGETS: Mapping[str, str] = {
    **ELSEWHERE_THAN_CALLS,
    **dict.fromkeys(_KINDS, _NO_KIND_HERE),
    **dict.fromkeys((*_OF_BROKERS, *_OF_PLACES), _IN_PLACE_OF_URL),
}
# Fields of a call.
OF_CALLS: Mapping[str, str] = {
    **dict.fromkeys(
        ("uri", "endpoint", "href", "address", "callback", "callbackUrl", "webhook", "webhookUrl"), "url"
    ),
    **dict.fromkeys(("verb", "httpMethod", "requestMethod"), "method"),
    **dict.fromkeys(("header", "httpHeaders"), "headers"),
    **dict.fromkeys(("data", "payload", "content", "jsonBody"), "json"),
    **dict.fromkeys(("deadline", "responseTimeout", "readTimeout", "timeoutMs", "timeoutSeconds"), "timeout"),
    **dict.fromkeys(("connectionTimeout", "connectTimeoutMs"), "connectTimeout"),
    **dict.fromkeys(("ackDeadline", "visibilityTimeout", "heartbeatTimeout", "ackWait"), "ackTimeout"),
    **dict.fromkeys(("placeholders", "template", "templating", "variables"), "templates"),
    **dict.fromkeys(("ref", "target", "targetName"), "name"),
    **dict.fromkeys(("base64", "isBase64", "bodyBase64"), "bodyIsBase64"),
    **dict.fromkeys(("sequence", "numbering", "withNumbers"), "numbered"),
    "cloudEvent": "cloudEvents",
}
OF_TASKS: Mapping[str, str] = {
    **dict.fromkeys(("name", "taskName", "function"), "task"),
    **dict.fromkeys(("arguments", "params"), "args"),
    **dict.fromkeys(("keywords", "keywordArguments"), "kwargs"),
    **dict.fromkeys(("routingKey", "queueName"), "queue"),
}
_NOT_SPREAD = "exponential pauses are spread by ±20 % by themselves; leave it out"
_TWICE = 'each pause is twice the one before; for others list them, as in "pauses": ["1s", "3s", "9s"]'
ELSEWHERE_THAN_RETRIES: Mapping[str, str] = {
    "jitter": _NOT_SPREAD,
    **dict.fromkeys(
        ("multiplier", "factor", "backoffCoefficient", "backoffMultiplier", "backoffFactor"), _TWICE
    ),
}
OF_RETRIES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "maxAttempts",
            "maximumAttempts",
            "maxRetries",
            "retries",
            "max",
            "limit",
            "count",
            "times",
            "retryCount",
        ),
        "attempts",
    ),
    **dict.fromkeys(
        (
            "delay",
            "interval",
            "initialDelay",
            "initialInterval",
            "retryDelay",
            "minBackoff",
            "wait",
            "pauseMs",
        ),
        "pause",
    ),
    **dict.fromkeys(("maxDelay", "maxInterval", "maximumInterval", "maxBackoff", "maxPause"), "longestPause"),
    **dict.fromkeys(("delays", "intervals", "schedule", "backoffs"), "pauses"),
    **dict.fromkeys(("maxDuration", "maxElapsed", "maxRetryDuration", "timeout", "maxAge"), "within"),
    **dict.fromkeys(("strategy", "type", "policy", "backoffType", "kind"), "backoff"),
    **dict.fromkeys(
        ("nonRetryable", "nonRetryableStatuses", "doNotRetry", "giveUpOn", "abortOn"), "finalStatuses"
    ),
    **dict.fromkeys(
        ("statuses", "retryOn", "retryOnStatuses", "retryable", "retryableStatuses"), "retriedStatuses"
    ),
}
OF_BACKOFFS: Mapping[str, str] = {
    **dict.fromkeys(("constant", "linear", "none"), "fixed"),
    **dict.fromkeys(("expo", "exp", "double", "jitter"), "exponential"),
}
# Words of Kubernetes, Temporal, APScheduler and queues.
OVERLAP_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("forbid", "drop", "discard", "ignore", "never", "deny"), "skip"),
    **dict.fromkeys(
        ("queue", "wait", "serial", "buffer", "bufferOne", "bufferAll", "serialize", "coalesce"), "queueOne"
    ),
    **dict.fromkeys(
        ("replace", "cancel", "cancelOther", "terminateOther", "coverEarly", "restart"), "cancelOlder"
    ),
    **dict.fromkeys(("parallel", "concurrent", "allowAll"), "allow"),
}
OF_RESULTS: Mapping[str, str] = {
    **dict.fromkeys(("reason", "message", "msg", "detail", "cause"), "error"),
    **dict.fromkeys(("ackToken", "key", "X-WangTimer-Ack-Token"), "token"),
    **dict.fromkeys(("permanent", "fatal", "noRetry"), "final"),
}
OF_QUEUES: Mapping[str, str] = {
    **dict.fromkeys(("topic", "exchangeName"), "exchange"),
    **dict.fromkeys(("key", "routing"), "routingKey"),
    **dict.fromkeys(("maxlen", "maxLen"), "maxLength"),
    **dict.fromkeys(("url", "uri", "host", "type", "kind", "connection"), "broker"),
    **dict.fromkeys(("streamKey", "streamName"), "stream"),
    **dict.fromkeys(("listKey", "listName"), "list"),
}
ELSEWHERE_THAN_QUEUES: Mapping[str, str] = dict.fromkeys(
    ("queue", "queueName"),
    'a queue of RabbitMQ is "exchange": "", "routingKey": "q"; on Redis write "list": "q"',
)
OF_CELERY_QUEUES: Mapping[str, str] = {
    **dict.fromkeys(("url", "uri", "brokerUrl", "host", "app"), "broker"),
    **dict.fromkeys(("queueName", "routingKey"), "queue"),
}
_TASK_OF_TIMER = (
    'each timer says its task, as in "target": {"name": "NAME", "celery": {"task": "shop.tasks.expire"}}'
)
ELSEWHERE_THAN_TASKS: Mapping[str, str] = dict.fromkeys(("eta", "countdown"), _MOMENT)
ELSEWHERE_THAN_CELERY_QUEUES: Mapping[str, str] = {
    **dict.fromkeys(("name", "task", "args", "kwargs"), _TASK_OF_TIMER),
    **ELSEWHERE_THAN_TASKS,
}
OF_CONSUMERS: Mapping[str, str] = {
    **dict.fromkeys(("name", "groupId", "groupName", "consumerGroup", "queue"), "group"),
    **dict.fromkeys(("fallback", "url", "callbackUrl"), "fallbackUrl"),
}
OF_DESTINATIONS: Mapping[str, str] = {
    **dict.fromkeys(("type", "channel", "via", "method"), "kind"),
    **dict.fromkeys(("webhook", "webhookUrl", "uri", "href", "robot", "hook"), "url"),
    **dict.fromkeys(("email", "mail", "emails", "address", "addresses", "recipients"), "to"),
    **dict.fromkeys(("sign", "signingSecret", "signSecret"), "secret"),
}
OF_DESTINATION_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("email", "smtp"), "mail"),
    **dict.fromkeys(("dingding", "ding"), "dingtalk"),
    **dict.fromkeys(("lark", "larksuite"), "feishu"),
    **dict.fromkeys(("wechat", "weixin", "wechatWork", "workWechat", "wxwork"), "wecom"),
    **dict.fromkeys(("http", "https", "url", "callback", "hook", "teams", "telegram", "discord"), "webhook"),
}
OF_ALERT_RULES: Mapping[str, str] = {
    **dict.fromkeys(
        ("to", "url", "webhook", "channel", "channels", "destinations", "notify", "target"), "destination"
    ),
    **dict.fromkeys(("event", "on", "when", "triggers"), "events"),
    **dict.fromkeys(("prefix", "namePrefix", "timers", "filter"), "keyPrefix"),
    **dict.fromkeys(("inARow", "consecutiveFailures", "threshold", "failures"), "failuresInARow"),
    **dict.fromkeys(("late", "latency", "lateAfter", "lateness"), "lateBy"),
    **dict.fromkeys(("repeat", "repeatEvery", "repeatInterval", "cooldown", "throttle"), "repeatAfter"),
    **dict.fromkeys(("groupBy", "by", "group"), "per"),
}
OF_EVENTS: Mapping[str, str] = {
    **dict.fromkeys(("failed", "failure", "error", "dead", "exhausted", "dead_letter"), "failed_for_good"),
    **dict.fromkeys(("first_failed", "attempt_failed", "retry"), "first_failure"),
    **dict.fromkeys(("success", "succeeded", "resolved", "ok", "recovery"), "recovered"),
    **dict.fromkeys(("misfire", "misfired"), "missed"),
}
