"""Other people's words for targets, retries and ways out, and what WangTimer calls them."""

from collections.abc import Mapping

from wangtimer.api.http.api_models import by_word

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

_KINDS = "type kind protocol scheme"
_OF_BROKERS = "message redis rabbitmq amqp kafka sqs broker exchange routingKey topic"
_OF_PLACES = "group consumerGroup stream list"
# What a call has somewhere else, or in another way.
ELSEWHERE_THAN_CALLS: Mapping[str, str] = by_word(
    {
        _NO_KIND: _KINDS,
        _WAY_OUT: _OF_BROKERS,
        _NO_RUN: "shell command script function code",
        _STATUSES: "statuses status success successStatuses successCodes expectedStatus expectedStatuses",
        _CREDENTIALS: "auth authorization username user password token apiKey",
        _CERTIFICATES: "verify insecure verifySsl verifyTls sslVerify skipTlsVerify",
        _QUERY: "params query queryParams",
        _FORM: "form",
        _SIGNED: "secret signingSecret signature",
        _ACK: "async ack asynchronous manualAck",
        _REDIRECTS: "followRedirects allowRedirects maxRedirects",
    }
)
# What only a named target has, and a timer's own target has not.
ELSEWHERE_THAN_TIMERS: Mapping[str, str] = {
    **ELSEWHERE_THAN_CALLS,
    **by_word({_WAY_OUT: f"queue consumers {_OF_PLACES}"}),
}
# A named target is where those are made.
ELSEWHERE_THAN_TARGETS: Mapping[str, str] = {
    **ELSEWHERE_THAN_CALLS,
    **by_word({_NO_KIND_HERE: _KINDS, _IN_PLACE_OF_URL: f"{_OF_BROKERS} {_OF_PLACES}"}),
}
# Fields of a call.
OF_CALLS: Mapping[str, str] = by_word(
    url="uri endpoint href address callback callbackUrl webhook webhookUrl",
    method="verb httpMethod requestMethod",
    headers="header httpHeaders",
    json="data payload content jsonBody",
    timeout="deadline responseTimeout readTimeout timeoutMs timeoutSeconds",
    connectTimeout="connectionTimeout connectTimeoutMs",
    ackTimeout="ackDeadline visibilityTimeout heartbeatTimeout ackWait",
    templates="placeholders template templating variables",
    name="ref target targetName",
    bodyIsBase64="base64 isBase64 bodyBase64",
    numbered="sequence numbering withNumbers",
    cloudEvents="cloudEvent",
)
OF_TASKS: Mapping[str, str] = by_word(
    task="name taskName function",
    args="arguments params",
    kwargs="keywords keywordArguments",
    queue="routingKey queueName",
)
_NOT_SPREAD = "exponential pauses are spread by ±20 % by themselves; leave it out"
_TWICE = 'each pause is twice the one before; for others list them, as in "pauses": ["1s", "3s", "9s"]'
ELSEWHERE_THAN_RETRIES: Mapping[str, str] = by_word(
    {
        _NOT_SPREAD: "jitter",
        _TWICE: "multiplier factor backoffCoefficient backoffMultiplier backoffFactor",
    }
)
OF_RETRIES: Mapping[str, str] = by_word(
    attempts="maxAttempts maximumAttempts maxRetries retries max limit count times retryCount",
    pause="delay interval initialDelay initialInterval retryDelay minBackoff wait pauseMs",
    longestPause="maxDelay maxInterval maximumInterval maxBackoff maxPause",
    pauses="delays intervals schedule backoffs",
    within="maxDuration maxElapsed maxRetryDuration timeout maxAge",
    backoff="strategy type policy backoffType kind",
    finalStatuses="nonRetryable nonRetryableStatuses doNotRetry giveUpOn abortOn",
    retriedStatuses="statuses retryOn retryOnStatuses retryable retryableStatuses",
)
OF_BACKOFFS: Mapping[str, str] = by_word(fixed="constant linear none", exponential="expo exp double jitter")
# Words of Kubernetes, Temporal, APScheduler and queues.
OVERLAP_WORDS: Mapping[str, str] = by_word(
    skip="forbid drop discard ignore never deny",
    queueOne="queue wait serial buffer bufferOne bufferAll serialize coalesce",
    cancelOlder="replace cancel cancelOther terminateOther coverEarly restart",
    allow="parallel concurrent allowAll",
)
OF_RESULTS: Mapping[str, str] = by_word(
    error="reason message msg detail cause",
    token="ackToken key X-WangTimer-Ack-Token",
    final="permanent fatal noRetry",
)
OF_QUEUES: Mapping[str, str] = by_word(
    exchange="topic exchangeName",
    routingKey="key routing",
    maxLength="maxlen maxLen",
    broker="url uri host type kind connection",
    stream="streamKey streamName",
    list="listKey listName",
)
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
OF_DESTINATIONS: Mapping[str, str] = by_word(
    kind="type channel via method",
    url="webhook webhookUrl uri href robot hook",
    to="email mail emails address addresses recipients",
    secret="sign signingSecret signSecret",
)
OF_DESTINATION_KINDS: Mapping[str, str] = by_word(
    mail="email smtp",
    dingtalk="dingding ding",
    feishu="lark larksuite",
    wecom="wechat weixin wechatWork workWechat wxwork",
    webhook="http https url callback hook teams telegram discord",
)
OF_ALERT_RULES: Mapping[str, str] = by_word(
    destination="to url webhook channel channels destinations notify target",
    events="event on when triggers",
    keyPrefix="prefix namePrefix timers filter",
    failuresInARow="inARow consecutiveFailures threshold failures",
    lateBy="late latency lateAfter lateness",
    repeatAfter="repeat repeatEvery repeatInterval cooldown throttle",
    per="groupBy by group",
)
OF_EVENTS: Mapping[str, str] = by_word(
    failed_for_good="failed failure error dead exhausted dead_letter",
    first_failure="first_failed attempt_failed retry",
    recovered="success succeeded resolved ok recovery",
    missed="misfire misfired",
)
