"""What an answer says beside its status: when to come again, where the target moved to, what becomes of the timer."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import time

import pytest

from tests.callback.target import answer_with
from tests.callback.test_sent_by_an_executor import calling, recorded
from wangtimer.callback.answer_reader import AnswerReader
from wangtimer.callback.reply_headers import retry_after_ms, shown_place
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.retry import RetryPolicy

NOW_MS = 1_800_000_000_000
EMPTY = b"Content-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 503 Away\r\nRetry-After: 12 \r\n", "12"),
        (b"HTTP/1.1 429 Slow\r\nretry-after:\t90\r\n", "90"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: https://a.example/b?c\r\n",
            "https://a.example/b?c",
        ),
        (b"HTTP/1.1 100 Wait\r\nRetry-After: 7\r\n\r\nHTTP/1.1 503 Away\r\n", ""),
        (b"HTTP/1.1 503 Away\r\n", ""),
        (b"HTTP/1.1 503 Away\r\nX-Retry-After: 12\r\nLocation: /a\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nRetry-After: 12\r\n", ""),
        (b"HTTP/1.1 202 Accepted\r\nA: b\r\nx-WangTimer-CONTROL: \tdelay=1h \r\n", "delay=1h"),
        (b"HTTP/1.1 503 Away\r\nX-WangTimer-Control: stop\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nA: X-WangTimer-Control: stop\r\n", ""),
        (b"HTTP/1.1 503 Away\r\nRetry-After: " + b"9" * 100 + b"\r\n", "9" * 100),
    ],
)
@pytest.mark.parametrize("is_whole_at_once", [True, False])
def test_headers_that_count_are_read_however_they_come(
    answer: bytes, told: str, is_whole_at_once: bool
) -> None:
    reader, whole = AnswerReader(excerpt_bytes=10, answer_bytes=100, reuse_idle_s=4), answer + EMPTY
    for piece in [whole] if is_whole_at_once else [bytes([one]) for one in whole]:
        reader.feed(piece)
    assert (reader.is_whole, reader.told) == (True, told)
    reader.begin()
    assert reader.feed(b"HTTP/1.1 503 Away\r\n" + EMPTY)
    assert reader.told == ""


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\r\n\r", b"\n\n", b"\r\r"])
def test_a_line_of_a_body_is_no_header_however_the_head_ends(end: bytes) -> None:
    body = b"x\nX-WangTimer-Control: stop\n"
    reader = AnswerReader(excerpt_bytes=100, answer_bytes=100, reuse_idle_s=4)
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %d" % len(body) + end + body)
    assert reader.told == ""


@pytest.mark.parametrize("name", [b"Retry-After", b"Location", b"X-WangTimer-Control"])
@pytest.mark.parametrize(
    "line", [b" " * 250_000 + b"x" * 3_000, b"x" + b" " * 250_000 + b"y", b" " * 250_000]
)
def test_a_head_full_of_blanks_costs_no_more_than_its_reading(name: bytes, line: bytes) -> None:
    # An expression that tries each division of the blanks would read for hours.
    reader = AnswerReader(excerpt_bytes=10, answer_bytes=100, reuse_idle_s=4)
    status = {b"Retry-After": b"503 Away", b"Location": b"302 Found"}.get(name, b"200 OK")
    assert reader.feed(b"HTTP/1.1 " + status + b"\r\n" + name + b":" + line + b"\r\n" + EMPTY)
    assert reader.told == ""


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0", 0),
        ("120", 120_000),
        ("9" * 60, 999_999_999_999_000),
        (
            format_datetime(datetime.fromtimestamp(NOW_MS / 1_000, UTC) + timedelta(seconds=30), usegmt=True),
            30_000,
        ),
        (format_datetime(datetime.fromtimestamp(NOW_MS / 1_000, UTC) - timedelta(days=3), usegmt=True), 0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("١٢", None),
        ("Wed, 99 Foo 2026 99:99:99 GMT", None),
    ],
)
def test_it_may_be_seconds_or_a_date(text: str, ms: int | None) -> None:
    assert retry_after_ms(text, NOW_MS) == ms


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
@pytest.mark.parametrize("form", ["%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S -0000"])
def test_a_date_without_an_offset_is_one_of_utc(zone: str, form: str, machine_zone) -> None:
    machine_zone(zone)
    at = datetime.fromtimestamp(NOW_MS / 1_000, UTC) + timedelta(seconds=6)
    assert retry_after_ms(at.strftime(form), NOW_MS) == 6_000


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("https://user:pw@a.example:8443/b?token=x#y", "https://a.example:8443/b"),
        ("/moved?token=x", "/moved"),
        ("//a.example/b", "//a.example/b"),
        ("https://[broken/", ""),
        ("https://a.example/" + "b" * 999, "https://a.example/" + "b" * 132 + "…"),
        ("https://a.example/\x01b", "https://a.example/?b"),
        ("", ""),
    ],
)
def test_a_place_is_shown_without_what_may_be_secret(location: str, shown: str) -> None:
    assert shown_place(location) == shown


@pytest.mark.parametrize("status", [b"429 Slow", b"503 Away"])
def test_retry_after_is_told_of_answers_that_say_when(engine, new_target, status: bytes) -> None:
    target = new_target(answer_with(b"HTTP/1.1 " + status + b"\r\nRetry-After: 60\r\n" + EMPTY))
    before = time() * 1_000
    outcome = recorded(engine, calling(target.url), most_attempts=2)
    assert outcome.status is FiringStatus.PENDING
    assert 60_000 <= outcome.due_at - before <= 70_000


def test_the_timer_s_own_policy_counts_there(engine, new_target) -> None:
    target = new_target(answer_with(b"HTTP/1.1 404 No\r\n" + EMPTY))
    definition = calling(target.url)._replace(retry=RetryPolicy(final=("404",)))
    assert recorded(engine, definition, most_attempts=5).status is FiringStatus.FAILED
