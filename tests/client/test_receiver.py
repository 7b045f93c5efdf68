"""The receiver's helper: what a callback says of itself, and each firing acted on once."""

import io
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.made_requests import made_request
from wangtimer.client import NotACallback, ReceivedCall, Receiver, SeenFirings, StillActing
from wangtimer.core.flow.firing import Member
from wangtimer.core.timers.timer import Notify

HEADERS = {
    "webhook-id": "7-1795207483123",
    "X-WangTimer-Timer": "7",
    "X-WangTimer-App": "商店",
    "X-WangTimer-Fire-At": "1795207483123",
    "X-WangTimer-Attempt": "2",
}


class HandClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(
    receiver: Receiver, headers: dict[str, str], body: bytes = b"", length: str = ""
) -> tuple[str, str]:
    """Return the status and the body of an answer; names and values come as WSGI hands them over."""
    environ: dict[str, Any] = {
        f"HTTP_{name.upper().replace('-', '_')}": value.encode().decode("latin-1")
        for name, value in headers.items()
    }
    environ |= {"CONTENT_LENGTH": length or str(len(body)), "wsgi.input": io.BytesIO(body)}
    environ["wsgi.errors"] = io.StringIO()
    statuses: list[str] = []
    answer = b"".join(receiver(environ, lambda status, headers: statuses.append(status)))
    return statuses[0], answer.decode() + environ["wsgi.errors"].getvalue()


def test_a_callback_says_which_firing_it_is() -> None:
    call = ReceivedCall.read(HEADERS, b"{}")
    assert (call.id, call.timer_id, call.app, call.attempt) == ("7-1795207483123", 7, "商店", 2)
    assert call.fire_at == datetime(2026, 11, 20, 20, 44, 43, 123_000, tzinfo=UTC)
    assert ReceivedCall.read({name.upper(): value for name, value in HEADERS.items()}, b"{}") == call
    sent = made_request(Notify("http://target.example/", body="{}"), "商店", Member(7, 1795207483123, 2))
    assert ReceivedCall.read(dict(sent.headers), sent.body) == call


@pytest.mark.parametrize("name", HEADERS)
def test_what_lacks_a_header_is_no_callback(name: str) -> None:
    with pytest.raises(NotACallback, match=f"no header {name.lower()}"):
        ReceivedCall.read({one: value for one, value in HEADERS.items() if one != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-WangTimer-Timer", "x"),
        ("X-WangTimer-Attempt", ""),
        ("X-WangTimer-Fire-At", "noon"),
        ("X-WangTimer-Fire-At", "9" * 400),
    ],
)
def test_what_cannot_be_read_is_no_callback(name: str, value: str) -> None:
    with pytest.raises(NotACallback, match="cannot be read"):
        ReceivedCall.read({**HEADERS, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "8-1795207483123"),
        ("webhook-id", "7-1795207483124"),
        ("webhook-id", "7"),
        ("webhook-id", "x" * 10_000),
        ("X-WangTimer-Timer", "8"),
        ("X-WangTimer-Fire-At", "1795207483124"),
    ],
)
def test_an_id_that_is_not_its_timer_and_moment_is_no_callback(name: str, value: str) -> None:
    with pytest.raises(NotACallback, match="webhook-id") as found:
        ReceivedCall.read({**HEADERS, name: value})
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("timer_id", ["0", "-7", "9" * 4_000])
def test_an_id_that_no_timer_has_is_no_callback(timer_id: str) -> None:
    headers = {**HEADERS, "X-WangTimer-Timer": timer_id, "webhook-id": f"{timer_id}-1795207483123"}
    with pytest.raises(NotACallback, match="x-wangtimer-timer") as found:
        ReceivedCall.read(headers)
    assert len(str(found.value)) < 200


def test_a_firing_is_acted_on_once_and_again_where_that_failed() -> None:
    seen = SeenFirings()

    def fail() -> None:
        with seen.acting_on("a") as is_new:
            assert is_new
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fail()
    for expected in (True, False, False):
        with seen.acting_on("a") as is_new:
            assert is_new is expected


def test_what_another_is_acting_on_is_neither_new_nor_done() -> None:
    seen = SeenFirings()
    with seen.acting_on("a"), pytest.raises(StillActing), seen.acting_on("a"):
        pass
    with seen.acting_on("a") as is_new:
        assert not is_new


def test_old_firings_are_forgotten_by_age_and_by_number() -> None:
    clock = HandClock()
    seen = SeenFirings(most=2, kept_s=10, monotonic=clock)

    def is_new(firing_id: str) -> bool:
        with seen.acting_on(firing_id) as found:
            return found

    assert [is_new(one) for one in ("a", "b", "c")] == [True] * 3
    assert [is_new(one) for one in ("c", "b", "a")] == [False, False, True]
    clock.now = 10
    assert [is_new(one) for one in ("b", "a")] == [True] * 2


def test_a_receiver_acts_once_and_answers_what_the_service_goes_by() -> None:
    came: list[ReceivedCall] = []
    receiver = Receiver(came.append)
    assert asked(receiver, HEADERS, b'{"order": 42}') == ("204 No Content", "")
    assert asked(receiver, {**HEADERS, "X-WangTimer-Attempt": "3"}) == ("204 No Content", "")
    assert [(call.app, call.body) for call in came] == [("商店", b'{"order": 42}')]
    assert asked(receiver, {"webhook-id": "x"})[0] == "400 Bad Request"
    assert asked(receiver, HEADERS, length="99999999")[0] == "400 Bad Request"


@pytest.mark.parametrize("came", [b"", b'{"order": 4'], ids=["nothing", "a part"])
def test_a_body_that_was_cut_off_is_refused_and_its_repeat_is_acted_on(came: bytes) -> None:
    acted: list[ReceivedCall] = []
    receiver = Receiver(acted.append)
    whole = b'{"order": 42}'
    status, said = asked(receiver, HEADERS, came, length=str(len(whole)))
    assert (status, acted) == ("400 Bad Request", [])
    assert f"has {len(came)} bytes of 13" in said
    assert asked(receiver, HEADERS, whole) == ("204 No Content", "")
    assert [call.body for call in acted] == [whole]


def test_what_failed_is_asked_for_again() -> None:
    faults = [ZeroDivisionError("no"), None]

    def act(call: ReceivedCall) -> None:
        if fault := faults.pop(0):
            raise fault

    receiver = Receiver(act)
    status, said = asked(receiver, HEADERS)
    assert status == "500 Internal Server Error"
    assert "webhook-id 7-1795207483123, timer 7, attempt 2: ZeroDivisionError('no')" in said
    assert asked(receiver, HEADERS)[0] == "204 No Content"


def test_two_attempts_at_once_act_once() -> None:
    began, may_end = threading.Event(), threading.Event()

    def act(call: ReceivedCall) -> None:
        began.set()
        may_end.wait(20)

    receiver = Receiver(act)
    first = threading.Thread(target=asked, args=(receiver, HEADERS))
    first.start()
    assert began.wait(20)
    assert asked(receiver, HEADERS)[0] == "503 Service Unavailable"
    may_end.set()
    first.join()
    assert asked(receiver, HEADERS)[0] == "204 No Content"
