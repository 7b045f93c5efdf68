"""What hurried developers write of targets, retries, ways out and alerts: each answer says what to write instead."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World

SCHEDULE = {"delay": "30m"}
SPAN = "as in 90s, 1.5s, 1h30m"
WAY_OUT = "make it with PUT /v1/targets/NAME"
IN_PLACE_OF_URL = "write queue, celery or consumers here in place of url"
QUEUE_NAME = 'a queue of RabbitMQ is "exchange": "", "routingKey": "q"; on Redis write "list": "q"'
MOMENT = "the timer's schedule is the moment"
KINDS = "write 'webhook', 'mail', 'dingtalk', 'wecom', 'feishu' or 'slack'"


def call(**fields: Any) -> dict[str, Any]:
    """Return a timer's field with these fields in its call."""
    return {"target": {"url": URL} | fields}


def filled(text: str) -> dict[str, Any]:
    """Return a call with a placeholder in its body."""
    return call(body=text, templates=True)


TIMER_ROWS: list[tuple[dict[str, Any], str]] = [
    # Where a call goes.
    ({"target": {"uri": URL}}, "did you mean url?"),
    ({"target": {"endpoint": URL}}, "did you mean url?"),
    ({"target": {"webhook": URL}}, "did you mean url?"),
    ({"target": {"href": URL}}, "did you mean url?"),
    ({"url": URL}, "did you mean target.url?"),
    ({"target": {"ref": "orders"}}, "did you mean name?"),
    (
        {"target": {"url": "amqp://guest:guest@mq/"}},
        "the operator names brokers; make a target",
    ),
    ({"target": {"url": "redis://cache:6379/0"}}, "the operator names brokers"),
    ({"target": {"url": "localhost:8000/x"}}, "write the whole URL, as in https://host/path"),
    ({"target": {"url": "http://u:p@host/"}}, "send credentials in an Authorization header"),
    ({"target": {"type": "rabbitmq", "queue": "q"}}, "a target has no kind"),
    ({"target": {"kind": "http", "url": URL}}, "a target has no kind"),
    ({"target": {"queue": "work"}}, WAY_OUT),
    ({"target": {"consumers": {"group": "work"}}}, WAY_OUT),
    ({"target": {"redis": {"stream": "work"}}}, WAY_OUT),
    ({"target": {"kafka": {"topic": "work"}}}, WAY_OUT),
    ({"target": {"command": "make"}}, "WangTimer runs no code"),
    ({"target": {"name": "t", "celery": {"name": "shop.tasks.expire"}}}, "did you mean task?"),
    ({"target": {"name": "t", "celery": {"task": "x", "arguments": [7]}}}, "did you mean args?"),
    ({"target": {"name": "t", "celery": "shop.tasks.expire"}}, '{"task": "shop.tasks.expire", "args": [7]}'),
    ({"target": {"name": "t", "celery": {"task": "x", "eta": "2026-12-01T08:00:00Z"}}}, MOMENT),
    ({"target": {"name": "t", "celery": {"task": "x", "countdown": 60}}}, MOMENT),
    ({"target": {"url": URL, "celery": {"task": "x"}}}, "name a Celery target in place of url"),
    # The request.
    (call(verb="GET"), "did you mean method?"),
    (call(httpMethod="GET"), "did you mean method?"),
    (call(method="HEAD"), "write GET, POST, PUT, PATCH or DELETE"),
    (call(headers=[["X-A", "b"]]), "write an object of names and values"),
    (call(headers={"X-A": 1}), "write text, or a list of texts"),
    (call(header={"X-A": "b"}), "did you mean headers?"),
    (call(data={"a": 1}), "did you mean json?"),
    (call(payload={"a": 1}), "did you mean json?"),
    (call(body={"a": 1}), "write its JSON as text"),
    (call(json={"a": 1}, body="x"), "give one of them"),
    (call(form={"a": 1}), "write the form as text in body"),
    (call(params={"a": 1}), "what is in a query stands in the URL"),
    (call(auth={"user": "a"}), '"headers": {"Authorization": "Bearer ..."}'),
    (call(token="x"), '"headers": {"Authorization": "Bearer ..."}'),
    (call(verify=False), "the certificate of a target is always checked"),
    (call(followRedirects=True), "redirects are not followed"),
    (call(signingSecret="x"), "POST /v1/signing-secrets"),
    (call(expectedStatus=200), "any 2xx is a success"),
    # Time-outs.
    (call(timeout=30), SPAN),
    (call(timeout="30"), SPAN),
    (call(timeout="30 seconds"), SPAN),
    (call(timeout="1h"), "write 100ms to 10m"),
    (call(timeoutMs=3000), "did you mean timeout?"),
    (call(deadline="3s"), "did you mean timeout?"),
    (call(ackTimeout="100d"), "write 1s to 7d"),
    (call(visibilityTimeout="30m"), "did you mean ackTimeout?"),
    ({"ackTimeout": "30m"}, "did you mean target.ackTimeout?"),
    (call(manualAck=True), "work that goes on after an answer 202 has ackTimeout"),
    # Placeholders.
    (call(template=True), "did you mean templates?"),
    (call(placeholders=True), "did you mean templates?"),
    (filled("{{fire_at}}"), "did you mean {{fireAt}}?"),
    (filled("{{.FireAt}}"), "did you mean {{fireAt}}?"),
    (filled("{{ scheduledTime }}"), "did you mean {{fireAt}}?"),
    (filled("{{now}}"), "did you mean {{fireAt}}?"),
    (filled("{{order}}"), "write one of {{fireAt}}, "),
    ({"target": {"url": "http://target.example/{{fireAt}}", "templates": True}}, "move it to the query"),
    (filled("{{seq}}"), "set target.numbered to true"),
    # Retries.
    ({"retry": 3}, 'write an object, as in {"attempts": 3}'),
    ({"retry": {"maxAttempts": 3}}, "did you mean attempts?"),
    ({"retry": {"max_retries": 3}}, "did you mean attempts?"),
    ({"retry": {"retries": 3}}, "did you mean attempts?"),
    ({"retry": {"delay": "5s"}}, "did you mean pause?"),
    ({"retry": {"initialInterval": "5s"}}, "did you mean pause?"),
    ({"retry": {"maxInterval": "5m"}}, "did you mean longestPause?"),
    ({"retry": {"maxDuration": "1h"}}, "did you mean within?"),
    ({"retry": {"multiplier": 3}}, "each pause is twice the one before"),
    ({"retry": {"jitter": True}}, "spread by ±20 % by themselves"),
    ({"retry": {"retryOn": ["5xx"]}}, "did you mean retriedStatuses?"),
    ({"retry": {"statuses": ["5xx"]}}, "did you mean retriedStatuses?"),
    ({"retry": {"nonRetryable": ["4xx"]}}, "did you mean finalStatuses?"),
    ({"retry": {"finalStatuses": [404]}}, 'write it as text, as in "404"'),
    ({"retry": {"finalStatuses": ["2xx"]}}, 'as in "404", or classes of them, as in "4xx"'),
    ({"retry": {"strategy": "fixed"}}, "did you mean backoff?"),
    ({"retry": {"backoff": "constant"}}, "did you mean 'fixed'?"),
    ({"retry": {"backoff": "Exponential"}}, "did you mean 'exponential'?"),
    ({"retry": {"pauses": [5]}}, SPAN),
    ({"retry": {"pauses": ["5000"]}}, SPAN),
    ({"retry": {"attempts": 0}}, "write 1 or more"),
    (call(retry={"attempts": 3}), "write it beside the target"),
    ({"maxRetries": 3}, "write it beside the target"),
    # Overlap.
    ({"overlap": "queue"}, "did you mean 'queueOne'?"),
    ({"overlap": "queue_one"}, "did you mean 'queueOne'?"),
    ({"overlap": "forbid"}, "did you mean 'skip'?"),
    ({"overlap": "Forbid"}, "did you mean 'skip'?"),
    ({"overlap": "Replace"}, "did you mean 'cancelOlder'?"),
    ({"overlap": "Allow"}, "did you mean 'allow'?"),
    ({"overlap": "COVER_EARLY"}, "did you mean 'cancelOlder'?"),
    ({"overlap": False}, "write text: 'allow', 'skip', 'queueOne' or 'cancelOlder'"),
    ({"coalesce": True}, "overlap says what becomes of a firing"),
]
TARGET_ROWS: list[tuple[dict[str, Any], str]] = [
    (
        {"consumers": {"group": "my group"}},
        "write a letter or digit of ASCII, then letters, digits, _ . and -",
    ),
    ({"consumers": {"group": "Über"}}, "write a letter or digit of ASCII"),
    ({"consumers": {"groupId": "reports"}}, "did you mean group?"),
    ({"consumers": "reports"}, '{"group": "reports"}'),
    ({"queue": {"broker": "amqp://mq/", "list": "work"}}, "write the name that the operator gave it"),
    ({"queue": {"url": "amqp://mq/", "list": "work"}}, "did you mean broker?"),
    ({"queue": {"broker": "orders", "queue": "work"}}, QUEUE_NAME),
    ({"queue": {"broker": "orders", "queueName": "work"}}, QUEUE_NAME),
    ({"queue": {"broker": "orders", "topic": "work"}}, "did you mean exchange?"),
    ({"queue": {"broker": "orders"}}, "give exactly one of exchange, stream and list"),
    ({"celery": {"broker": "orders", "task": "shop.tasks.expire"}}, "each timer says its task"),
    ({"celery": {"broker": "orders", "countdown": 60}}, MOMENT),
    ({"type": "redis"}, "a target has no kind"),
    ({"type": "rabbitmq"}, IN_PLACE_OF_URL),
    ({"rabbitmq": {"queue": "work"}}, IN_PLACE_OF_URL),
    ({"kafka": {"topic": "work"}}, IN_PLACE_OF_URL),
    ({"list": "work"}, IN_PLACE_OF_URL),
    ({"url": URL, "retry": {"max_retries": 3}}, "did you mean attempts?"),
    ({"url": "redis://cache/"}, "the operator names brokers"),
]
RULE_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "email", "to": ["ops@shop.example"]}, f"did you mean 'mail'? Else {KINDS}"),
    ({"kind": "dingding", "url": URL}, "did you mean 'dingtalk'?"),
    ({"kind": "lark", "url": URL}, "did you mean 'feishu'?"),
    ({"kind": "Feishu", "url": URL}, "did you mean 'feishu'?"),
    ({"kind": "wechat", "url": URL}, "did you mean 'wecom'?"),
    ({"kind": "teams", "url": URL}, "did you mean 'webhook'?"),
    ({"type": "slack", "url": URL}, "did you mean kind?"),
    ({"kind": "slack", "webhook": URL}, "did you mean url?"),
    ({"kind": "mail", "email": "ops@shop.example"}, "did you mean to?"),
    ({"kind": "mail", "to": "ops@shop.example"}, "write a list"),
]
WHOLE_RULE_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"events": ["failed"]}, "did you mean 'failed_for_good'?"),
    ({"events": ["first-failure"]}, "did you mean 'first_failure'?"),
    ({"events": ["recovery"]}, "did you mean 'recovered'?"),
    ({"on": ["missed"]}, "did you mean events?"),
    ({"prefix": "billing-"}, "did you mean keyPrefix?"),
    ({"consecutiveFailures": 5}, "did you mean failuresInARow?"),
    ({"lateBy": 30}, SPAN),
    ({"cooldown": "1h"}, "did you mean repeatAfter?"),
    ({"destination": URL}, '{"kind": "mail", "to": ["ops@shop.example"]}'),
    ({"webhook": URL}, "did you mean destination?"),
]
ACK_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"token": "x", "reason": "no rows"}, "did you mean error?"),
    ({"token": "x", "message": "no rows"}, "did you mean error?"),
    ({"ackToken": "x"}, "did you mean token?"),
    ({"token": "x", "error": "e" * 20_001}, "write 20000 at most"),
    ({"token": "x", "fatal": True}, "did you mean final?"),
    ({"token": "x", "final": "yes"}, "write true or false"),
]
WRONG_METHODS = [
    ("PUT", "/v1/firings/7-1:ack", 405, "PUT is not a method of this path; it has GET, POST"),
    ("DELETE", "/v1/firings/7-1", 405, "DELETE is not a method of this path; it has GET"),
    ("PUT", TIMERS, 405, "PUT is not a method of this path; it has GET, POST"),
    ("GET", f"{TIMERS}:batchCreate", 405, "GET is not a method of this path; it has POST"),
    ("GET", "/v1/firings/7-1:ack", 405, "GET is no method of the verb ack; send POST"),
    ("POST", "/v1/firings/7-1/ack", 404, "write /v1/firings/7-1:ack"),
]


def unhelpful(
    world: V1World, method: str, path: str, rule: str, rows: list[tuple[dict[str, Any], str]]
) -> list[tuple[dict[str, Any], Any]]:
    """Return the rows whose answers do not say what to write, each with its answer."""
    found = []
    for fields, said in rows:
        answer = world.send(method, path, fields, rule=rule)
        if answer.status != 400 or said not in answer.json["detail"]:
            found.append((fields, answer.json))
    return found


def test_each_mistake_stands_once() -> None:
    rows = [*TIMER_ROWS, *TARGET_ROWS, *RULE_ROWS, *WHOLE_RULE_ROWS, *ACK_ROWS]
    assert len({str(fields) for fields, _ in rows}) == len(rows) >= 40


def test_each_mistake_in_a_timer_is_told_what_to_write(small_world: V1World) -> None:
    whole = {"schedule": SCHEDULE, "target": {"url": URL}}
    rows = [(whole | fields, said) for fields, said in TIMER_ROWS]
    assert unhelpful(small_world, "POST", TIMERS, TIMERS, rows) == []


def test_each_mistake_in_a_named_target_is_told_what_to_write(small_world: V1World) -> None:
    assert unhelpful(small_world, "PUT", "/v1/targets/t", "/v1/targets/{name}", TARGET_ROWS) == []


def test_a_kind_in_a_change_of_a_named_target_is_told_what_to_write(small_world: V1World) -> None:
    rows = [({"rabbitmq": {"queue": "work"}}, IN_PLACE_OF_URL), ({"type": "celery"}, IN_PLACE_OF_URL)]
    assert unhelpful(small_world, "PATCH", "/v1/targets/t", "/v1/targets/{name}", rows) == []


def test_each_mistake_in_a_rule_of_alerts_is_told_what_to_write(small_world: V1World) -> None:
    whole = {"events": ["missed"], "destination": {"kind": "slack", "url": URL}}
    rows = [(whole | {"destination": to}, said) for to, said in RULE_ROWS]
    rows += [(whole | fields, said) for fields, said in WHOLE_RULE_ROWS]
    assert unhelpful(small_world, "PUT", "/v1/alert-rules/r", "/v1/alert-rules/{name}", rows) == []


def test_each_mistake_in_a_result_is_told_what_to_write(small_world: V1World) -> None:
    rule = "/v1/firings/{firing_id}:nack"
    assert unhelpful(small_world, "POST", "/v1/firings/7-1:nack", rule, ACK_ROWS) == []


def test_a_wrong_method_is_told_those_of_the_path(small_world: V1World) -> None:
    for method, path, status, said in WRONG_METHODS:
        answer = small_world.client.open(path, method=method, headers={"WangTimer-App": "shop"})
        assert (answer.status_code, said in answer.get_json()["detail"]) == (status, True), answer.get_json()


@pytest.mark.parametrize(
    ("part", "is_twice"),
    [
        ({"json": '{"a": 1}'}, True),
        ({"json": "[1]"}, True),
        ({"body": '"{\\"a\\": 1}"'}, True),
        ({"json": {"a": '{"a": 1}'}}, False),
        ({"json": "1"}, False),
        ({"json": "{{fireAt}}", "templates": True}, False),
        ({"body": '"quoted'}, False),
        ({"json": "[" * 5_000}, False),
        ({"body": '{"a": 1}'}, False),
    ],
)
def test_json_that_was_encoded_twice_is_told(
    small_world: V1World, part: dict[str, Any], is_twice: bool
) -> None:
    made = small_world.made(schedule=SCHEDULE, target={"url": URL, **part})
    codes = [one["code"] for one in made.json["preview"]["warnings"]]
    assert codes == (["encodedTwice"] if is_twice else [])
    place, rule = f"{TIMERS}/key:expire", "/v1/timers/{which}"
    patched = small_world.send("PATCH", place, {"target": {"json": "[[]]"}}, rule=rule)
    if "json" in part:
        (warning,) = patched.json["preview"]["warnings"]
        assert warning["text"].endswith("; give json the object or list itself")


AT = {"at": "2030-12-24T09:00:00", "timezone": "Europe/Berlin"}
DAILY = {"cron": "@daily", "timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("schedule", "part", "codes"),
    [
        (DAILY, {"url": f"{URL}?at={{{{fireAt}}}}"}, ["templatesOff"]),
        (DAILY, {"json": {"at": "{{ fireAt }}"}}, ["templatesOff"]),
        (DAILY, {"headers": {"X-Run": "{{firingId}}"}}, ["templatesOff"]),
        (DAILY, {"json": {"at": "{{fireAt}}"}, "templates": True}, []),
        (DAILY, {"body": "Dear {{name}}"}, []),
        (DAILY, {"json": "{{scheduledLocal}}", "templates": True}, []),
        (AT, {"json": "{{fireAt}}", "templates": True}, []),
        (AT, {"json": "{{scheduledLocal}}", "templates": True}, ["localIsUtc"]),
        ({"delay": "1h"}, {"headers": {"X-Zone": "{{timezone}}"}, "templates": True}, ["localIsUtc"]),
    ],
)
def test_a_placeholder_that_is_not_filled_in_as_it_reads_is_told(
    small_world: V1World, schedule: dict[str, Any], part: dict[str, Any], codes: list[str]
) -> None:
    made = small_world.made(schedule=schedule, target={"url": URL, **part})
    warnings = made.json["preview"]["warnings"]
    assert [one["code"] for one in warnings] == codes
    assert all("{{" in one["text"] and "{{" in one["textZh"] for one in warnings)
