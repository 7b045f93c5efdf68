"""Consumers that reconnect, read slowly or send what they must not: others have their firings all the same."""

import asyncio
import socket
import time
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
import pytest
import requests

from tests.patience import wait_for
from tests.stream.ground import SOON_S, Ground, StreamProcess
from wangtimer.core.errors import NotOnRecord, WangTimerError
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.features.long_work import LongWork
from wangtimer.store.sql.accepted_firings import AcceptedFirings, AckState
from wangtimer.stream import words
from wangtimer.stream.consumer import Consumer
from wangtimer.stream.groups import MOST_COUNTED, Groups
from wangtimer.stream.stream import Stream, StreamBounds
from wangtimer.stream.stream_app import MOST_BODIES_OF_APP
from wangtimer.stream.stream_server import MOST_HEAD_BYTES
from wangtimer.stream.words import MOST_WORDS, Desk, Word, cut, read_words

GROUP = ConsumerGroup("shop", "work")


def entry(number: int, ack_by: int = 10**14) -> ConsumerEntry:
    return ConsumerEntry(f"7-{number}", 1, ack_by, b"{}")


# turns


def test_who_reconnects_again_and_again_takes_no_turn_from_who_stays() -> None:
    groups, stays = Groups(), Consumer(GROUP, 10, None)
    group = groups.join(stays)
    for _ in range(MOST_COUNTED + 20):
        passing = Consumer(GROUP, 10, None)
        groups.join(passing)
        passing.end("the consumer closed the connection")
        groups.leave(passing)
    for number in range(3):
        assert group.room == 10 - number
        consumer = group.next_with_room()
        assert consumer is stays
        groups.give(consumer, entry(number))


# what was not written in time


def test_what_ran_out_before_it_was_written_is_never_written() -> None:
    async def work() -> list[bytes]:
        groups, consumer = Groups(), Consumer(GROUP, 10, None)
        groups.join(consumer)
        sent: list[bytes] = []

        async def send(message: object) -> None:
            sent.append(message["body"])  # type: ignore[index]

        async def receive() -> object:
            return await asyncio.Event().wait()

        for number in range(4):
            groups.give(consumer, entry(number, ack_by=1_000 if number % 2 else 2_000))
        consumer.prolong(("7-3", 1), 1_500)
        for key in groups.run_out(1_500):
            groups.let_go(key)
        serving = asyncio.create_task(consumer.serve(send, receive, 10))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        consumer.end("")
        serving.cancel()
        return sent

    written = b"".join(asyncio.run(work()))
    assert [one for one in (b"7-0", b"7-1", b"7-2", b"7-3") if one in written] == [b"7-0", b"7-2"]


# words


def test_an_app_that_says_very_much_at_once_leaves_threads_to_others() -> None:
    tokens = AckTokens((b"k" * 32,))
    ended: list[int] = []

    def find(_member: Member) -> tuple[AckState, None]:
        time.sleep(0.02)  # SQL takes a while
        return AckState.COUNTS, None

    def ack(timer_id: int, *_: object) -> int:
        ended.append(timer_id)
        return 0

    accepted = cast("AcceptedFirings", SimpleNamespace(find=find))
    long_work = cast("LongWork", SimpleNamespace(ack=ack, ack_tokens=tokens))

    def words_of(timer_id: int, number: int) -> list[Word]:
        moments = range(1, number + 1)
        return [Word(id=f"{timer_id}-{at}", token=tokens.token(Member(timer_id, at, 1))) for at in moments]

    async def work() -> None:
        nothing = cast("Any", None)
        stream = Stream(nothing, nothing, nothing, accepted, StreamBounds(1, 1, 1, 1), str)
        desk = Desk(stream, long_work, accepted)
        of_loud_app = asyncio.create_task(desk.record("loud", "ack", words_of(7, 200)))
        await asyncio.sleep(0.05)
        assert await desk.record("shop", "ack", words_of(8, 1)) == [{"id": "8-1"}]
        # Those under way, and few more, but not all that waited.
        assert ended.count(7) < 50
        await of_loud_app
        assert ended.count(7) == 200

    asyncio.run(work())


def test_a_word_before_its_answer_is_on_record_is_to_be_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "PAUSES_S", (0.01,))
    tokens, member = AckTokens((b"k" * 32,)), Member(7, 1, 1)
    accepted = cast("AcceptedFirings", SimpleNamespace(find=lambda _member: (AckState.NOT_YET, None)))

    def ack(*_: object) -> None:
        raise NotOnRecord

    long_work = cast("LongWork", SimpleNamespace(ack=ack, ack_tokens=tokens))

    async def work() -> None:
        nothing = cast("Any", None)
        stream = Stream(nothing, nothing, nothing, accepted, StreamBounds(1, 1, 1, 1), str)
        word = Word(id=member.firing_id, token=tokens.token(member))
        (said,) = await Desk(stream, long_work, accepted).record("shop", "ack", [word])
        assert (said["problem"]["status"], said["problem"]["code"]) == (503, 50304)

    asyncio.run(work())


@pytest.mark.processes
@pytest.mark.timeout(180)
def test_slow_bodies_of_one_app_shut_out_no_other(ground: Ground) -> None:
    process = ground.start()
    address = urlsplit(process.url)
    head = "POST /v1/consumers/work:ack HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer "
    slow = [
        socket.create_connection((str(address.hostname), address.port or 80))
        for _ in range(MOST_BODIES_OF_APP)
    ]
    try:
        for one in slow:
            one.sendall(f"{head}{ground.keys['shop']}\r\n\r\n{{".encode())

        def status(app: str) -> int:
            headers = {"Authorization": f"Bearer {ground.keys[app]}"}
            return requests.post(
                f"{process.url}/v1/consumers/work:ack", data=b"{}", headers=headers, timeout=20
            ).status_code

        assert wait_for(lambda: status("shop") == 503, 10)
        assert status("other") == 400
    finally:
        for one in slow:
            one.close()
    assert wait_for(lambda: status("shop") == 400, 10)


# what must not be sent


@pytest.mark.processes
def test_a_window_that_is_none_is_refused(ground: Ground) -> None:
    process = ground.start()
    for window in ("0", "1001", "000000001999", "0000000019" + "9" * 4_400, "-1", "x"):
        answer = requests.get(
            f"{process.url}/v1/consumers/work/events",
            params={"window": window},
            headers={"Authorization": f"Bearer {ground.keys['shop']}"},
            timeout=10,
        )
        assert (answer.status_code, answer.json()["parameter"]) == (400, "window"), window


@pytest.mark.parametrize(
    "said",
    [
        {str(number): 1 for number in range(100_000)},
        {"firings": [{str(number): 1 for number in range(100_000)}]},
        {"firings": [{"id": "7-1", "token": "t"}] * (MOST_WORDS + 50_000)},
        {"firings": [[]] * 200_000},
        [],
        "x",
    ],
    ids=["fields", "fields of a word", "words", "lists", "no object", "a text"],
)
def test_words_with_too_much_in_them_are_refused_without_a_look_at_all_of_it(said: object) -> None:
    with pytest.raises(WangTimerError):
        read_words(orjson.dumps(said))
    assert len(orjson.dumps(cut(said))) < 50 * MOST_WORDS


@pytest.mark.processes
def test_a_word_that_is_said_a_hundred_times_in_a_request_is_answered_as_often(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process)
    (member,) = ground.give()
    assert consumer.has(1)
    word = {"id": member.firing_id, "token": ground.wiring.ack_tokens.token(member)}
    answer = requests.post(
        f"{process.url}/v1/consumers/work:ack",
        json={"firings": [word] * 100},
        headers={"Authorization": f"Bearer {ground.keys['shop']}"},
        timeout=20,
    )
    assert answer.json()["items"] == [{"id": member.firing_id}] * 100


def opened(process: StreamProcess) -> socket.socket:
    place = urlsplit(process.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=10)


def is_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.processes
def test_a_head_that_does_not_end_ends_its_connection(ground: Ground) -> None:
    process = ground.start()
    with closing(opened(process)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        try:
            for _ in range(2 * MOST_HEAD_BYTES // 1_024):
                connection.sendall(b"a" * 1_024)
        except ConnectionError:
            return
        assert is_ended(connection)


@pytest.mark.processes
def test_who_leaves_within_a_body_leaves_no_trace_in_the_log(ground: Ground) -> None:
    process = ground.start()
    head = (
        f"POST /v1/consumers/work:ack HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ground.keys['shop']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with closing(opened(process)) as connection:
        connection.sendall(head.encode())
        time.sleep(0.5)
    consumer = ground.connect(process)
    ground.give()
    assert consumer.has(1)
    assert wait_for(lambda: requests.get(f"{process.url}/healthz", timeout=5).ok, SOON_S)
    assert "Traceback" not in process.log.read_text()
