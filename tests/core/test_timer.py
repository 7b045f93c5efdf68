from dataclasses import replace

import pytest

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.schedule import Bounded
from wangtimer.core.timers.timer import Definition, Notify, Timer, TimerStatus

# A full minute, and half a minute later.
MOMENT_MS, BETWEEN_MS = 1_800_000_000_000, 1_800_000_030_000
ENABLED = Definition(
    1, "shop", 1, TimerStatus.ENABLED, Cron.parse("* * * * *"), Notify("http://shop.test/due")
)


def test_a_schedule_that_never_changed_is_not_asked_about_its_own_moments() -> None:
    assert ENABLED.still_wants(BETWEEN_MS)


def test_a_schedule_that_changed_wants_only_the_moments_it_contains_now() -> None:
    edited = ENABLED._replace(edited_at=MOMENT_MS - 1)
    assert edited.still_wants(MOMENT_MS)
    assert not edited.still_wants(BETWEEN_MS)


@pytest.mark.parametrize("status", [TimerStatus.DISABLED, TimerStatus.DELETED])
@pytest.mark.parametrize("edited_at", [0, MOMENT_MS - 1])
def test_a_timer_that_is_not_enabled_wants_nothing(status: TimerStatus, edited_at: int) -> None:
    timer = ENABLED._replace(status=status, edited_at=edited_at)
    assert not timer.is_enabled
    assert not timer.still_wants(MOMENT_MS)


def test_planning_from_another_moment_leaves_the_rest_of_a_timer_as_it_was() -> None:
    timer = Timer(ENABLED, "name", MOMENT_MS, None, 1, 2)
    assert timer.planned_from(BETWEEN_MS) == replace(timer, planned_until=BETWEEN_MS)
    assert timer.id == 1


@pytest.mark.parametrize("edited_at", [0, MOMENT_MS - 1])
def test_a_cancelled_moment_is_not_wanted_and_the_next_one_is(edited_at: int) -> None:
    schedule = Bounded(Cron.parse("* * * * *"), cancelled=frozenset({MOMENT_MS}))
    timer = ENABLED._replace(schedule=schedule, edited_at=edited_at)
    assert (timer.has_cancelled(MOMENT_MS), timer.still_wants(MOMENT_MS)) == (True, False)
    assert timer.still_wants(MOMENT_MS + 60_000)


@pytest.mark.parametrize(("hours", "is_known"), [(-1, True), (3, False), (47, False), (49, True)])
def test_what_stands_so_long_after_an_edit_was_planned_by_it(hours: int, is_known: bool) -> None:
    """Until then it may be of the schedule before: that one may have been planned two days ahead by other settings."""
    edited = ENABLED.with_schedule(Cron.parse("0 5 * * *"), MOMENT_MS)
    assert edited.had_planned(MOMENT_MS + hours * 3_600_000) is is_known
