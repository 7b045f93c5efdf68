"""Answers off the wire, in whatever pieces they come."""

from contextlib import suppress
from itertools import pairwise
from sys import setprofile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.callback.answer_reader import AnswerReader, NoHttp, _final_head

# What comes, and then: status, excerpt, whether the connection may be used again.
WHOLE = [
    (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", 304, b"", True),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", True),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", 200, b"ok", False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", False),
    (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", True),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\n\r\n",
        200,
        b"ok",
        True,
    ),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\nno!", 503, b"no!", True),
    (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok", True),
    (b"HTTP/1.1 200 \r\ncontent-length:2\r\n\r\nok", 200, b"ok", True),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n123456789012345678901234567890",
        200,
        b"1234567890",
        True,
    ),
]
# What a strict reader refuses after the status line: the status is the answer.
ODD = [
    (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        200,
    ),
    (b"\r\nHTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", 200),
    (b"HTTP/1.1 200 OK\r\nBad Header: 2\r\nContent-Length: 2\r\n\r\nok", 200),
    (b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 500),
    (b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", 200),
]


def new_answer() -> AnswerReader:
    return AnswerReader(excerpt_bytes=10, answer_bytes=100, reuse_idle_s=4)


def fed(answer: AnswerReader, data: bytes, cuts: set[int]) -> None:
    """Feed piece by piece, until the answer is whole; what is left of that piece comes with it."""
    places = sorted({0, len(data)} | {cut % len(data) for cut in cuts})
    for begin, end in pairwise(places):
        if answer.feed(data[begin:end]):
            return


def fed_all(answer: AnswerReader, pieces: list[bytes]) -> None:
    for piece in pieces:
        assert not answer.feed(piece)


@pytest.mark.parametrize(("data", "status", "excerpt", "keeps_open"), WHOLE)
@given(cuts=st.sets(st.integers(0, 200)))
def test_an_answer_is_the_same_however_it_is_cut(data, status, excerpt, keeps_open, cuts) -> None:
    answer = new_answer()
    for _ in range(2 if keeps_open else 1):
        answer.begin()
        assert not answer.is_whole
        fed(answer, data, cuts)
        assert answer.is_whole
        assert (answer.status, answer.excerpt, answer.keeps_open) == (status, excerpt, keeps_open)


@pytest.mark.parametrize(("data", "status"), ODD)
@given(cuts=st.sets(st.integers(0, 200)))
def test_of_an_odd_answer_the_status_is_taken_and_the_connection_is_not_used_again(
    data, status, cuts
) -> None:
    answer = new_answer()
    fed(answer, data, cuts)
    assert (answer.is_whole, answer.status, answer.keeps_open) == (True, status, False)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", b"to the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", b"to the end"),
        (b"HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"to the end"),
        (
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"it has a\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\nContent-Length: 9\n\n",
        ),
    ],
)
@given(cuts=st.sets(st.integers(0, 200)))
def test_an_answer_without_a_length_ends_with_the_connection(head, body, cuts) -> None:
    answer = new_answer()
    fed(answer, head + body, cuts)
    assert not answer.is_whole
    assert answer.feed_end()
    assert (answer.status, answer.excerpt, answer.keeps_open) == (200, body[:10], False)


def test_what_follows_a_whole_answer_takes_nothing_from_it() -> None:
    answer = new_answer()
    assert answer.feed(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
    )
    assert (answer.status, answer.excerpt, answer.keeps_open) == (200, b"ok", False)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"0\r\n", b"X-Trailer: " + b"x" * 1_000 + b"\r\n"),
        (b"1;x=", b"y" * 1_000),
    ],
    ids=["trailers", "an extension"],
)
def test_chunks_without_end_are_broken_off(begin: bytes, more: bytes) -> None:
    answer = new_answer()
    answer.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + begin)
    assert any(answer.feed(more) for _ in range(1_000))
    assert (answer.status, answer.keeps_open) == (200, False)


def test_an_answer_in_tiny_chunks_costs_no_more_than_others() -> None:
    told = 0
    answer = AnswerReader(excerpt_bytes=10, answer_bytes=65_536, reuse_idle_s=4)

    def count(_frame, event, _arg) -> None:
        nonlocal told
        told += event == "call"

    setprofile(count)
    try:
        is_whole = answer.feed(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20_000
        )
    finally:
        setprofile(None)
    assert (is_whole, answer.status, answer.excerpt, answer.keeps_open) == (True, 200, b"x" * 10, False)
    assert told < 3_000


def test_an_answer_that_drips_is_enough_after_so_many_pieces() -> None:
    answer = AnswerReader(excerpt_bytes=10, answer_bytes=65_536, reuse_idle_s=4)
    answer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
    assert next(number for number in range(300) if answer.feed(b"x")) > 100
    assert (answer.is_whole, answer.excerpt, answer.keeps_open) == (True, b"x" * 10, False)


@pytest.mark.parametrize(
    "pieces",
    [[b"x"] * 300, [b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000]],
    ids=["drips", "announcements"],
)
def test_a_head_that_costs_too_much_is_no_answer(pieces: list[bytes]) -> None:
    answer = new_answer()
    answer.feed(b"HTTP/1.1 100 Continue\r\nX: ")
    with pytest.raises(NoHttp, match="no status"):
        fed_all(answer, pieces)


def test_what_announces_an_answer_has_no_part_in_it() -> None:
    answer = new_answer()
    assert answer.feed(
        b"HTTP/1.1 199 Wait\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    )
    assert (answer.status, answer.excerpt) == (200, b"ok")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
    ],
)
@given(cuts=st.sets(st.integers(0, 200)))
def test_an_answer_cut_short_is_never_whole(data, cuts) -> None:
    answer = new_answer()
    if data:
        fed(answer, data, cuts)
    assert not answer.feed_end()


@given(cuts=st.sets(st.integers(0, 200)))
def test_a_long_body_is_whole_when_enough_was_read(cuts) -> None:
    answer = new_answer()
    fed(answer, b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + b"x" * 101, cuts)
    assert (answer.is_whole, answer.excerpt, answer.keeps_open) == (True, b"x" * 10, False)


@pytest.mark.parametrize(
    "data",
    [
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 099 What\r\nContent-Length: 9999\r\n\r\n" + b"x" * 200,
    ],
)
@given(cuts=st.sets(st.integers(0, 200)))
def test_what_can_never_be_an_answer_is_refused(data, cuts) -> None:
    with pytest.raises(NoHttp):
        fed(new_answer(), data, cuts)


@given(data=st.binary(max_size=300) | st.binary(max_size=200).map(lambda end: b"HTTP/1.1 200 OK\r\n" + end))
def test_whatever_comes_ends_in_a_status_or_an_error(data) -> None:
    answer = new_answer()
    with suppress(NoHttp):
        if answer.feed(data) or answer.feed_end():
            assert answer.status is not None


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["first", "after a 100"])
@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"\n\r\n"], ids=["lf", "crlf", "mixed"])
def test_what_begins_with_ever_more_blank_lines_is_broken_off(before: bytes, blank: bytes) -> None:
    """300 KB of them took the engine's only thread for 20 ms, and what came at their end was a success."""
    with pytest.raises(NoHttp, match="blank lines"):
        fed_all(new_answer(), [before, blank * 10, blank * 100])


@pytest.mark.parametrize("size", [1, 1_000])
def test_some_blank_lines_before_a_head_pass(size: int) -> None:
    answer = new_answer()
    data = b"\r\n" * 20 + b"HTTP/1.1 100 Continue\r\n\r\n" + b"\r\n" * 20 + b"HTTP/1.1 200 OK\r\n\r\nok"
    fed_all(answer, [data[begin : begin + size] for begin in range(0, len(data), size)])
    assert (answer.feed_end(), answer.status, answer.excerpt) == (True, 200, b"ok")


def test_the_final_head_is_looked_for_no_further_than_it_goes() -> None:
    came = bytearray(b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nHTTP/1.1 500 No\r\n\r\n")
    assert _final_head(came).split() == [b"HTTP/1.1", b"200", b"OK", b"A:", b"b"]
    assert _final_head(bytearray(b"HTTP/1.1 103 Hints\r\nA: HTTP/1.1 200 OK\r\n\r\n")) == b""


@pytest.mark.parametrize(
    ("header", "idle_s"),
    [
        (b"Keep-Alive: timeout=3, max=100", 2),
        (b"keep-alive:max=5, Timeout = 1", 0.5),
        (b"Keep-Alive: timeout=0", 0),
        (b"Keep-Alive: timeout=60", 4),
        (b"Keep-Alive: max=3", 4),
        (b"X-Keep-Alive: timeout=2", 4),
    ],
)
def test_an_announced_idle_time_counts_less_a_margin(header: bytes, idle_s: float) -> None:
    answer = new_answer()
    assert answer.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + header + b"\r\n\r\n")
    assert answer.idle_s == idle_s
