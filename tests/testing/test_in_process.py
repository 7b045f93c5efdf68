"""What a `WangTimer` is: apart from others, from the environment, from threads and sockets; and what it refuses."""

import socket
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.testing.timers import URL, Make, timer, times
from wangtimer.client import Client, NotFound, Refused
from wangtimer.testing import WangTimer


def test_two_at_once_know_nothing_of_each_other(make_wangtimer: Make) -> None:
    here, there = make_wangtimer(), make_wangtimer(start="2030-06-01T12:00:00Z", app="there")
    timer(here, cron="0 * * * *")
    assert here.advance(hours=2)
    assert there.now == datetime(2030, 6, 1, 12, tzinfo=UTC)
    assert there.calls == []
    assert list(there.client.timers()) == []
    there.answer(500)
    timer(there, delay="1h")
    assert [call.attempt for call in there.advance(hours=2)] == list(range(1, 12))
    assert times(here.advance(hours=1)) == ["01-04 03:00:00.000"]


def test_each_app_has_its_own_timers(wangtimer: WangTimer) -> None:
    timer(wangtimer, delay="1h")
    other = wangtimer.client_of("other")
    assert list(other.timers()) == []
    other.create_timer(key="nightly", schedule={"delay": "2h"}, target={"url": URL})
    assert [(call.app, call.key) for call in wangtimer.advance(hours=3)] == [
        ("test", "nightly"),
        ("other", "nightly"),
    ]


def test_code_that_makes_its_own_client_is_given_the_session(wangtimer: WangTimer) -> None:
    client = Client(wangtimer.url, "shop", session=wangtimer.session)
    client.create_timer(key="k", schedule={"delay": "1m"}, target={"url": URL})
    assert [call.app for call in wangtimer.advance(minutes=1)] == ["shop"]


def test_the_api_answers_requests_without_the_client(wangtimer: WangTimer) -> None:
    body = {"app": "shop", "name": "alter Name", "cron": "0 9 * * *", "notifyHTTPParam": {"url": URL}}
    made = wangtimer.session.post(f"{wangtimer.url}/api/timer/v1/def", json=body).json()
    wangtimer.session.post(f"{wangtimer.url}/api/timer/v1/enable", json={"app": "shop", "id": made["id"]})
    assert [call.key for call in wangtimer.advance(days=1)] == ["alter Name"]


def test_it_says_that_it_is_ready(wangtimer: WangTimer) -> None:
    assert {part: health["ok"] for part, health in wangtimer.client.is_ready().items()} == {
        "sql": True,
        "store": True,
        "broker": True,
        "ticks": True,
    }


def test_keys_of_any_letters_are_found(wangtimer: WangTimer) -> None:
    timer(wangtimer, "Bestellung 42 – 订单?#", delay="1h")
    found = wangtimer.client.get_timer("key:Bestellung 42 – 订单?#")
    assert found["key"] == "Bestellung 42 – 订单?#"
    assert [call.key for call in wangtimer.advance(hours=1)] == ["Bestellung 42 – 订单?#"]


def test_the_services_errors_come_through(wangtimer: WangTimer) -> None:
    with pytest.raises(NotFound):
        wangtimer.client.get_timer("key:nothing")
    with pytest.raises(Refused, match="Asia/Shanghai"):
        timer(wangtimer, cron="@daily", timezone="Beijing")


def test_it_needs_no_thread_and_no_socket(make_wangtimer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    wangtimer = make_wangtimer()
    timer(wangtimer, cron="0 * * * *")
    wangtimer.answer(TimeoutError)
    wangtimer.advance(hours=12)
    wangtimer.sleep(hours=12)
    wangtimer.advance(hours=12)
    # The last has just begun.
    assert wangtimer.client.count_firings(since="2027-01-04T00:00:00Z")["failed"] == 35


def test_the_environment_does_not_count(make_wangtimer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_RETENTION_DAYS", "1")
    wangtimer = make_wangtimer()
    timer(wangtimer, delay="1m")
    wangtimer.advance(days=10)
    assert [one["status"] for one in wangtimer.client.timers()] == ["finished"]


def test_the_same_test_gives_the_same_calls(make_wangtimer: Make) -> None:
    def calls() -> list[tuple[str, datetime, int]]:
        wangtimer = make_wangtimer()
        wangtimer.answer(lambda call: 200 if call.attempt == 3 else 500)
        for number in range(20):
            timer(wangtimer, f"order-{number}", every=f"{number + 1}m")
        return [(call.key, call.at, call.attempt) for call in wangtimer.advance(hours=1)]

    assert calls() == calls()


def test_with_it_ends_what_it_began() -> None:
    with WangTimer(datetime(2027, 1, 1, tzinfo=UTC)) as wangtimer:
        timer(wangtimer, delay="1h")
    reading, writing = wangtimer.client.list_timers, lambda: timer(wangtimer, delay="1h")
    for use in (wangtimer.advance, wangtimer.sleep, reading, writing):
        with pytest.raises(RuntimeError, match="is closed"):
            use()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"timezone": "Beijing"}, r"'Beijing' is not an IANA time zone; did you mean Asia/Shanghai\?"),
        ({"start": "tomorrow"}, "'tomorrow' is not a moment"),
        ({"start": 1_800_000_000_000}, "1800000000000 is not a moment"),
        ({"most_attempts": 0}, "most_attempts=0: .*greater than or equal to 1"),
        (
            {"callback_timeout": timedelta(hours=1)},
            "callback_timeout_ms=3600000: .*less than or equal to 600000",
        ),
    ],
    ids=lambda value: str(value),
)
def test_what_cannot_work_is_refused_at_the_start(given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        WangTimer(**given)


@pytest.mark.parametrize("name", ["advance", "sleep"])
@pytest.mark.parametrize(
    ("span", "units", "message"),
    [
        (None, {"hours": -1}, "time does not go back"),
        (None, {"hour": 1}, "'hour' is not a unit of time; write one of weeks, days, hours"),
        (3, {}, "3 is not a span of time; write hours=3"),
        (timedelta(hours=1), {"hours": 1}, "not both"),
        (None, {"hours": "3"}, "hours='3' is not a number"),
        (None, {"days": 10**9}, "too long"),
    ],
    ids=lambda value: str(value),
)
def test_what_is_no_span_of_time_is_refused(
    wangtimer: WangTimer, name: str, span: Any, units: dict[str, Any], message: str
) -> None:
    before = wangtimer.now
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(wangtimer, name)(*([] if span is None else [span]), **units)
    assert wangtimer.now == before


def test_what_is_past_is_refused(wangtimer: WangTimer) -> None:
    with pytest.raises(ValueError, match=r"2026-12-31 is past: now is 2027-01-04T00:00:00\+00:00"):
        wangtimer.advance_to("2026-12-31")


def test_a_name_of_an_app_that_is_none_is_refused(wangtimer: WangTimer) -> None:
    with pytest.raises(ValueError, match="not the name of an app"):
        wangtimer.client_of(" shop")
