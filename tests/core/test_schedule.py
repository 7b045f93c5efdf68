import pytest

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.schedule import Once, Schedule

AT_MS = 1_800_000_000_123


def test_a_single_moment_is_in_a_window_that_ends_with_it_and_not_in_one_that_starts_with_it() -> None:
    once = Once(AT_MS)
    assert once.moments(AT_MS - 1, AT_MS, 10) == [AT_MS]
    assert once.moments(AT_MS, AT_MS + 1, 10) == []
    assert once.moments(AT_MS - 10, AT_MS - 1, 10) == []


def test_a_limit_of_none_at_all_gives_no_moment() -> None:
    assert Once(AT_MS).moments(0, AT_MS, 0) == []


def test_a_single_moment_comes_first_until_it_has_been() -> None:
    assert Once(AT_MS).first_after(AT_MS - 1) == AT_MS
    assert Once(AT_MS).first_after(AT_MS) is None


def test_only_the_moment_itself_matches_to_the_millisecond() -> None:
    assert Once(AT_MS).matches(AT_MS)
    assert not Once(AT_MS).matches(AT_MS + 1)


@pytest.mark.parametrize("schedule", [Once(AT_MS), Cron.parse("*/5 * * * *", "Asia/Shanghai")])
def test_both_kinds_of_schedule_answer_the_same_questions(schedule: Schedule) -> None:
    first = schedule.first_after(AT_MS - 1)
    assert first is not None
    assert schedule.matches(first)
    assert schedule.moments(AT_MS - 1, first, 10) == [first]
    assert schedule == type(schedule)(*(getattr(schedule, name) for name in schedule.__slots__))
