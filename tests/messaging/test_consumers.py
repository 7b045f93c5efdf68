"""Firings that executors put for consumers, on a real Redis: at their moment, bounded, and confirmed."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
import redis

from tests.callback.calls import MachineClock, Outcomes, PlainCall
from tests.made_requests import made_request
from tests.messaging.messages import FIRE_AT
from tests.servers.redis_server import RedisServer
from wangtimer.callback import Limits
from wangtimer.callback.health import Sign, sign_of
from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.core.messages.message_place import consumers_place
from wangtimer.core.messages.named_broker import own_consumers
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.readings.failure import failure_of
from wangtimer.executor.request_maker import RequestMaker, refuse_unacknowledged
from wangtimer.messaging.consumer_link import ConsumerLink
from wangtimer.messaging.message import Message
from wangtimer.messaging.message_engine import MessageEngine
from wangtimer.store.redis.consumers import ConsumerLists, ListBounds
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.testing.doubles import HandClock, NoLimits

KEYS = Keys("wt")
TOKEN = "1." + "a" * 43
SEALS = Seals({"k1": b"k" * 32, "k0": b"o" * 32})
LISTS = ConsumerLists(KEYS, ListBounds(1_000, 10_000_000), SEALS)
MakeEngine = Callable[..., MessageEngine]


@pytest.fixture
def client(queue_redis: RedisServer) -> Iterator["redis.Redis[bytes]"]:
    queue_redis.flush()
    with closing(redis.Redis.from_url(queue_redis.url())) as client:
        yield client


@pytest.fixture
def make(queue_redis: RedisServer) -> Iterator[MakeEngine]:
    engines: list[MessageEngine] = []

    def engine_with(entries: int = 1_000, total_bytes: int = 10_000_000) -> MessageEngine:
        clock, url = MachineClock(), queue_redis.url()
        link = ConsumerLink(url, 2.0, ConsumerLists(KEYS, ListBounds(entries, total_bytes), SEALS), clock)
        limits = Limits(timeout_ms=3_000, connections_per_host=4_000, connections_total=8_000)
        engine = MessageEngine(own_consumers(url), link, clock, limits, NoLimits())
        engines.append(engine)
        engine.start()
        return engine

    yield engine_with
    for engine in engines:
        engine.stop(0)


def a_firing(
    outcomes: Outcomes,
    number: int = 1,
    due_at_ms: float = 0,
    *,
    app: str = "shop",
    group: str = "work",
    ack_ms: int = 30_000,
) -> PlainCall:
    notify = Notify(consumers_place(group).url, "", (("X-Tag", "blue"),), '{"order":7}')
    request = made_request(notify, app, Member(number, FIRE_AT, 2), ack_token=TOKEN, ack_ms=ack_ms)
    request.fault = ""
    return PlainCall(
        request,
        due_at_ms,
        lambda: True,
        outcomes._add_held_back,
        outcomes._add_reply,
        outcomes._add_without_room,
    )


def entries_of(client: "redis.Redis[bytes]", group: str = "shop/work") -> list[ConsumerEntry]:
    packed = client.lrange(f"{KEYS.consumer_list}{group}", 0, -1)
    return [LISTS.read(ConsumerGroup(*group.split("/")), one) for one in packed]


def test_an_entry_has_the_firing_its_headers_and_until_when_it_is_to_be_acknowledged(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    make().submit([a_firing(outcomes)])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.broker) == (True, BrokerAnswer.TAKEN)
    (entry,) = entries_of(client)
    assert (entry.firing_id, entry.attempt, entry.returned) == (f"1-{FIRE_AT}", 2, 0)
    assert entry.ack_by == pytest.approx(time.time() * 1_000 + 30_000, abs=5_000)
    event = json.loads(entry.event)
    assert (event["id"], event["attempt"], event["body"]) == (entry.firing_id, 2, '{"order":7}')
    assert event["ackTimeoutMs"] == 30_000
    assert event["headers"]["X-Tag"] == "blue"
    assert event["headers"]["X-WangTimer-Ack-Token"] == TOKEN


def test_nothing_is_put_before_its_moment(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    engine, due_at = make(), time.time() * 1_000 + 500
    engine.submit([a_firing(outcomes, one, due_at) for one in range(1, 101)])
    for reply in outcomes.wait(100):
        assert due_at <= reply.sent_at_ms < due_at + 2_000
    assert [entry.firing_id for entry in entries_of(client)] == [f"{one}-{FIRE_AT}" for one in range(1, 101)]


def test_a_firing_without_room_has_failed_for_now_and_says_nothing_against_the_stream(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    make(entries=2).submit([a_firing(outcomes, one) for one in (1, 2, 3)])
    *good, refused = outcomes.wait(3)
    assert all(reply.succeeded for reply in good)
    assert "as many firings wait" in refused.error
    assert (failure_of(refused), sign_of(refused)) == ("not_taken", Sign.ANSWERED)
    assert len(entries_of(client)) == 2


def test_an_app_has_a_quarter_of_the_bytes_whatever_its_groups(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    engine = make(total_bytes=8_000)
    engine.submit([a_firing(outcomes, one, group=f"g{one}") for one in range(1, 11)])
    replies = outcomes.wait(10)
    taken = sum(reply.succeeded for reply in replies)
    assert 1 < taken < 10
    assert all("this app" in reply.error for reply in replies if not reply.succeeded)
    counted = {name.decode(): int(size) for name, size in client.hgetall(KEYS.consumer_bytes).items()}
    assert counted[""] == counted["shop/"] <= 2_000
    engine.submit([a_firing(outcomes, app="other")])
    assert outcomes.wait(11)[-1].succeeded


def test_what_has_run_out_of_time_makes_room_also_that_of_other_groups(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    engine = make(total_bytes=8_000)
    engine.submit([a_firing(outcomes, one, group="old", ack_ms=300) for one in (1, 2, 3)])
    outcomes.wait(3)
    time.sleep(0.4)
    engine.submit([a_firing(outcomes, 9)])
    assert outcomes.wait(4)[-1].succeeded
    assert entries_of(client, "shop/old") == []
    (packed,) = client.lrange(f"{KEYS.consumer_list}shop/work", 0, -1)
    counted = {name.decode(): int(size) for name, size in client.hgetall(KEYS.consumer_bytes).items()}
    assert counted == dict.fromkeys(("", "shop/", "shop/work"), len(packed))


def test_scripts_that_redis_has_lost_are_loaded_again(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    engine = make()
    engine.submit([a_firing(outcomes)])
    assert outcomes.wait(1)[-1].succeeded
    client.script_flush()
    engine.submit([a_firing(outcomes, 2)])
    assert outcomes.wait(2)[-1].succeeded
    assert len(entries_of(client)) == 2


def test_what_is_taken_and_given_back_is_counted_and_keeps_its_order(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    make().submit([a_firing(outcomes, one) for one in (1, 2, 3)])
    outcomes.wait(3)
    group = ConsumerGroup("shop", "work")
    before, counted = entries_of(client), client.hgetall(KEYS.consumer_bytes)

    def run(call: object) -> object:
        return client.eval(call.script.text, len(call.keys), *call.keys, *call.arguments)  # type: ignore[attr-defined]

    packed = run(LISTS.take(group, 2, int(time.time() * 1_000)))
    taken = [LISTS.read(group, one) for one in packed]  # type: ignore[attr-defined]
    assert taken == before[:2]
    run(LISTS.give_back(group, taken))
    assert (entries_of(client), client.hgetall(KEYS.consumer_bytes)) == (before, counted)
    run(LISTS.take(group, 10, int(time.time() * 1_000)))
    assert client.keys("wt:{consumers}:*") == []


def test_what_stands_in_redis_is_sealed_for_its_group_and_attempt(
    client: "redis.Redis[bytes]", make: MakeEngine, outcomes: Outcomes
) -> None:
    make().submit([a_firing(outcomes)])
    outcomes.wait(1)
    group = ConsumerGroup("shop", "work")
    (packed,) = client.lrange(f"{KEYS.consumer_list}{group.key}", 0, -1)
    assert b"k1." in packed
    assert not any(secret in packed for secret in (TOKEN.encode(), b"blue", b"order"))
    with pytest.raises(ValueError, match="not sealed for this place"):
        LISTS.read(ConsumerGroup("shop", "other"), packed)
    with pytest.raises(ValueError, match="not sealed for this place"):
        LISTS.read(group, packed.replace(b" 2:", b" 3:"))
    with pytest.raises(ValueError, match="no key 'k1'"):
        replace(LISTS, seals=NO_KEYS).read(group, packed)
    newer = replace(LISTS, seals=Seals({"k2": b"n" * 32, "k1": b"k" * 32}))
    assert newer.read(group, packed) == LISTS.read(group, packed)


def test_a_firing_that_could_not_be_acknowledged_is_not_made() -> None:
    member, call = Member(1, FIRE_AT, 2), Notify(consumers_place("work").url)
    unacknowledged = made_request(call, "shop", member)
    other = made_request(call, "shop", member, ack_token=TOKEN)
    assert isinstance(unacknowledged, Message)
    assert isinstance(other, Message)
    with pytest.raises(ValueError, match="cannot acknowledge"):
        refuse_unacknowledged(unacknowledged)
    refuse_unacknowledged(other)


@pytest.mark.parametrize(
    ("fallback", "is_connected", "url"),
    [
        ("", False, "queue://"),
        ("https://app.example/x", True, "queue://"),
        ("https://app.example/x", False, "https://app.example/x"),
    ],
)
def test_the_fallback_is_called_only_while_nobody_is_connected(
    fallback: str, is_connected: bool, url: str
) -> None:
    call = Notify(consumers_place("work", fallback).url, "", (("X-Tag", "blue"),), "{}")
    asked: list[ConsumerGroup] = []

    def look(group: ConsumerGroup) -> bool:
        asked.append(group)
        return is_connected

    maker = RequestMaker(NO_KEYS, look, lambda _app: "", (), HandClock())
    made = maker.call_of(Definition(1, "shop", 1, TimerStatus.ENABLED, Once(0), call), None)
    assert made.url.startswith(url)
    assert (made.headers, made.body) == (call.headers, call.body)
    assert made.method == ("POST" if url.startswith("https") else "")
    assert asked == ([ConsumerGroup("shop", "work")] if fallback else [])
