"""Calls of numbered timers tell their number, the last moment that succeeded, and how many were lost since."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest

from tests.testing.timers import URL
from wangtimer.client import CallOrder, GapWatch, NewTimer, ReceivedCall, Refused
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Firing, MemberKey
from wangtimer.store.sql.continuities import ContinuityStore
from wangtimer.testing import Answer, MadeCall, WangTimer
from wangtimer.testing.doubles import MemorySlices

EVERY_MINUTE = {"every": "1m"}
ONCE = {"attempts": 1}
NUMBERED = {"url": URL, "numbered": True}


class Told(NamedTuple):
    """What a call tells: its minute, its number, the minute of the last success, how many were lost since."""

    minute: str
    seq: int | None
    last: str | None
    lost: int


def made(wangtimer: WangTimer, target: dict[str, Any] | None = None, **more: Any) -> int:
    fields: dict[str, Any] = {"schedule": EVERY_MINUTE, "retry": ONCE} | more
    return wangtimer.client.create_timer(key="report", target=NUMBERED | (target or {}), **fields)["id"]


NUMBERS = frozenset({"X-WangTimer-Sequence", "X-WangTimer-Last-Success", "X-WangTimer-Lost-Since"})


def told(call: MadeCall) -> Told:
    seq, last, lost = (
        call.headers.get(f"X-WangTimer-{one}") for one in ("Sequence", "Last-Success", "Lost-Since")
    )
    at = None if last is None else datetime.fromtimestamp(int(last) / 1_000, call.fire_at.tzinfo)
    assert lost is not None
    return Told(shown(call.fire_at), None if seq is None else int(seq), at and shown(at), int(lost))


def shown(moment: datetime) -> str:
    return f"{moment:%H:%M}" if moment.second == 0 else f"{moment:%H:%M:%S}"


def all_told(wangtimer: WangTimer) -> list[Told]:
    return [told(call) for call in wangtimer.calls]


def fail_in(wangtimer: WangTimer, *minutes: str) -> None:
    wangtimer.answer(lambda call: 500 if shown(call.fire_at) in minutes else 200)


def seqs(wangtimer: WangTimer, timer: int) -> list[int | None]:
    """Return the numbers on record of the firings whose moment has come, earliest first."""
    return [one.get("seq") for one in wangtimer.client.firings(timer=timer, until=wangtimer.now)][::-1]


def orders(wangtimer: WangTimer) -> list[CallOrder]:
    """Return what a receiver says of the calls, in the order in which they came."""
    watch = GapWatch()
    return [watch.see(ReceivedCall.read(call.headers)).order for call in wangtimer.calls]


def test_numbers_grow_by_one_and_what_failed_is_counted_until_one_succeeds(wangtimer: WangTimer) -> None:
    fail_in(wangtimer, "00:02", "00:03")
    timer = made(wangtimer)
    wangtimer.advance(minutes=5)
    assert all_told(wangtimer) == [
        Told("00:01", 1, None, 0),
        Told("00:02", 2, "00:01", 0),
        Told("00:03", 3, "00:01", 1),
        Told("00:04", 4, "00:01", 2),
        Told("00:05", 5, "00:04", 0),
    ]
    assert seqs(wangtimer, timer) == [1, 2, 3, 4, 5]
    assert orders(wangtimer) == [CallOrder.IN_ORDER] * 2 + [CallOrder.GAP] * 2 + [CallOrder.IN_ORDER]


def test_other_timers_tell_nothing_and_have_no_numbers(wangtimer: WangTimer) -> None:
    timer = made(wangtimer, {"numbered": False})
    wangtimer.advance(minutes=2)
    assert not [
        name for call in wangtimer.calls for name in call.headers if "Sequence" in name or "Lost" in name
    ]
    assert seqs(wangtimer, timer) == [None, None]
    assert "numbered" not in wangtimer.client.get_timer(timer)["target"]


def test_each_attempt_has_the_number_of_its_firing(wangtimer: WangTimer) -> None:
    wangtimer.answer(lambda call: 500 if call.attempt < 3 else 200)
    made(wangtimer, retry={"attempts": 3, "backoff": "fixed", "pause": "5s"})
    wangtimer.advance(minutes=2, seconds=30)
    assert [(call.attempt, told(call).seq) for call in wangtimer.calls] == [
        (1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2),
    ]  # fmt: skip
    repeat, in_order = CallOrder.REPEAT, CallOrder.IN_ORDER
    assert orders(wangtimer) == [in_order, repeat, repeat] * 2


def test_what_is_still_under_way_is_neither_lost_nor_done(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(200, after=timedelta(seconds=150)))
    made(wangtimer, {"timeout": "10m"})
    wangtimer.advance(minutes=5)
    assert all_told(wangtimer) == [
        Told("00:01", 1, None, 0),
        Told("00:02", 2, None, 0),
        Told("00:03", 3, None, 0),
        Told("00:04", 4, "00:01", 0),
        Told("00:05", 5, "00:02", 0),
    ]
    assert orders(wangtimer) == [CallOrder.IN_ORDER] * 5


def test_what_a_policy_skips_is_lost(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(200, after=timedelta(seconds=150)))
    made(wangtimer, {"timeout": "10m"}, overlap="skip")
    wangtimer.advance(minutes=7)
    assert all_told(wangtimer) == [
        Told("00:01", 1, None, 0),
        Told("00:04", 4, "00:01", 2),
        Told("00:07", 7, "00:04", 2),
    ]
    assert orders(wangtimer) == [CallOrder.IN_ORDER, CallOrder.GAP, CallOrder.GAP]


def test_what_an_edit_replaced_is_not_lost_and_no_number_is_used_twice(wangtimer: WangTimer) -> None:
    timer = made(wangtimer)
    wangtimer.advance(minutes=2)
    wangtimer.client.patch_timer(timer, schedule={"every": "90s"})
    wangtimer.advance(minutes=6)
    calls = all_told(wangtimer)
    given = [one.seq for one in calls]
    assert len(set(given)) == len(given)
    assert [one.lost for one in calls] == [0] * len(calls)
    assert [one.last for one in calls[1:]] == [one.minute for one in calls[:-1]]
    assert orders(wangtimer) == [CallOrder.IN_ORDER] * len(calls)
    found = [one for one in seqs(wangtimer, timer) if one is not None]
    assert len(set(found)) == len(found)


def test_a_moment_that_an_edit_leaves_keeps_its_number(wangtimer: WangTimer) -> None:
    timer = made(wangtimer, schedule={"cron": "* * * * *"})
    wangtimer.advance(minutes=2, seconds=10)
    wangtimer.client.patch_timer(timer, schedule={"cron": "*/30 * * * * *"})
    wangtimer.advance(minutes=1)
    assert [(one.minute, one.seq) for one in all_told(wangtimer)][:2] == [("00:01", 1), ("00:02", 2)]
    half, whole = all_told(wangtimer)[2:]
    assert (whole.minute, whole.seq) == ("00:03", 3)
    assert half.minute == "00:02:30"
    assert half.seq is not None
    assert half.seq > 100
    assert orders(wangtimer) == [CallOrder.IN_ORDER] * 4


def test_a_replay_keeps_its_number_and_is_late_and_then_it_has_succeeded(wangtimer: WangTimer) -> None:
    answers = {"00:02": 500, "00:03": 500}
    wangtimer.answer(lambda call: answers.get(shown(call.fire_at), 200))
    made(wangtimer)
    wangtimer.advance(minutes=3, seconds=30)
    answers.clear()
    wangtimer.client.replay_firing(wangtimer.calls[1].firing_id)
    wangtimer.advance(seconds=40)
    assert all_told(wangtimer)[3:] == [Told("00:02", 2, "00:01", 0), Told("00:04", 4, "00:02", 1)]
    assert orders(wangtimer)[3:] == [CallOrder.REPEAT, CallOrder.GAP]


def test_what_a_newer_one_cancels_is_told_by_it(wangtimer: WangTimer) -> None:
    wangtimer.answer(
        lambda call: Answer(200, after=timedelta(seconds=90 if shown(call.fire_at) == "00:02" else 1))
    )
    made(wangtimer, {"timeout": "5m"}, overlap="cancelOlder")
    wangtimer.advance(minutes=4, seconds=30)
    assert all_told(wangtimer) == [
        Told("00:01", 1, None, 0),
        Told("00:02", 2, "00:01", 0),
        Told("00:03", 3, "00:01", 1),
        Told("00:04", 4, "00:03", 0),
    ]
    assert orders(wangtimer) == [CallOrder.IN_ORDER, CallOrder.IN_ORDER, CallOrder.GAP, CallOrder.IN_ORDER]


def test_what_the_misfire_policy_skips_together_with_one_that_goes_is_told_by_that_one(
    wangtimer: WangTimer,
) -> None:
    timer = made(wangtimer, schedule={"every": "5s"}, misfire={"policy": "fire_latest", "grace": "2s"})
    wangtimer.advance(seconds=12)
    before = len(wangtimer.calls)
    wangtimer.sleep(seconds=41)
    wangtimer.advance(seconds=12)
    coalesced = [one for one in wangtimer.client.firings(timer=timer) if one["status"] == "skipped"]
    assert len(coalesced) == 7
    assert sum(told(call).lost for call in wangtimer.calls[before : before + 1]) == 7
    assert CallOrder.GAP in orders(wangtimer)


def test_a_firing_by_hand_has_no_number_and_what_is_disabled_is_not_lost(wangtimer: WangTimer) -> None:
    timer = made(wangtimer)
    wangtimer.advance(minutes=1, seconds=30)
    wangtimer.client.fire_timer(timer)
    wangtimer.client.disable_timer(timer)
    wangtimer.advance(minutes=3)
    wangtimer.client.enable_timer(timer)
    wangtimer.advance(minutes=1)
    by_hand = wangtimer.calls[1]
    assert not [name for name in by_hand.headers if name in NUMBERS]
    assert [told(one)[2:] for one in wangtimer.calls[2:]] == [("00:01", 0)]
    assert orders(wangtimer) == [CallOrder.IN_ORDER, CallOrder.UNNUMBERED, CallOrder.IN_ORDER]


def test_a_loss_of_redis_changes_no_number(wangtimer: WangTimer) -> None:
    timer = made(wangtimer)
    wangtimer.advance(minutes=2, seconds=10)
    parts, slices = wangtimer._parts, wangtimer._parts.slices
    assert isinstance(slices, MemorySlices)
    slices._server.lose()
    # As the feeder loads it again.
    parts.hot.add(parts.firings.pending_between(0, 2**60, 1_000))
    wangtimer._driver.note_change()
    wangtimer.advance(minutes=3)
    assert [one.seq for one in all_told(wangtimer)] == [1, 2, 3, 4, 5]
    assert seqs(wangtimer, timer) == [1, 2, 3, 4, 5]


def test_a_timer_that_is_numbered_later_begins_with_what_is_planned_from_then_on(
    wangtimer: WangTimer,
) -> None:
    timer = made(wangtimer, {"numbered": False})
    wangtimer.advance(minutes=1, seconds=10)
    wangtimer.client.patch_timer(timer, target={"numbered": True})
    wangtimer.advance(hours=3)
    calls = [call for call in wangtimer.calls if NUMBERS & call.headers.keys()]
    assert [told(call).seq for call in calls] == list(range(1, len(calls) + 1))
    assert wangtimer.calls[-len(calls) :] == calls
    last_unnumbered = wangtimer.calls[-len(calls) - 1]
    assert told(calls[0])[1:] == (1, shown(last_unnumbered.fire_at), 0)


def test_templates_and_events_have_the_number(wangtimer: WangTimer) -> None:
    timer = made(
        wangtimer,
        {
            "templates": True,
            "cloudEvents": True,
            "json": {"number": "{{seq}}"},
            "url": f"{URL}?n={{{{seq}}}}",
        },
    )
    wangtimer.advance(minutes=1)
    wangtimer.client.fire_timer(timer)
    wangtimer.advance(seconds=5)
    planned, by_hand = wangtimer.calls
    assert (planned.json, planned.url) == ({"number": "1"}, f"{URL}?n=1")
    assert planned.headers["ce-sequence"] == "0000000000000000001"
    assert (by_hand.json, by_hand.url) == ({"number": ""}, f"{URL}?n=")
    assert "ce-sequence" not in by_hand.headers


def test_a_number_cannot_stand_in_calls_of_other_timers(wangtimer: WangTimer) -> None:
    body = {"templates": True, "body": "number {{seq}}"}
    with pytest.raises(
        Refused, match=r"target.body: '\{\{seq\}\}' stands in it, and the timer is not numbered"
    ):
        made(wangtimer, body | {"numbered": False})
    timer = made(wangtimer, body)
    with pytest.raises(Refused, match=r"set target\.numbered to true"):
        wangtimer.client.patch_timer(timer, target={"numbered": None})


def test_the_record_shows_the_number_that_was_sent(wangtimer: WangTimer) -> None:
    made(wangtimer)
    wangtimer.advance(minutes=1, seconds=5)
    (call,) = wangtimer.calls
    history = wangtimer.client.get_firing(call.firing_id)
    assert history["seq"] == 1
    assert history["request"] is not None
    assert history["request"]["headers"]["X-WangTimer-Sequence"] == ["1"]
    assert not [name for name in history["request"]["headers"] if "Last-Success" in name or "Lost" in name]


def test_timers_made_together_are_numbered_each_by_itself(wangtimer: WangTimer) -> None:
    asked: list[NewTimer] = [
        {"key": key, "schedule": EVERY_MINUTE, "target": {"url": f"{URL}/{key}", "numbered": key != "plain"}}
        for key in ("one", "two", "plain")
    ]
    wangtimer.client.batch_create_timers(asked)
    wangtimer.advance(minutes=2)
    found = {(call.key, call.headers.get("X-WangTimer-Sequence")) for call in wangtimer.calls}
    assert found == {("one", "1"), ("one", "2"), ("two", "1"), ("two", "2"), ("plain", None)}


def test_a_calendar_that_changes_uses_no_number_twice(wangtimer: WangTimer) -> None:
    wangtimer.client.put_calendar("plant", days=["2027-01-09"])
    timer = made(wangtimer, schedule={"every": "10m", "excludeCalendar": "plant"})
    wangtimer.advance(minutes=25)
    wangtimer.client.put_calendar("plant", days=["2027-01-09", "2027-01-10"])
    wangtimer.advance(hours=5)
    given = [told(call).seq for call in wangtimer.calls]
    assert given == list(range(1, len(given) + 1))
    assert {told(call).lost for call in wangtimer.calls} == {0}
    assert seqs(wangtimer, timer)[-len(given) :] == given


def test_without_sql_a_numbered_firing_waits_and_then_tells_its_numbers(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other timers' firings go on meanwhile."""
    made(wangtimer)
    wangtimer.client.create_timer(key="plain", schedule=EVERY_MINUTE, target={"url": URL})
    wangtimer.advance(seconds=30)
    real, away_until = ContinuityStore.before, wangtimer.now + timedelta(seconds=40)

    def before(store: ContinuityStore, rows: Sequence[Firing]) -> dict[MemberKey, Continuity]:
        if wangtimer.now < away_until:
            raise StoreAway("SQL", "switched away by the test")
        return real(store, rows)

    monkeypatch.setattr(ContinuityStore, "before", before)
    wangtimer.advance(minutes=1)
    plain, numbered = sorted(wangtimer.calls, key=lambda call: call.at)
    assert (plain.key, plain.lateness) == ("plain", timedelta())
    assert told(numbered) == Told("00:01", 1, None, 0)
    assert timedelta(seconds=10) <= numbered.lateness < timedelta(seconds=20)
    assert numbered.attempt == 1
