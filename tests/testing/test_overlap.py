"""What becomes of a firing whose moment comes while another one of its timer is not done."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert

from tests.testing.timers import URL
from wangtimer.client import Conflict
from wangtimer.client.firing_types import Firing
from wangtimer.executor.case import Case
from wangtimer.executor.steps.misfire_step import MisfireStep
from wangtimer.store.sql.tables import begun_firings
from wangtimer.testing import Answer, MadeCall, WangTimer

EVERY_MINUTE = {"every": "1m"}
HEADER = "X-WangTimer-Ack-Token"
LONG = {"url": URL, "ackTimeout": "1h"}


def made(wangtimer: WangTimer, overlap: str, target: dict[str, Any] | None = None, **more: Any) -> int:
    fields: dict[str, Any] = {"schedule": EVERY_MINUTE, "target": target or {"url": URL}} | more
    return int(wangtimer.client.create_timer(key="report", overlap=overlap, **fields)["id"])


def called(wangtimer: WangTimer) -> list[str]:
    return [f"{call.at:%M:%S}" for call in wangtimer.calls]


def firings(wangtimer: WangTimer, timer: int) -> list[Firing]:
    """Return those whose moment has come, earliest first."""
    return list(wangtimer.client.firings(timer=timer, until=wangtimer.now))[::-1]


def statuses(wangtimer: WangTimer, timer: int) -> list[str]:
    return [one["status"] for one in firings(wangtimer, timer)]


def token_of(call: MadeCall) -> tuple[str, str]:
    return call.firing_id, call.headers[HEADER]


def slow(wangtimer: WangTimer, seconds: float) -> None:
    wangtimer.answer(Answer(200, after=timedelta(seconds=seconds)))


SLOW = {"url": URL, "timeout": "10m"}


def test_by_default_firings_know_nothing_of_each_other(wangtimer: WangTimer) -> None:
    slow(wangtimer, 150)
    timer = made(wangtimer, "allow", SLOW)
    wangtimer.advance(minutes=4)
    assert called(wangtimer) == ["01:00", "02:00", "03:00", "04:00"]
    assert "overlap" not in wangtimer.client.get_timer(timer)


def test_skip_does_not_make_a_call_while_one_is_under_way(wangtimer: WangTimer) -> None:
    slow(wangtimer, 150)
    timer = made(wangtimer, "skip", SLOW)
    wangtimer.advance(minutes=7, seconds=50)
    assert called(wangtimer) == ["01:00", "04:00", "07:00"]
    assert statuses(wangtimer, timer)[:6] == ["succeeded", "skipped", "skipped"] * 2
    assert firings(wangtimer, timer)[1]["error"] == (
        "overlap: the firing of 2027-01-04T00:01:00.000Z is not done"
    )


def test_queue_one_lets_the_first_wait_and_skips_the_others(wangtimer: WangTimer) -> None:
    slow(wangtimer, 150)
    timer = made(wangtimer, "queueOne", SLOW)
    wangtimer.advance(minutes=9)
    assert called(wangtimer) == ["01:00", "03:30", "06:00", "08:30"]
    assert statuses(wangtimer, timer)[:3] == ["succeeded", "succeeded", "skipped"]
    assert firings(wangtimer, timer)[2]["error"] == (
        "overlap: the firing of 2027-01-04T00:01:00.000Z is not done, and that of 2027-01-04T00:02:00.000Z waits"
        " for it"
    )


def test_cancel_older_ends_the_older_and_its_later_answer_changes_nothing(wangtimer: WangTimer) -> None:
    slow(wangtimer, 150)
    timer = made(wangtimer, "cancelOlder", SLOW)
    wangtimer.advance(minutes=6, seconds=10)
    assert called(wangtimer) == ["01:00", "02:00", "03:00", "04:00", "05:00", "06:00"]
    found = firings(wangtimer, timer)
    assert [one["status"] for one in found] == ["skipped"] * 5 + ["pending"]
    assert found[0]["error"] == "overlap: cancelled, since the firing of 2027-01-04T00:02:00.000Z began"


def test_of_those_that_an_outage_held_up_cancel_older_calls_the_newest_alone(wangtimer: WangTimer) -> None:
    slow(wangtimer, 0.5)
    timer = made(wangtimer, "cancelOlder", SLOW, schedule={"every": "10s"})
    wangtimer.advance(seconds=19)
    wangtimer.sleep(seconds=30)
    wangtimer.advance(seconds=9)
    assert called(wangtimer) == ["00:10", "00:49", "00:50"]
    assert statuses(wangtimer, timer) == ["succeeded", "skipped", "skipped", "succeeded", "succeeded"]


@pytest.mark.parametrize(("status", "control"), [(200, "stop"), (200, "delay=30m"), (410, "")])
def test_what_the_answer_to_a_cancelled_one_asks_for_is_not_done(
    wangtimer: WangTimer, status: int, control: str
) -> None:
    more = {"control": control} if control else {}
    wangtimer.answer(Answer(status, after=timedelta(seconds=90), **more))
    timer = made(wangtimer, "cancelOlder", SLOW | {"allowControl": True})
    wangtimer.advance(minutes=4, seconds=10)
    assert called(wangtimer) == ["01:00", "02:00", "03:00", "04:00"]
    assert statuses(wangtimer, timer) == ["skipped"] * 3 + ["pending"]
    assert wangtimer.client.get_timer(timer)["status"] == "enabled"


@pytest.mark.parametrize(
    ("overlap", "expected", "outcomes"),
    [
        ("skip", ["01:00", "04:00"], ["succeeded", "skipped", "skipped", "accepted"]),
        ("queueOne", ["01:00", "03:30"], ["succeeded", "accepted", "skipped", "pending"]),
    ],
)
def test_long_work_is_not_done_before_its_word(
    wangtimer: WangTimer, overlap: str, expected: list[str], outcomes: list[str]
) -> None:
    wangtimer.answer(202)
    timer = made(wangtimer, overlap, LONG)
    wangtimer.advance(minutes=3, seconds=30)
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    wangtimer.advance(seconds=40)
    assert called(wangtimer) == expected
    assert statuses(wangtimer, timer) == outcomes


def test_the_token_of_what_a_newer_one_cancelled_is_dead(wangtimer: WangTimer) -> None:
    wangtimer.answer(202)
    timer = made(wangtimer, "cancelOlder", LONG)
    wangtimer.advance(minutes=2, seconds=10)
    older, newer = wangtimer.calls
    for word in ("ack_firing", "nack_firing", "heartbeat_firing"):
        with pytest.raises(Conflict, match="has its outcome already"):
            getattr(wangtimer.client, word)(*token_of(older))
    assert statuses(wangtimer, timer) == ["skipped", "accepted"]
    first = firings(wangtimer, timer)[0]
    assert (first["httpStatus"], first["attempt"]) == (202, 1)
    wangtimer.client.ack_firing(*token_of(newer))
    assert statuses(wangtimer, timer) == ["skipped", "succeeded"]


@pytest.mark.parametrize(
    ("overlap", "calls"),
    [
        ("skip", ["01:00", "02:40", "03:00"]),
        ("queueOne", ["01:00", "02:40", "02:40", "03:00"]),
        ("cancelOlder", ["01:00", "02:00", "03:00"]),
    ],
)
def test_a_firing_that_waits_for_a_retry_is_not_done(
    wangtimer: WangTimer, overlap: str, calls: list[str]
) -> None:
    wangtimer.answer(lambda call: 500 if len(wangtimer.calls) == 1 else 200)
    made(wangtimer, overlap, retry={"attempts": 3, "backoff": "fixed", "pause": "100s"})
    wangtimer.advance(minutes=3, seconds=10)
    assert called(wangtimer) == calls


def test_work_without_a_word_ends_with_its_last_attempt_and_the_next_goes(wangtimer: WangTimer) -> None:
    wangtimer.answer(202)
    timer = made(wangtimer, "queueOne", {"url": URL, "ackTimeout": "90s"}, retry={"attempts": 1})
    wangtimer.advance(minutes=2, seconds=40)
    assert called(wangtimer) == ["01:00", "02:30"]
    assert statuses(wangtimer, timer) == ["failed", "accepted"]


def test_what_somebody_asked_for_is_made_at_once_and_counts_as_begun(wangtimer: WangTimer) -> None:
    slow(wangtimer, 40)
    timer = made(wangtimer, "skip", SLOW)
    wangtimer.advance(seconds=30)
    wangtimer.client.fire_timer(timer)
    wangtimer.client.fire_timer(timer)
    wangtimer.advance(seconds=80)
    assert [one["status"] for one in firings(wangtimer, timer)] == ["succeeded", "succeeded", "skipped"]


def test_nothing_is_refused_before_its_moment(wangtimer: WangTimer) -> None:
    """They are judged up to a second ahead; where another one is not done by then, they are judged anew."""
    slow(wangtimer, 1.7)
    made(wangtimer, "skip", schedule={"every": "2s"})
    wangtimer.advance(seconds=11)
    assert called(wangtimer) == ["00:02", "00:04", "00:06", "00:08", "00:10"]
    assert all(call.at - call.fire_at <= timedelta(milliseconds=500) for call in wangtimer.calls)


def test_after_a_slow_call_the_later_ones_are_on_time_again(wangtimer: WangTimer) -> None:
    wangtimer.answer(
        lambda _: Answer(200, after=timedelta(seconds=1.15 if len(wangtimer.calls) < 2 else 0.3))
    )
    made(wangtimer, "skip", schedule={"every": "1s"})
    wangtimer.advance(seconds=12)
    assert wangtimer.calls[-1].at == wangtimer.calls[-1].fire_at


def test_one_that_waits_goes_once_the_one_ahead_is_skipped_as_missed(wangtimer: WangTimer) -> None:
    """The one ahead had begun, and its executor died before the call."""
    timer = made(wangtimer, "queueOne", misfire={"policy": "skip", "grace": "10s"})
    wangtimer.advance(seconds=50)
    row = {"timer_id": timer, "fire_at": int((wangtimer.now + timedelta(seconds=10)).timestamp() * 1_000)}
    wangtimer._parts.database.write(lambda sql: sql.execute(insert(begun_firings), row | {"is_waiting": 0}))
    wangtimer.sleep(seconds=72)
    wangtimer.advance(seconds=10)
    assert statuses(wangtimer, timer) == ["skipped", "succeeded"]
    assert called(wangtimer) == ["02:02"]


def test_one_that_waits_is_not_missed_and_is_skipped_once_its_timer_is_disabled(wangtimer: WangTimer) -> None:
    wangtimer.answer(202)
    timer = made(wangtimer, "queueOne", LONG, misfire={"policy": "skip", "grace": "5s"})
    wangtimer.advance(minutes=2, seconds=30)
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    wangtimer.advance(seconds=40)
    assert called(wangtimer) == ["01:00", "02:30"]
    wangtimer.client.disable_timer(timer)
    wangtimer.advance(minutes=1)
    assert statuses(wangtimer, timer)[:3] == ["succeeded", "accepted", "skipped"]
    assert firings(wangtimer, timer)[2]["error"] == "disabled"


def test_edits_of_the_schedule_leave_the_one_that_waits(wangtimer: WangTimer) -> None:
    wangtimer.answer(202)
    timer = made(wangtimer, "queueOne", LONG)
    wangtimer.advance(minutes=2, seconds=30)
    wangtimer.client.patch_timer(timer, schedule={"every": "11m"})
    wangtimer.client.patch_timer(timer, schedule={"every": "7m"})
    wangtimer.advance(seconds=20)
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    wangtimer.advance(seconds=10)
    assert called(wangtimer) == ["01:00", "02:50"]
    assert statuses(wangtimer, timer)[:2] == ["succeeded", "accepted"]


def test_an_answer_that_puts_its_timer_off_leaves_the_one_that_waits(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(200, after=timedelta(seconds=90), control="delay=10m"))
    timer = made(wangtimer, "queueOne", SLOW | {"allowControl": True})
    wangtimer.advance(minutes=3)
    assert called(wangtimer) == ["01:00", "02:30"]
    assert statuses(wangtimer, timer)[:2] == ["succeeded", "pending"]


def test_a_policy_that_is_taken_away_counts_for_the_next_firing(wangtimer: WangTimer) -> None:
    slow(wangtimer, 150)
    timer = made(wangtimer, "skip", SLOW)
    wangtimer.advance(minutes=2, seconds=5)
    assert "overlap" not in wangtimer.client.patch_timer(timer, overlap=None)
    wangtimer.advance(minutes=2, seconds=5)
    assert called(wangtimer) == ["01:00", "03:00", "04:00"]


def test_what_a_newer_one_leaves_to_be_cancelled_is_cancelled_within_a_sweep(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.store.sql.firings_to_cancel.MOST_AT_ONCE", 1)
    wangtimer.answer(202)
    timer = made(wangtimer, "cancelOlder", LONG)
    wangtimer.advance(seconds=50)
    for _ in range(3):
        wangtimer.client.fire_timer(timer)
        wangtimer.advance(seconds=1)
    wangtimer.advance(seconds=8)
    assert statuses(wangtimer, timer) == ["accepted", "accepted", "skipped", "accepted"]
    with pytest.raises(Conflict):
        wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    wangtimer.advance(minutes=1)
    ended = firings(wangtimer, timer)[:3]
    assert [one["status"] for one in ended] == ["skipped"] * 3
    assert {one["error"][:41] for one in ended} == {"overlap: cancelled, since the firing of 2"}


@pytest.mark.parametrize("overlap", ["allow", "skip", "queueOne", "cancelOlder"])
def test_each_is_called_though_all_are_later_than_the_next_moment(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch, overlap: str
) -> None:
    """A firing that gives way to a later moment that has come would give way for ever."""
    rule = MisfireStep.rule

    def late(step: MisfireStep, case: Case) -> None:
        now = step.clock.now_ms() + 2_500
        clock = SimpleNamespace(now_ms=lambda: now)
        rule(replace(step, clock=clock), case)

    monkeypatch.setattr(MisfireStep, "rule", late)
    made(wangtimer, overlap, schedule={"every": "1s"})
    wangtimer.advance(seconds=10)
    assert len(wangtimer.calls) == 10
