"""Time that passes: everything that comes due in between is called at its own moment, in order."""

from datetime import timedelta

import pytest

from tests.testing.timers import URL, statuses, timer, times
from wangtimer.testing import MadeCall, WangTimer


def test_a_cron_is_called_at_each_of_its_moments(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    calls = wangtimer.advance(hours=3)
    assert times(calls) == ["01-04 01:00:00.000", "01-04 02:00:00.000", "01-04 03:00:00.000"]
    assert {call.lateness for call in calls} == {timedelta(0)}
    assert calls == wangtimer.calls
    assert statuses(wangtimer, made) == ["succeeded"] * 3


def test_what_is_due_at_the_last_moment_is_called_and_nothing_after_it(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 * * * *")
    assert wangtimer.advance(minutes=59, seconds=59, milliseconds=999) == []
    assert times(wangtimer.advance(milliseconds=1)) == ["01-04 01:00:00.000"]
    assert wangtimer.advance(seconds=0) == []


def test_a_call_tells_all_that_its_target_sees(wangtimer: WangTimer) -> None:
    made = wangtimer.client.create_timer(
        key="order-42",
        schedule={"delay": "90s"},
        target={"url": f"{URL}?a=b", "method": "PUT", "headers": {"X-Shop": "42"}, "json": {"order": 42}},
    )
    (call,) = wangtimer.advance(minutes=2)
    assert (call.key, call.app, call.timer_id, call.attempt) == ("order-42", "test", made["id"], 1)
    assert (call.method, call.url, call.json) == ("PUT", f"{URL}?a=b", {"order": 42})
    assert call.at == call.fire_at == wangtimer.now - timedelta(seconds=30)
    assert call.headers["x-shop"] == "42"
    assert call.headers["content-type"] == "application/json"
    assert call.firing_id == call.headers["webhook-id"]
    assert call.headers["X-WangTimer-Fire-At"] == str(int(call.fire_at.timestamp() * 1_000))


def test_moments_between_two_seconds_are_kept(wangtimer: WangTimer) -> None:
    wangtimer.advance(milliseconds=250)
    timer(wangtimer, every="1500ms")
    assert times(wangtimer.advance(seconds=4)) == ["01-04 00:00:01.750", "01-04 00:00:03.250"]


def test_timers_are_called_in_the_order_of_their_moments(wangtimer: WangTimer) -> None:
    timer(wangtimer, "twenties", cron="*/20 * * * *")
    timer(wangtimer, "quarters", cron="*/15 * * * *")
    timer(wangtimer, "soon", delay="1s")
    calls = wangtimer.advance(minutes=45)
    assert [(call.key, call.at.minute) for call in calls] == [
        ("soon", 0),
        ("quarters", 15),
        ("twenties", 20),
        ("quarters", 30),
        ("twenties", 40),
        ("quarters", 45),
    ]
    assert calls == sorted(calls, key=lambda call: call.at)


def test_a_thousand_that_are_due_together_are_all_called_then(wangtimer: WangTimer) -> None:
    schedule, target = {"at": "2027-01-04T01:00:00Z"}, {"url": URL}
    wangtimer.client.batch_create_timers(
        [{"key": f"order-{number}", "schedule": schedule, "target": target} for number in range(1_000)]
    )
    calls = wangtimer.advance(hours=1)
    assert {call.key for call in calls} == {f"order-{number}" for number in range(1_000)}
    assert set(times(calls)) == {"01-04 01:00:00.000"}


def test_years_without_a_firing_pass_at_once(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 0 29 2 *")
    calls = wangtimer.advance(days=3 * 365)
    assert [call.at.isoformat() for call in calls] == ["2028-02-29T00:00:00+00:00"]


@pytest.mark.test_all
def test_a_timer_of_every_second_misses_none(wangtimer: WangTimer) -> None:
    timer(wangtimer, every="1s")
    calls = wangtimer.advance(minutes=40)
    assert [call.at for call in calls] == [
        wangtimer.now - timedelta(seconds=second) for second in range(2_399, -1, -1)
    ]


def test_without_a_span_what_is_due_now_is_called(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 0 1 1 *")
    wangtimer.client.fire_timer(made)
    assert wangtimer.calls == []
    (call,) = wangtimer.advance()
    assert (call.timer_id, call.at) == (made, wangtimer.now)


def test_advance_to_ends_at_the_moment(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 9 * * *")
    assert times(wangtimer.advance_to("2027-01-05T09:00:00")) == ["01-04 09:00:00.000", "01-05 09:00:00.000"]
    assert wangtimer.now.isoformat() == "2027-01-05T09:00:00+00:00"
    assert wangtimer.advance_to(wangtimer.now + timedelta(hours=1)) == []


def test_a_target_may_make_the_next_timer(wangtimer: WangTimer) -> None:
    def chain(call: MadeCall) -> None:
        step = int(call.key.removeprefix("step-"))
        timer(wangtimer, f"step-{step + 1}", delay="10m")

    wangtimer.answer(chain)
    timer(wangtimer, "step-1", delay="10m")
    calls = wangtimer.advance(minutes=35)
    assert [(call.key, call.at.minute) for call in calls] == [("step-1", 10), ("step-2", 20), ("step-3", 30)]


def test_a_target_cannot_let_time_pass(wangtimer: WangTimer) -> None:
    wangtimer.answer(lambda _call: wangtimer.advance(hours=1))
    timer(wangtimer, delay="1m")
    with pytest.raises(RuntimeError, match="cannot be called while a target answers"):
        wangtimer.advance(hours=1)
    wangtimer.answer(200)
    wangtimer.advance(hours=1)
