"""Timers that are changed while time passes."""

import threading
from datetime import timedelta

import pytest

from tests.testing.timers import URL, statuses, timer, times
from wangtimer.client import Client, Conflict
from wangtimer.testing import WangTimer


def test_an_edited_schedule_counts_from_then_on(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.advance(minutes=90)
    wangtimer.client.patch_timer(made, schedule={"cron": "*/20 * * * *"})
    assert times(wangtimer.advance(minutes=50)) == [
        "01-04 01:40:00.000",
        "01-04 02:00:00.000",
        "01-04 02:20:00.000",
    ]


def test_an_edited_target_is_called_from_then_on(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.advance(hours=1)
    wangtimer.client.patch_timer(made, target={"url": "http://new.example/"}, key="renamed")
    wangtimer.advance(hours=1)
    assert [(call.key, call.url) for call in wangtimer.calls] == [
        ("nightly", URL),
        ("renamed", "http://new.example/"),
    ]
    assert wangtimer.calls_of("renamed") == wangtimer.calls[1:]


def test_a_disabled_timer_is_not_called_until_it_is_enabled(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.advance(hours=1)
    stopped = wangtimer.client.disable_timer(made)["stopped"]
    assert stopped is not None
    assert stopped["state"] == "cancelled"
    assert wangtimer.advance(hours=5) == []
    wangtimer.client.enable_timer(made)
    assert times(wangtimer.advance(hours=1)) == ["01-04 07:00:00.000"]


def test_what_is_disabled_too_late_is_called_all_the_same(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    wangtimer.advance(minutes=59, seconds=59, milliseconds=500)
    stopped = wangtimer.client.disable_timer(made)["stopped"]
    assert stopped is not None
    assert stopped["state"] == "in_flight"
    assert times(wangtimer.advance(hours=3)) == ["01-04 01:00:00.000"]


def test_a_deleted_timer_is_not_called_and_its_key_is_free(wangtimer: WangTimer) -> None:
    timer(wangtimer, delay="1h")
    with pytest.raises(Conflict):
        timer(wangtimer, delay="2h")
    wangtimer.client.delete_timer("key:nightly")
    timer(wangtimer, delay="2h")
    assert times(wangtimer.advance(hours=3)) == ["01-04 02:00:00.000"]


def test_a_retry_that_waits_is_stopped_by_a_disable(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    made = timer(wangtimer, delay="1h")
    assert [call.attempt for call in wangtimer.advance(minutes=60, seconds=4)] == [1, 2, 3]
    wangtimer.client.disable_timer(made)
    assert wangtimer.advance(hours=1) == []
    assert statuses(wangtimer, made) == ["skipped"]


def test_a_cancelled_firing_is_skipped_and_the_timer_goes_on(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 * * * *")
    second = int(wangtimer.now.timestamp() + 2 * 3_600) * 1_000
    wangtimer.client.cancel_firing(f"{made}-{second}")
    assert times(wangtimer.advance(hours=3)) == ["01-04 01:00:00.000", "01-04 03:00:00.000"]
    assert statuses(wangtimer, made) == ["succeeded", "skipped", "succeeded"]


def test_what_failed_is_replayed(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    made = timer(wangtimer, delay="1h")
    before = wangtimer.advance(hours=2)
    wangtimer.answer(200)
    assert wangtimer.client.replay_firing(before[0].firing_id)["replayed"] == 1
    (call,) = wangtimer.advance()
    assert (call.attempt, call.firing_id, call.at) == (101, before[0].firing_id, wangtimer.now)
    assert statuses(wangtimer, made) == ["succeeded"]


def test_what_a_timer_had_no_chance_to_fire_is_backfilled(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, cron="0 9 * * *")
    planned = wangtimer.client.backfill_timer(
        made, since="2027-01-01T00:00:00Z", until="2027-01-04T00:00:00Z"
    )
    assert planned["planned"] == 3
    calls = wangtimer.advance(minutes=1)
    assert [call.fire_at.isoformat() for call in calls] == [
        f"2027-01-0{day}T09:00:00+00:00" for day in (1, 2, 3)
    ]


def test_a_finished_timer_that_is_not_to_be_kept_frees_its_key(wangtimer: WangTimer) -> None:
    for _ in range(2):
        wangtimer.client.create_timer(
            key="order-42", schedule={"delay": "10m"}, target={"url": URL}, deleteAfterFinish=True
        )
        wangtimer.advance(minutes=10)
        assert list(wangtimer.client.timers()) == []
    assert len(wangtimer.calls_of("order-42")) == 2


def test_a_finished_timer_goes_when_its_retention_ends(wangtimer: WangTimer) -> None:
    timer(wangtimer, delay="1h")
    wangtimer.advance(days=29)
    assert [one["status"] for one in wangtimer.client.timers()] == ["finished"]
    wangtimer.advance(days=2)
    assert list(wangtimer.client.timers()) == []


def test_a_timer_ends_after_so_many_firings(wangtimer: WangTimer) -> None:
    made = timer(wangtimer, every="30m", maxFirings=3)
    assert len(wangtimer.advance(days=1)) == 3
    assert wangtimer.client.get_timer(made)["status"] == "finished"


def test_nothing_fires_on_the_days_of_a_calendar(wangtimer: WangTimer) -> None:
    wangtimer.client.put_calendar("plant", weekdays=["saturday", "sunday"], days=["2027-01-06"])
    timer(wangtimer, cron="0 9 * * *", excludeCalendar="plant")
    assert [f"{call.at:%a %d}" for call in wangtimer.advance(days=7)] == [
        "Mon 04",
        "Tue 05",
        "Thu 07",
        "Fri 08",
    ]


def test_timers_follow_a_calendar_that_changes(wangtimer: WangTimer) -> None:
    wangtimer.client.put_calendar("plant", weekdays=["saturday", "sunday"])
    timer(wangtimer, cron="0 9 * * *", excludeCalendar="plant")
    wangtimer.advance(days=1)
    wangtimer.client.put_calendar("plant", weekdays=["saturday", "sunday"], days=["2027-01-05"])
    assert [f"{call.at:%a %d}" for call in wangtimer.advance(days=2)] == ["Wed 06"]
    assert wangtimer.client.get_calendar("plant")["following"]["left"] == 0


@pytest.mark.timeout(20)
def test_time_passes_while_the_client_follows_until_it_is_told_to_stop(wangtimer: WangTimer) -> None:
    timer(wangtimer, delay="2m")
    stop = threading.Event()
    following = wangtimer.client.follow("key:nightly", every=60.0, stop=stop)
    assert next(following)["status"] == "succeeded"
    stop.set()
    before = wangtimer.now
    assert list(following) == []
    assert wangtimer.now == before


@pytest.mark.timeout(20)
def test_a_pause_of_following_ends_soon_after_it_is_told_to_stop(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 0 1 1 *")
    stop = threading.Event()
    begin = wangtimer.now

    def sleep(seconds: float) -> None:
        wangtimer.advance(seconds=seconds)
        if wangtimer.now - begin >= timedelta(seconds=3):
            stop.set()

    client = Client(wangtimer.url, "test", session=wangtimer.session, sleep=sleep)
    assert list(client.follow("key:nightly", every=3_600.0, stop=stop)) == []
    assert wangtimer.now - begin == timedelta(seconds=3)


def test_the_client_follows_what_happens_while_it_waits(wangtimer: WangTimer) -> None:
    timer(wangtimer, cron="0 * * * *")
    following = wangtimer.client.follow("key:nightly", every=60.0)
    seen = [next(following) for _ in range(2)]
    assert [one["fireAt"] for one in seen] == ["2027-01-04T01:00:00.000Z", "2027-01-04T02:00:00.000Z"]
