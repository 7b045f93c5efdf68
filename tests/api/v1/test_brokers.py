"""Which message brokers an app may use, and what it may send there."""

from typing import Any

import pytest

from tests.api.v1.world import V1World
from wangtimer.core.messages.named_broker import read_brokers

SECRET = "open-sesame"
BROKERS = f"""
[[broker]]
name = "orders"
url = "amqps://shop:{SECRET}@rabbit.internal:5671//"
[[broker.allow]]
app = "shop"
exchanges = ["shop.*"]
routing_keys = ["order.*"]
celery_queues = ["shop.tasks"]
celery_tasks = []
streams = ["shop:*"]
[[broker.allow]]
app = "*"
exchanges = ["all"]
[[broker.allow]]
app = "bank"
exchanges = ["bank.*"]

[[broker]]
name = "hot"
url = "redis://:{SECRET}@redis.internal:6379/0"
[[broker.allow]]
app = "shop"
streams = ["shop:*"]
lists = ["shop:*"]
exchanges = ["nothing:here"]

[[broker]]
name = "cloud"
url = "sqs://{SECRET}:{SECRET}@"
[[broker.allow]]
app = "shop"
exchanges = ["", "shop.*"]
routing_keys = ["shop-work"]
[[broker.allow]]
app = "shop"
exchanges = ["shop.*"]

[[broker]]
name = "useless"
url = "amqp://rabbit.internal//"
[[broker.allow]]
app = "shop"
lists = ["shop:*"]
celery_tasks = ["*"]
routing_keys = ["*"]

[[broker]]
name = "theirs"
url = "amqp://rabbit.internal//"
[[broker.allow]]
app = "bank"
exchanges = ["*"]
"""


@pytest.fixture
def world(small_world: V1World) -> V1World:
    vars(small_world.wiring.settings)["named_brokers"] = read_brokers(BROKERS)
    return small_world


def brokers_of(world: V1World, app: str = "shop") -> Any:
    answered = world.send("GET", "/v1/brokers", app=app)
    assert answered.status == 200, answered.json
    assert SECRET not in str(answered.json)
    assert "internal" not in str(answered.json)
    return answered.json["items"]


def test_an_app_sees_the_brokers_that_it_may_use_and_what_it_may_send_there(world: V1World) -> None:
    assert brokers_of(world) == [
        {"name": "cloud", "kind": "other", "allowed": [{"exchanges": [""], "routingKeys": ["shop-work"]}]},
        {"name": "hot", "kind": "redis", "allowed": [{"streams": ["shop:*"], "lists": ["shop:*"]}]},
        {
            "name": "orders",
            "kind": "rabbitmq",
            "allowed": [
                {
                    "exchanges": ["shop.*"],
                    "routingKeys": ["order.*"],
                    "celeryQueues": ["shop.tasks"],
                    "celeryTasks": [],
                },
                {"exchanges": ["all"]},
            ],
        },
    ]


def test_what_only_others_may_use_is_not_shown(world: V1World) -> None:
    assert [one["name"] for one in brokers_of(world, "bank")] == ["orders", "theirs"]
    (orders,) = brokers_of(world, "ads")
    assert orders == {"name": "orders", "kind": "rabbitmq", "allowed": [{"exchanges": ["all"]}]}


def test_without_brokers_the_list_is_empty(small_world: V1World) -> None:
    assert brokers_of(small_world) == []
