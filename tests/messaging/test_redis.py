"""Messages to a real Redis: streams, lists, and what becomes of them when it takes none."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from redis._parsers import _RESP2Parser

from tests.callback.calls import Outcomes
from tests.chaos.proxy import Proxy
from tests.messaging.messages import FIRE_AT, a_message
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.callback.health import Sign, sign_of
from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.timers.call_form import CallForm
from wangtimer.executor.readings.failure import failure_of
from wangtimer.messaging.message_engine import MessageEngine
from wangtimer.messaging.redis_link import _confirm

STREAM = MessagePlace("orders", PlaceKind.STREAM, "app:events")
LIST = MessagePlace("orders", PlaceKind.LIST, "app:work")
MakeEngine = Callable[..., MessageEngine]


@pytest.fixture
def client(queue_redis: RedisServer) -> Iterator["redis.Redis[bytes]"]:
    queue_redis.flush()
    with closing(redis.Redis.from_url(queue_redis.url())) as client:
        yield client


@pytest.fixture
def engine(queue_redis: RedisServer, make_engine: MakeEngine) -> MessageEngine:
    return make_engine(queue_redis.url())


def test_a_stream_gets_the_id_the_body_and_the_headers(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    engine.submit([a_message(outcomes, STREAM, keys=(b"k" * 32,))])
    (reply,) = outcomes.wait()
    assert (reply.succeeded, reply.broker) == (True, BrokerAnswer.TAKEN)
    ((_, fields),) = client.xrange("app:events")
    headers = json.loads(fields[b"headers"])
    assert fields[b"id"].decode() == headers["webhook-id"] == Member(7, FIRE_AT, 1).firing_id
    assert fields[b"body"] == b'{"order":7}'
    assert headers["X-Tag"] == "blue"
    assert headers["Content-Type"] == "application/json"
    assert headers["webhook-signature"].startswith("v1,")


def test_a_stream_keeps_about_so_many(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    bounded = MessagePlace("orders", PlaceKind.STREAM, "app:events", most=100)
    engine.submit([a_message(outcomes, bounded, member=Member(one, FIRE_AT, 1)) for one in range(2_000)])
    assert all(reply.succeeded for reply in outcomes.wait(2_000))
    assert 100 <= client.xlen("app:events") < 400


def test_a_list_gets_a_json_object_at_its_right_end(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    for number in (1, 2):
        engine.submit([a_message(outcomes, LIST, member=Member(number, FIRE_AT, 1))])
        outcomes.wait(number)
    first, second = map(json.loads, client.lrange("app:work", 0, -1))
    assert [first["id"], second["id"]] == [Member(one, FIRE_AT, 1).firing_id for one in (1, 2)]
    assert (first["body"], first["headers"]["X-Tag"]) == ('{"order":7}', "blue")


def test_a_list_gets_bytes_that_are_no_text_in_base64(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    engine.submit([a_message(outcomes, LIST, body="/wD+", form=CallForm(body_is_base64=True))])
    (reply,) = outcomes.wait()
    assert reply.succeeded
    (element,) = map(json.loads, client.lrange("app:work", 0, -1))
    assert (element["bodyBase64"], "body" in element) == ("/wD+", False)


def test_thousands_at_one_moment_take_few_round_trips(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    due_at = time.time() * 1_000 + 300
    engine.submit([a_message(outcomes, LIST, due_at, member=Member(one, FIRE_AT, 1)) for one in range(5_000)])
    replies = outcomes.wait(5_000, 30)
    assert all(reply.succeeded and reply.sent_at_ms >= due_at for reply in replies)
    assert len({json.loads(one)["id"] for one in client.lrange("app:work", 0, -1)}) == 5_000


def test_a_key_of_another_type_is_a_failure_of_that_message_alone(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    client.set("app:events", "text")
    engine.submit([a_message(outcomes, STREAM), a_message(outcomes, LIST)])
    outcomes.wait(2)
    by_kind = {call.request.place.kind: reply for call, reply in outcomes.replies}  # type: ignore[attr-defined]
    assert by_kind[PlaceKind.LIST].succeeded
    failed = by_kind[PlaceKind.STREAM]
    assert "WRONGTYPE" in failed.error
    assert (failure_of(failed), sign_of(failed)) == ("not_taken", Sign.ANSWERED)


def test_a_redis_without_memory_turns_away_and_takes_again(
    client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    client.config_set("maxmemory", 1)
    try:
        engine.submit([a_message(outcomes, LIST)])
        (reply,) = outcomes.wait()
    finally:
        client.config_set("maxmemory", 0)
    assert not reply.succeeded
    assert (failure_of(reply), sign_of(reply)) == ("not_taken", Sign.TURNED_AWAY)
    engine.submit([a_message(outcomes, LIST)])
    assert outcomes.wait(2)[1].succeeded


def test_once_a_broker_has_moved_messages_go_to_the_server_that_took_over(
    tmp_path: Path,
    queue_redis: RedisServer,
    client: "redis.Redis[bytes]",
    make_engine: MakeEngine,
    outcomes: Outcomes,
) -> None:
    with RedisServer(redis_program(), tmp_path) as old, Proxy(old.port) as way:
        engine = make_engine(f"redis://127.0.0.1:{way.port}/0")
        engine.submit([a_message(outcomes, LIST)])
        assert outcomes.wait()[0].succeeded
        way.lead_to(queue_redis.port)
        with closing(redis.Redis.from_url(old.url())) as demoted:
            demoted.replicaof("127.0.0.1", "1")
        engine.submit([a_message(outcomes, LIST)])
        assert failure_of(outcomes.wait(2)[1]) == "not_taken"
        engine.submit([a_message(outcomes, LIST)])
        assert outcomes.wait(3)[2].succeeded
    assert client.llen("app:work") == 1


def test_a_redis_that_hangs_is_a_failure_in_time(
    queue_redis: RedisServer, client: "redis.Redis[bytes]", engine: MessageEngine, outcomes: Outcomes
) -> None:
    engine.submit([a_message(outcomes, LIST)])
    outcomes.wait()
    queue_redis.process.freeze()
    try:
        engine.submit([a_message(outcomes, LIST)])
        reply = outcomes.wait(2, 10)[1]
    finally:
        queue_redis.process.thaw()
    assert "the connection to the broker broke off: timed out" in reply.error
    assert reply.was_sent
    engine.submit([a_message(outcomes, LIST)])
    assert outcomes.wait(3)[2].succeeded


def test_the_refusal_of_an_address_keeps_every_message_back(
    client: "redis.Redis[bytes]", queue_redis: RedisServer, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    engine = make_engine(queue_redis.url(), refusal=lambda: "no message may go there: our own server")
    engine.submit([a_message(outcomes, LIST)])
    (reply,) = outcomes.wait()
    assert reply.error == "not sent: no message may go there: our own server"
    assert not client.exists("app:work")


def test_a_missing_right_in_redis_names_no_account(
    client: "redis.Redis[bytes]", queue_redis: RedisServer, make_engine: MakeEngine, outcomes: Outcomes
) -> None:
    rights = ("on", ">pw", "~*", "+ping", "+client", "+hello", "+select", "+auth")
    client.execute_command("ACL", "SETUSER", "the-account", *rights)  # type: ignore[no-untyped-call]
    try:
        engine = make_engine(queue_redis.url().replace("redis://", "redis://the-account:pw@"))
        engine.submit([a_message(outcomes, LIST)])
        (reply,) = outcomes.wait()
    finally:
        client.execute_command("ACL", "DELUSER", "the-account")  # type: ignore[no-untyped-call]
    assert reply.error == "the broker did not take the message: NOPERM"


@pytest.mark.parametrize(
    ("said", "answer", "shown"),
    [
        ("NOPERM User eve has no permissions to run the 'rpush' command", BrokerAnswer.REJECTED, "NOPERM"),
        ("NOAUTH Authentication required.", BrokerAnswer.REJECTED, "NOAUTH"),
        ("WRONGPASS invalid username-password pair", BrokerAnswer.REJECTED, "WRONGPASS"),
        ("MOVED 3999 10.1.2.3:6381", BrokerAnswer.REJECTED, "MOVED"),
        ("ASK 3999 10.1.2.3:6381", BrokerAnswer.REJECTED, "ASK"),
        (
            "MASTERDOWN Link with MASTER is down",
            BrokerAnswer.TURNED_AWAY,
            "MASTERDOWN Link with MASTER is down",
        ),
        ("CLUSTERDOWN Hash slot not served", BrokerAnswer.TURNED_AWAY, "CLUSTERDOWN Hash slot not served"),
        ("TRYAGAIN Multiple keys request", BrokerAnswer.TURNED_AWAY, "TRYAGAIN Multiple keys request"),
        ("LOADING Redis is loading", BrokerAnswer.TURNED_AWAY, "LOADING Redis is loading"),
        ("READONLY You can't write", BrokerAnswer.TURNED_AWAY, "READONLY You can't write"),
        ("OOM command not allowed", BrokerAnswer.TURNED_AWAY, "OOM command not allowed"),
        (
            "NOREPLICAS Not enough good replicas",
            BrokerAnswer.TURNED_AWAY,
            "NOREPLICAS Not enough good replicas",
        ),
        ("MISCONF Redis is configured", BrokerAnswer.TURNED_AWAY, "MISCONF Redis is configured"),
        ("BUSY Redis is busy", BrokerAnswer.TURNED_AWAY, "BUSY Redis is busy"),
        ("BUSYGROUP Consumer Group name", BrokerAnswer.REJECTED, "BUSYGROUP Consumer Group name"),
        ("WRONGTYPE Operation against a key", BrokerAnswer.REJECTED, "WRONGTYPE Operation against a key"),
        ("ERR max number of clients reached", BrokerAnswer.REJECTED, "ERR max number of clients reached"),
    ],
)
def test_what_redis_says_is_judged_by_its_first_word(said: str, answer: BrokerAnswer, shown: str) -> None:
    """redis-py takes the word off the text of errors that have a class of their own."""
    confirm = _confirm(1, _RESP2Parser(65_536).parse_error(said))  # type: ignore[no-untyped-call]
    assert (confirm.answer, confirm.error) == (answer, f"the broker did not take the message: {shown}")
