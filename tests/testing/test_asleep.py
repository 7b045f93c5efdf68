"""Time in which nobody works: what came due meanwhile is late, and goes by the timers' misfire policies."""

from datetime import timedelta

from tests.testing.timers import URL, statuses, timer, times
from wangtimer.testing import Answer, WangTimer


def with_policy(wangtimer: WangTimer, key: str, policy: str, **more: str) -> int:
    misfire = {"policy": policy, **more}
    schedule = {"cron": "0 * * * *"}
    made = wangtimer.client.create_timer(key=key, schedule=schedule, target={"url": URL}, misfire=misfire)
    return made["id"]


def test_nothing_is_called_until_time_goes_on(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 * * * *")
    wangtimer.sleep(hours=3, minutes=30)
    assert wangtimer.calls == []
    assert wangtimer.now.isoformat() == "2027-01-04T03:30:00+00:00"


def test_what_was_missed_is_called_late_and_what_comes_is_on_time(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.sleep(hours=3, minutes=30)
    late = wangtimer.advance(minutes=29)
    assert sorted(call.fire_at.hour for call in late) == [1, 2, 3]
    assert all(call.lateness == call.at - call.fire_at for call in late)
    assert max(call.at for call in late) < wangtimer.now - timedelta(minutes=28)
    (on_time,) = wangtimer.advance(minutes=1)
    assert on_time.lateness == timedelta(0)
    assert statuses(wangtimer, made) == ["succeeded"] * 4


def test_each_policy_has_its_say(wangtimer: WangTimer) -> None:
    all_of_them = with_policy(wangtimer, "all", "fire_all")
    latest = with_policy(wangtimer, "latest", "fire_latest")
    none = with_policy(wangtimer, "none", "skip")
    wangtimer.sleep(hours=5, minutes=30)
    wangtimer.advance(minutes=10)
    assert sorted(call.fire_at.hour for call in wangtimer.calls_of("all")) == [1, 2, 3, 4, 5]
    assert [call.fire_at.hour for call in wangtimer.calls_of("latest")] == [5]
    assert wangtimer.calls_of("none") == []
    assert statuses(wangtimer, all_of_them) == ["succeeded"] * 5
    assert statuses(wangtimer, latest) == ["skipped"] * 4 + ["succeeded"]
    assert statuses(wangtimer, none) == ["skipped"] * 5


def test_past_its_catch_up_window_nothing_is_made(wangtimer: WangTimer) -> None:
    with_policy(wangtimer, "two hours", "fire_all", catchupWindow="2h")
    wangtimer.sleep(hours=5, minutes=30)
    assert sorted(call.fire_at.hour for call in wangtimer.advance(minutes=10)) == [4, 5]


def test_a_sleep_within_the_grace_changes_nothing(wangtimer: WangTimer) -> None:
    with_policy(wangtimer, "none", "skip", grace="10m")
    wangtimer.advance(minutes=59)
    wangtimer.sleep(minutes=5)
    (call,) = wangtimer.advance(minutes=1)
    assert call.fire_at.hour == 1
    assert timedelta(minutes=4) <= call.lateness < timedelta(minutes=4, seconds=10)


def test_what_is_disabled_after_a_sleep_has_missed_nothing_that_came_due_before(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.sleep(hours=1, minutes=30)
    wangtimer.client.disable_timer(made)
    assert wangtimer.advance(hours=3) == []
    assert statuses(wangtimer, made) == ["skipped"]


def test_a_one_shot_is_called_after_it(wangtimer: WangTimer) -> None:
    timer(wangtimer, at="2027-01-04T10:00:00Z")
    wangtimer.sleep(days=1)
    (call,) = wangtimer.advance(minutes=1)
    assert times([call])[0].startswith("01-05 00:00:0")


def test_a_call_that_was_under_way_ends(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(after=timedelta(seconds=5)))
    made = timer(wangtimer, delay="1m")
    wangtimer.advance(minutes=1, seconds=2)
    wangtimer.sleep(hours=2)
    wangtimer.advance(minutes=5)
    assert statuses(wangtimer, made) == ["succeeded"]


def test_days_of_backlog_are_worked_off_each_once(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="*/5 * * * *")
    wangtimer.sleep(days=3)
    calls = wangtimer.advance(minutes=5)
    moments = {call.fire_at for call in calls}
    assert len(calls) == len(moments) == 3 * 24 * 12 + 1
    assert set(statuses(wangtimer, made)) == {"succeeded"}
