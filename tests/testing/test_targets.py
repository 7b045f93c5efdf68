"""How targets answer, and what the service makes of it."""

from datetime import timedelta

import pytest

from tests.testing.timers import URL, Make, statuses, timer, times
from wangtimer.testing import Answer, MadeCall, WangTimer


def test_a_failed_call_is_made_again_after_1_2_4_seconds_and_so_on(wangtimer: WangTimer) -> None:
    wangtimer.answer(503)
    made = timer(wangtimer, delay="1h")
    calls = wangtimer.advance(hours=2)
    assert times(calls[:5]) == [f"01-04 01:00:{second:02}.000" for second in (0, 1, 3, 7, 15)]
    assert times(calls[-2:]) == ["01-04 01:08:31.000", "01-04 01:13:31.000"]
    assert [call.attempt for call in calls] == list(range(1, 12))
    assert {call.lateness for call in calls} == {timedelta(0)}
    assert {call.firing_id for call in calls} == {calls[0].firing_id}
    assert {call.fire_at for call in calls} == {calls[0].at}
    assert statuses(wangtimer, made) == ["failed"]


def test_it_ends_with_the_first_success(wangtimer: WangTimer) -> None:
    wangtimer.answer(lambda call: 500 if call.attempt < 3 else 204)
    made = timer(wangtimer, delay="1h")
    assert [call.attempt for call in wangtimer.advance(hours=2)] == [1, 2, 3]
    assert statuses(wangtimer, made) == ["succeeded"]


def test_as_many_attempts_are_made_as_the_service_is_set_to(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(most_attempts=2)
    wangtimer.answer(500)
    timer(wangtimer, delay="1h")
    assert [call.attempt for call in wangtimer.advance(hours=2)] == [1, 2]


@pytest.mark.parametrize(
    ("failure", "recorded"),
    [
        (ConnectionRefusedError, "ConnectionRefusedError"),
        (ConnectionResetError("the connection broke"), "the connection broke"),
        (TimeoutError, "timed out"),
        (OSError("no route to host"), "no route to host"),
    ],
    ids=lambda value: str(value),
)
def test_a_connection_may_fail(make_wangtimer: Make, failure: OSError | type[OSError], recorded: str) -> None:
    wangtimer = make_wangtimer(most_attempts=1)
    wangtimer.answer(failure)
    timer(wangtimer, delay="1m")
    assert len(wangtimer.advance(minutes=2)) == 1
    (firing,) = wangtimer.client.firings()
    assert (firing["status"], firing["httpStatus"], firing["error"]) == ("failed", None, recorded)


def test_a_function_may_raise_what_breaks_the_connection(wangtimer: WangTimer) -> None:
    def answer(call: MadeCall) -> Answer:
        if call.attempt == 1:
            raise ConnectionError("connection reset")
        return Answer(200, "done")

    wangtimer.answer(answer)
    timer(wangtimer, delay="1m")
    wangtimer.advance(minutes=2)
    (firing,) = wangtimer.client.firings()
    assert (firing["status"], firing["attempt"], firing["output"]) == ("succeeded", 2, "done")


def test_what_else_a_function_raises_ends_the_test(wangtimer: WangTimer) -> None:
    def answer(call: MadeCall) -> None:
        assert call.key == "another", "called for the wrong timer"

    wangtimer.answer(answer)
    timer(wangtimer, delay="1m")
    with pytest.raises(AssertionError, match="called for the wrong timer"):
        wangtimer.advance(minutes=2)


def test_a_slow_answer_is_recorded_when_it_comes(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(202, after=timedelta(seconds=8)))
    made = timer(wangtimer, delay="1m")
    assert len(wangtimer.advance(seconds=67)) == 1
    assert statuses(wangtimer, made) == ["pending"]
    assert wangtimer.advance(seconds=1) == []
    (firing,) = wangtimer.client.firings()
    assert (firing["status"], firing["durationMs"]) == ("succeeded", 8_000)


def test_an_answer_that_comes_too_late_is_none(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(most_attempts=2, callback_timeout=timedelta(seconds=30))
    wangtimer.answer(lambda call: Answer(after=timedelta(seconds=31 if call.attempt == 1 else 29)))
    timer(wangtimer, delay="1m")
    assert times(wangtimer.advance(minutes=5)) == ["01-04 00:01:00.000", "01-04 00:01:31.000"]
    (firing,) = wangtimer.client.firings()
    assert (firing["status"], firing["attempt"]) == ("succeeded", 2)


def test_a_timer_may_give_its_calls_less_time(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(most_attempts=1)
    wangtimer.answer(Answer(after=timedelta(seconds=3)))
    patient = timer(wangtimer, "patient", delay="1m")
    hasty = wangtimer.client.create_timer(
        key="hasty", schedule={"delay": "1m"}, target={"url": URL, "timeout": timedelta(seconds=2)}
    )
    assert hasty["target"].get("timeout") == "2s"
    wangtimer.advance(minutes=2)
    found = {one["timerId"]: (one["status"], one["error"]) for one in wangtimer.client.firings()}
    assert found == {hasty["id"]: ("failed", "timed out"), patient: ("succeeded", "")}


def test_the_last_word_on_a_url_counts(wangtimer: WangTimer) -> None:
    for name in ("good", "bad", "worse"):
        wangtimer.client.create_timer(
            key=name, schedule={"delay": "1m"}, target={"url": f"http://{name}.example/"}
        )
    wangtimer.answer(500)
    wangtimer.answer(404, url="http://worse.example/")
    wangtimer.answer(200, url="http://good.example/")
    wangtimer.advance(hours=1)
    found = {one["timerId"]: one["httpStatus"] for one in wangtimer.client.firings()}
    by_key = {timer["key"]: found[timer["id"]] for timer in wangtimer.client.timers()}
    assert by_key == {"good": 200, "bad": 500, "worse": 404}


def test_a_target_that_fails_often_is_called_on_time_all_the_same(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(most_attempts=1)
    wangtimer.answer(ConnectionRefusedError)
    timer(wangtimer, "often", every="1s")
    wangtimer.advance(minutes=2)
    wangtimer.answer(TimeoutError)
    for number in range(20):
        timer(wangtimer, f"order-{number}", delay="1m")
    wangtimer.advance(minutes=2)
    assert len(wangtimer.calls) == 260
    assert {call.lateness for call in wangtimer.calls} == {timedelta(0)}


@pytest.mark.parametrize(
    "wrong", ["500", 99, 700, True, None, ValueError, ValueError("no connection"), Answer, 200.5]
)
def test_what_no_target_can_answer_is_refused(wangtimer: WangTimer, wrong: object) -> None:
    with pytest.raises((TypeError, ValueError), match="cannot answer"):
        wangtimer.answer(wrong)  # type: ignore[arg-type]


def test_what_a_function_may_not_answer_ends_the_test(wangtimer: WangTimer) -> None:
    wangtimer.answer(lambda _call: "200")  # type: ignore[arg-type, return-value]
    timer(wangtimer, delay="1m")
    with pytest.raises(TypeError, match="a target cannot answer '200'"):
        wangtimer.advance(minutes=2)


def test_an_answer_cannot_come_before_its_request() -> None:
    with pytest.raises(ValueError, match="cannot come"):
        Answer(after=timedelta(seconds=-1))
