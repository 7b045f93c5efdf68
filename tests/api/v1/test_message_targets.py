"""Targets that send messages: made by what an operator allowed, and named by timers that fit them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.v1.test_targets import get, patch, put
from tests.api.v1.world import TIMERS, URL, V1World
from tests.docs.blocks import blocks
from wangtimer.core.messages.named_broker import read_brokers

ROOT = Path(__file__).parents[3]
SECRET = "open-sesame"
BROKERS = f"""
[[broker]]
name = "orders"
url = "amqp://shop:{SECRET}@rabbit.internal:5672//"
[[broker.allow]]
app = "shop"
exchanges = ["shop.*"]
celery_queues = ["shop.*"]
celery_tasks = ["shop.*"]

[[broker]]
name = "hot"
url = "redis://:{SECRET}@redis.internal:6379/0"
[[broker.allow]]
app = "shop"
streams = ["shop:*"]
lists = ["shop:*"]

[[broker]]
name = "theirs"
url = "amqp://them:{SECRET}@rabbit.internal:5672//"
[[broker.allow]]
app = "other"
exchanges = ["*"]
"""
EVENTS = {"broker": "orders", "exchange": "shop.events", "routingKey": "order.expired"}
CELERY = {"broker": "orders", "queue": "shop.tasks"}


@pytest.fixture
def world(small_world: V1World) -> V1World:
    vars(small_world.wiring.settings)["named_brokers"] = read_brokers(BROKERS)
    return small_world


@pytest.mark.parametrize(
    "body",
    [
        {"queue": EVENTS},
        {"queue": {"broker": "hot", "stream": "shop:events", "maxLength": 1000}},
        {"queue": {"broker": "hot", "list": "shop:work"}},
        {"celery": CELERY},
    ],
)
def test_a_target_is_shown_as_it_was_made(world: V1World, body: dict[str, Any]) -> None:
    made = put(world, body)
    assert made.status == 201, made.json
    shown = get(world).json
    assert {name: shown[name] for name in body} == body
    assert not shown.keys() & {"url", "method"}
    assert put(world, {name: shown[name] for name in body}).status == 200
    assert SECRET not in str(shown)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"queue": EVENTS | {"broker": "theirs"}}, "/queue/broker"),
        ({"queue": EVENTS | {"broker": "none"}}, "/queue/broker"),
        ({"queue": EVENTS | {"exchange": "other.events"}}, "/queue"),
        ({"queue": {"broker": "orders", "exchange": "", "routingKey": "shop.work"}}, "/queue"),
        ({"queue": {"broker": "hot", "stream": "wt:{0}:due"}}, "/queue"),
        ({"queue": {"broker": "hot", "list": "celery"}}, "/queue"),
        ({"queue": {"broker": "hot", "stream": "shop:a", "list": "shop:b"}}, "/queue"),
        ({"queue": {"broker": "hot", "list": "shop:b", "maxLength": 5}}, "/queue/maxLength"),
        ({"queue": {"broker": "orders", "stream": "shop:a"}}, "/queue"),
        ({"celery": CELERY | {"queue": "celery"}}, "/celery"),
        ({"queue": EVENTS, "celery": CELERY}, "/celery"),
        ({"queue": EVENTS, "url": URL}, "/queue"),
        ({"url": URL, "consumers": {"group": "work"}}, "/consumers"),
        ({"queue": EVENTS, "method": "PUT"}, "/method"),
        ({"queue": EVENTS, "secretQuery": True}, "/secretQuery"),
        ({"celery": CELERY, "secretQuery": True}, "/secretQuery"),
        ({"queue": EVENTS, "connectTimeout": "5s"}, "/connectTimeout"),
        ({"celery": CELERY, "firstByteTimeout": "5s"}, "/firstByteTimeout"),
        ({"queue": EVENTS, "allowControl": True}, "/allowControl"),
        ({"queue": EVENTS, "headers": {"CC": "x"}}, "/headers/CC"),
        ({"celery": CELERY, "headers": {"BCC": "x"}}, "/headers/BCC"),
        ({"consumers": {"group": "work"}, "allowControl": True}, "/allowControl"),
        ({"consumers": {"group": "work", "fallbackUrl": "ftp://shop.example"}}, "/consumers/fallbackUrl"),
        ({"url": "queue://orders/exchange?name=shop.events"}, "/url"),
        ({}, "/url"),
    ],
)
def test_what_is_not_allowed_or_unclear_is_refused(
    world: V1World, body: dict[str, Any], pointer: str
) -> None:
    refused = put(world, body)
    assert (refused.status, refused.json.get("pointer")) == (400, pointer), refused.json
    assert SECRET not in str(refused.json)
    assert "internal" not in str(refused.json)


def test_the_page_send_messages_md_shows_what_works(world: V1World) -> None:
    page = blocks(ROOT / "docs/how-to/send-messages.md")
    (brokers,) = (block.text for block in page if block.language == "toml")
    vars(world.wiring.settings)["named_brokers"] = read_brokers(brokers)
    *targets, timer, celery_timer = (json.loads(block.text) for block in page if block.language == "json")
    for number, target in enumerate(targets):
        assert put(world, target, f"target{number}").status == 201
    assert put(world, targets[0], "events").status == put(world, targets[-1], "tasks").status == 201
    for one in (timer, celery_timer | {"key": "another"}):
        assert world.send("POST", TIMERS, one).status == 201


@pytest.mark.parametrize(
    ("held", "elsewhere"),
    [
        ({"queue": EVENTS}, {"queue": {"broker": "hot", "stream": "shop:events", "maxLength": 1000}}),
        ({"celery": CELERY}, {"celery": {"broker": "hot", "queue": "shop.tasks"}}),
    ],
)
def test_a_kept_secret_goes_to_no_other_broker(
    world: V1World, held: dict[str, Any], elsewhere: dict[str, Any]
) -> None:
    brokers = BROKERS.replace(
        'lists = ["shop:*"]', 'lists = ["shop:*"]\ncelery_queues = ["shop.*"]\ncelery_tasks = ["shop.*"]'
    )
    vars(world.wiring.settings)["named_brokers"] = read_brokers(brokers)
    assert put(world, held | {"headers": {"Authorization": "sesame"}}).status == 201
    refused = patch(world, elsewhere)
    assert refused.status == 400, refused.json
    assert get(world).json[next(iter(held))]["broker"] == "orders"
    assert patch(world, elsewhere | {"headers": {"Authorization": "anew"}}).status == 200


def test_a_target_stays_of_its_kind(world: V1World) -> None:
    assert put(world, {"queue": EVENTS}).status == 201
    assert put(world, {"url": URL}).status == 400
    assert patch(world, {"celery": CELERY}).status == 400
    assert patch(world, {"method": "PUT"}).status == 400
    changed = patch(world, {"queue": EVENTS | {"routingKey": "order.paid"}})
    assert changed.json["queue"]["routingKey"] == "order.paid"


def new_timer(world: V1World, **target: Any) -> Any:
    body = {"key": "expire", "schedule": {"cron": "* * * * * *"}, "target": {"name": "orders"} | target}
    return world.send("POST", TIMERS, body)


@pytest.mark.parametrize(("part", "value"), [("path", "/orders"), ("method", "PUT")])
def test_a_timer_gives_no_part_of_an_http_call(world: V1World, part: str, value: str) -> None:
    put(world, {"queue": EVENTS})
    refused = new_timer(world, **{part: value})
    assert (refused.status, refused.json["pointer"]) == (400, f"/target/{part}")
    assert "sends messages" in refused.json["detail"]
    assert new_timer(world, body="{}").status == 201
    changed = world.send(
        "PATCH", f"{TIMERS}/key:expire", {"target": {part: value}}, rule="/v1/timers/{which}"
    )
    assert (changed.status, changed.json["pointer"]) == (400, f"/target/{part}")


def test_a_celery_timer_gives_a_task(world: V1World) -> None:
    put(world, {"celery": CELERY})
    for wrong in ({}, {"body": "{}"}, {"body": '{"task": 7}'}):
        refused = new_timer(world, **wrong)
        assert (refused.status, refused.json["pointer"]) == (400, "/target/body")
    made = new_timer(world, celery={"task": "shop.tasks.expire", "args": [7]})
    assert made.status == 201, made.json
    assert made.json["target"]["body"] == '{"task":"shop.tasks.expire","args":[7],"kwargs":{}}'


def test_many_timers_at_once_are_each_judged(world: V1World) -> None:
    put(world, {"queue": EVENTS})
    timers = [
        {"key": key, "schedule": {"delay": "1m"}, "target": {"name": "orders"} | part}
        for key, part in (("a", {}), ("b", {"path": "/x"}))
    ]
    answered = world.send("POST", f"{TIMERS}:batchCreate", {"timers": timers})
    taken, refused = answered.json["items"]
    assert taken["created"], taken
    assert refused["problem"]["pointer"] == "/target/path", refused


@pytest.mark.parametrize(
    ("task", "is_taken"),
    [
        ({"task": "shop.tasks.expire"}, True),
        ({"task": "shop.tasks.expire", "queue": "shop.slow"}, True),
        ({"task": "their.tasks.pay"}, False),
        ({"task": "shop.tasks.expire", "queue": "celery"}, False),
    ],
)
def test_a_task_that_the_app_may_not_send_is_refused_when_its_timer_is_made(
    world: V1World, task: dict[str, Any], is_taken: bool
) -> None:
    assert put(world, {"celery": CELERY}, "tasks").status == 201
    body = {"key": "expire", "schedule": {"delay": "1h"}, "target": {"name": "tasks", "celery": task}}
    made = world.send("POST", TIMERS, body)
    many = world.send("POST", f"{TIMERS}:batchCreate", {"timers": [body | {"key": "another"}]})
    (item,) = many.json["items"]
    if is_taken:
        assert (made.status, item["created"]) == (201, True), (made.json, item)
        return
    assert (made.status, made.json["pointer"]) == (400, "/target/celery")
    assert (item["created"], item["problem"]["pointer"]) == (False, "/target/celery")
    assert "has not allowed" in made.json["detail"]


@pytest.mark.parametrize(
    "more", [{"connectTimeout": "5s"}, {"firstByteTimeout": "5s"}, {"allowControl": True}]
)
def test_a_timer_has_nothing_that_only_an_answer_gives_a_meaning(
    world: V1World, more: dict[str, Any]
) -> None:
    assert put(world, {"queue": EVENTS}, "events").status == 201
    body = {"key": "expire", "schedule": {"delay": "1h"}, "target": {"name": "events", "json": {}}}
    assert world.send("POST", TIMERS, body).status == 201
    refused = world.send("POST", TIMERS, body | {"key": "other", "target": body["target"] | more})  # type: ignore[operator]
    (field,) = more
    assert (refused.status, refused.json["pointer"]) == (400, f"/target/{field}"), refused.json
    changed = world.send("PATCH", f"{TIMERS}/key:expire", {"target": more}, rule=f"{TIMERS}/{{which}}")
    assert (changed.status, changed.json["pointer"]) == (400, f"/target/{field}"), changed.json


def test_a_header_that_rabbitmq_reads_is_refused_for_an_exchange_alone(world: V1World) -> None:
    assert put(world, {"queue": EVENTS}, "events").status == 201
    assert put(world, {"queue": {"broker": "hot", "list": "shop:b"}}, "list").status == 201
    body = {"schedule": {"delay": "1h"}, "target": {"name": "events", "headers": {"BCC": "x"}}}
    refused = world.send("POST", TIMERS, {"key": "a"} | body)
    assert (refused.status, refused.json["pointer"]) == (400, "/target/headers/BCC"), refused.json
    elsewhere = world.send(
        "POST", TIMERS, {"key": "a"} | body | {"target": {"name": "list", "headers": {"BCC": "x"}}}
    )
    assert elsewhere.status == 201, elsewhere.json


def test_a_url_runs_no_celery_task(world: V1World) -> None:
    target = {"url": URL, "celery": {"task": "shop.tasks.expire"}}
    refused = world.send("POST", TIMERS, {"key": "a", "schedule": {"delay": "1h"}, "target": target})
    assert (refused.status, refused.json["pointer"]) == (400, "/target/celery")


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ({"url": URL}, "is called over HTTP"),
        ({"queue": EVENTS}, "sends messages"),
        ({"queue": {"broker": "hot", "list": "shop:work"}}, "sends messages"),
        ({"consumers": {"group": "work"}}, "gives its firings to consumers"),
    ],
)
def test_a_task_for_a_target_that_runs_none_is_refused(
    world: V1World, target: dict[str, Any], what: str
) -> None:
    assert put(world, target, "events").status == 201
    task = {"name": "events", "celery": {"task": "shop.tasks.expire"}}
    body = {"key": "expire", "schedule": {"delay": "1h"}, "target": task}
    by_key, rule = f"{TIMERS}/key:expire", f"{TIMERS}/{{which}}"
    whole = {name: body[name] for name in ("schedule", "target")}
    many = world.send(
        "POST", f"{TIMERS}:batchCreate", {"timers": [body, body | {"target": {"name": "events"}}]}
    )
    refused, taken = many.json["items"]
    answers = [world.send("POST", TIMERS, body | {"key": "a"}), world.send("PUT", by_key, whole, rule=rule)]
    for problem in (refused["problem"], *(one.json for one in answers)):
        assert (problem["status"], problem["pointer"]) == (400, "/target/celery"), problem
        assert f"'events' {what}, and runs no Celery task; give json or body" in problem["detail"]
    assert taken["created"]
    assert world.send("GET", by_key, rule=rule).json["target"]["body"] == ""


def test_a_task_for_an_unknown_target_is_told_of_the_name(world: V1World) -> None:
    refused = new_timer(world, celery={"task": "shop.tasks.expire"})
    assert (refused.status, refused.json["pointer"]) == (400, "/target/name")


def test_a_changed_task_is_given_as_json(world: V1World) -> None:
    put(world, {"celery": CELERY})
    assert new_timer(world, celery={"task": "shop.tasks.expire"}).status == 201
    task, rule = {"task": "shop.tasks.expire", "args": [8]}, "/v1/timers/{which}"
    refused = world.send("PATCH", f"{TIMERS}/key:expire", {"target": {"celery": task}}, rule=rule)
    assert (refused.status, refused.json["pointer"]) == (400, "/target/celery")
    assert "as json" in refused.json["detail"]
    changed = world.send("PATCH", f"{TIMERS}/key:expire", {"target": {"json": task}}, rule=rule)
    assert json.loads(changed.json["target"]["body"]) == task
