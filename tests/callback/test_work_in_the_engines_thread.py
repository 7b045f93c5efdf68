"""What one app stored, or one target answered, takes little of the thread that makes all calls: a piece each.

Each at the largest input that is allowed. The aim is 1 ms; the bound allows for a machine that does other work.
"""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache

import pytest

from tests.api.cpu_time import cpu_s, machine_factor
from tests.callback.test_sent_by_an_executor import calling, sent
from tests.made_requests import made_request
from wangtimer.api.http.notify_rules import MOST_HEADER_BYTES, MOST_HEADERS, MOST_URL_CHARACTERS
from wangtimer.api.http.reading import MOST_BODY_BYTES
from wangtimer.base.settings import Settings
from wangtimer.callback.answer_reader import _MOST_TOLD_BYTES, AnswerReader, NoHttp
from wangtimer.callback.reply_headers import retry_after_ms, shown_place
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.reply_control import read_control
from wangtimer.core.messages.consumer_group import event_parts
from wangtimer.core.messages.message_place import consumers_place
from wangtimer.core.signing.app_signing import MOST_AT_ONCE
from wangtimer.core.timers import secret_parts
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.secret_parts import secret_texts, without
from wangtimer.core.timers.templates import MOST_PLACEHOLDERS
from wangtimer.core.timers.timer import Notify, SecretMarks
from wangtimer.executor.request_maker import _written_large, attempt_lines
from wangtimer.messaging.message import Message
from wangtimer.messaging.redis_link import _command_of
from wangtimer.store.seals import Seals

pytestmark = pytest.mark.alone

AIM_S = 0.001
# Machines, and runs of the same work on one of them, differ.
ALLOWANCE = 3
READ_BYTES = 65_536
EXCERPT_CHARACTERS = next(
    one.le for one in Settings.model_fields["callback_excerpt_bytes"].metadata if hasattr(one, "le")
)
MEMBER = Member(1, 1_795_198_611_000, 1)
Work = Callable[[], object]


@cache
def bound_s() -> float:
    return AIM_S * ALLOWANCE * machine_factor()


def assert_short(work: Work) -> None:
    assert min(cpu_s(work) for _ in range(5)) < bound_s()


LINES = b"x: y\r\n" * (READ_BYTES // 6)
REDIRECT, SUCCESS, ANNOUNCED = (b"HTTP/1.1 %b\r\n" % said for said in (b"302 Found", b"200 OK", b"100 Go on"))
HEADS = {
    "many lines, and a redirect": [REDIRECT, *[LINES] * 4, b"Location: /a\r\n\r\n"],
    "many lines, and a control": [SUCCESS, *[LINES] * 4, b"X-WangTimer-Control: stop\r\n\r\n"],
    "many lines, and no length": [SUCCESS, *[LINES] * 4, b"\r\n"],
    "names that are nearly Location": [REDIRECT, *[(b"location" + b" " * 60 + b"\r\n") * 900] * 4, b"\r\n"],
    "a long run of blanks": [REDIRECT, b"location" + b" " * 60_000, *[b" " * 60_000] * 3, b": /a\r\n\r\n"],
    "runs of line breaks that are nearly too long": [ANNOUNCED + b"\r\n", (b"\n" * 64 + b"x") * 1_000],
    "runs of line breaks within a head": [ANNOUNCED, b"x: y\r\n" + (b"\r\n" * 32 + b"x") * 900],
    "heads that announce another": [ANNOUNCED + b"\r\n"] + [(ANNOUNCED + b"\r\n") * 900] * 3,
    "lines that look like another head": [*[(b"x: y\n" + SUCCESS) * 2_500] * 4, b"\r\n"],
    "chunks of one byte": [SUCCESS + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 10_900],
    "a chunk with many words": [SUCCESS + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"a=b;" * 16_000],
}


@pytest.mark.parametrize("reads", HEADS.values(), ids=HEADS.keys())
def test_each_read_of_an_answer(reads: list[bytes]) -> None:
    def most_s() -> float:
        reader, taken = AnswerReader(EXCERPT_CHARACTERS, 65_536, reuse_idle_s=4), []
        with suppress(NoHttp):
            taken = [cpu_s(lambda one=one: reader.feed(one)) for one in reads]
            taken.append(cpu_s(reader.feed_end))
        return max(taken, default=0)

    assert min(most_s() for _ in range(5)) < bound_s()


LONGEST = _MOST_TOLD_BYTES
SAID = (
    "9" * LONGEST,
    "Sun, 06 Nov 1994 " + ":" * (LONGEST - 17),
    "Sun, 06 Nov 1994 08:49:37 " + "(" * (LONGEST - 26),
    "06 Nov 1994 08:49:37 +" + "9" * (LONGEST - 22),
    "1 " * (LONGEST // 2),
    "06-" * (LONGEST // 3),
    "delay=" + "1" * (LONGEST - 6),
    "delay=" + "1h" * (LONGEST // 2 - 3),
    "delay=1." + "0" * (LONGEST - 8),
    "next=" + "2026-12-01T" * (LONGEST // 11 - 1),
    "next=2026-12-01T09:00:00." + "0" * (LONGEST - 25),
    "http://" + "[" * (LONGEST - 7),
    "http://[" + ":" * (LONGEST - 9) + "]",
    "//" + "\xbc" * (LONGEST - 2),
    "/" * LONGEST,
    "http://a/" + "\x01" * (LONGEST - 9),
)


@pytest.mark.parametrize("said", SAID, ids=lambda said: said[:25])
@pytest.mark.parametrize("reading", [retry_after_ms, read_control, shown_place], ids=lambda one: one.__name__)
def test_a_header_of_an_answer(reading: Callable[..., object], said: str) -> None:
    def read() -> None:
        with suppress(ValueError):
            reading(said, *{retry_after_ms: (0.0,), read_control: (1, MEMBER.fire_at)}.get(reading, ()))

    assert_short(read)


SECRETS = {
    "all begin alike": tuple("a" * size for size in range(1_020, 6, -2)),
    "nearly the text": ("a" * 2_000 + "b",),
    "many beginnings": tuple(f"{number:06d}" + "x" * number for number in range(300)),
    "beginnings that are nearly there": tuple(f"aaaaa{chr(98 + number)}" for number in range(20)),
}


@pytest.mark.parametrize("secrets", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("size", [EXCERPT_CHARACTERS, 2_400])
def test_secrets_that_a_record_does_not_have(secrets: tuple[str, ...], size: int) -> None:
    assert_short(lambda: without(secrets, "a" * size))
    assert_short(lambda: without(secrets, "a" * 6 + "b" * (size - 6)))


BODIES = {
    "json": json.dumps({"a": "x" * (MOST_BODY_BYTES - 20)}),
    "nested": "[" * MOST_BODY_BYTES,
    "controls": "\x01" * MOST_BODY_BYTES,
    "other letters": "芝" * (MOST_BODY_BYTES // 3),
}
URL = "https://shop.example/" + "x" * (MOST_URL_CHARACTERS - 30)
HEADERS = tuple(
    (f"X-{number}", "v" * (MOST_HEADER_BYTES // MOST_HEADERS - 5)) for number in range(MOST_HEADERS)
)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_signature_that_is_made_anew(body: str) -> None:
    keys = [b"k" * 64] * (MOST_AT_ONCE + 1)
    request = made_request(Notify(URL, headers=HEADERS, body=body), "shop", MEMBER, keys, 1)
    stamped = b"X-WangTimer-Ack-Token: t\r\n"
    assert_short(lambda: request.with_stamps(attempt_lines(MEMBER, request.body, keys, 2, stamped)))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_message_that_is_written(body: str) -> None:
    call = Notify("queue://broker/list?name=work", "", HEADERS, body)
    message = made_request(call, "shop", MEMBER)
    assert isinstance(message, Message)
    assert_short(lambda: _command_of(message))
    call = call._replace(url=consumers_place("work").url)
    message = made_request(call, "shop", MEMBER, ack_token="1.a", ack_ms=1_000)
    assert isinstance(message, Message)
    assert_short(lambda: event_parts(message.firing_id, 1, message.fields, message.body))


@pytest.mark.parametrize("body", [*BODIES.values(), "{{fireAt}}" * MOST_PLACEHOLDERS], ids=[*BODIES, "holes"])
@pytest.mark.parametrize("kind", ["application/json", "text/xml", "application/x-www-form-urlencoded"])
def test_a_call_that_is_filled_in(kind: str, body: str) -> None:
    """Not in that thread, but beside it: both have one lock."""
    call = Notify(f"{URL}?at={{{{fireAt}}}}", headers=(*HEADERS, ("Content-Type", kind)), body=body)

    def make() -> None:
        _written_large.cache_clear()
        with suppress(ValueError):  # too many placeholders
            made_request(call, "a" * 64, MEMBER, form=CallForm(templates=True), timezone="Asia/Shanghai")

    assert_short(make)


def test_the_secrets_of_a_call() -> None:
    """Beside it, too."""
    query = "&".join(f"={number:06x}" for number in range(2 * MOST_URL_CHARACTERS // 8))
    headers = tuple((f"X-Auth-{number}", f"Basic YWxpY2U6b3BlbjpzZXNhbWU={number}") for number in range(100))
    marks = SecretMarks(query=True, body=True)
    for number in (100, 9):
        call = Notify(
            f"{URL}?{query[: number * 80]}", "POST", headers[:number], BODIES["other letters"], marks
        )
        assert_short(lambda call=call: secret_texts(call))


def test_secrets_are_hidden_in_another_thread(engine, new_target, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noting(secrets: tuple[str, ...], text: str) -> str:
        threads.append(threading.current_thread().name)
        return secret_parts.without(secrets, text)

    monkeypatch.setattr("wangtimer.executor.reply_reader.without", noting)
    seals = Seals({"k1": b"k" * 32})
    target = new_target()
    call = Notify(target.url, headers=(("Authorization", "Bearer sesame-1"),))
    _, records = sent(engine, calling(target.url)._replace(notify=seals.seal(call, "shop", 1)), seals)
    finished = records.get(timeout=8)
    assert threads == []
    assert (finished.recorded.http_status, set(threads)) == (204, {threading.current_thread().name})
