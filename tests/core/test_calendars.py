"""Calendars of excluded days."""

from datetime import date, timedelta
from itertools import count

import pytest
from chinese_calendar import is_workday
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.errors import InvalidInput
from wangtimer.core.schedules.calendars import Calendar, built_in

MAY_DAY = date(2026, 5, 1)


def test_weekends_are_saturday_and_sunday() -> None:
    weekends = built_in()["weekends"]
    week = [date(2026, 11, 16) + timedelta(days=i) for i in range(7)]
    assert [weekends.excludes(day) for day in week] == [False] * 5 + [True] * 2


def test_chinese_off_days_are_those_of_the_announced_years_make_up_days_included() -> None:
    china = built_in()["cn-off-days"]
    assert (china.first_year, china.last_year) == (2004, 2026)
    day = date(2004, 1, 1)
    while day.year <= 2026:
        assert china.excludes(day) is not is_workday(day), day
        day += timedelta(days=1)
    assert china.excludes(date(2026, 10, 1))
    assert not china.excludes(date(2026, 10, 10))  # a Saturday on which people work


def test_of_other_years_chinese_off_days_know_the_weekends_only() -> None:
    china = built_in()["cn-off-days"]
    assert china.excludes(date(2100, 10, 2))
    assert not china.excludes(date(2100, 10, 1))


def test_a_working_day_wins_over_its_weekday_and_its_date() -> None:
    calendar = Calendar("own", frozenset({4}), frozenset({MAY_DAY}), frozenset({MAY_DAY}))
    assert not calendar.excludes(MAY_DAY)
    assert calendar.excludes(MAY_DAY + timedelta(days=7))


def test_the_next_open_day_may_be_the_day_itself() -> None:
    weekends = built_in()["weekends"]
    friday = date(2026, 11, 20).toordinal()
    assert weekends.next_open_day(friday) == friday
    assert weekends.next_open_day(friday + 1) == friday + 3


@given(
    st.frozensets(st.integers(0, 6), max_size=6),
    st.frozensets(st.integers(-3, 40)),
    st.frozensets(st.integers(-3, 40), max_size=3),
)
def test_the_next_open_day_is_the_first_that_is_not_excluded(
    weekdays: frozenset[int], closed: frozenset[int], working: frozenset[int]
) -> None:
    may_day = MAY_DAY.toordinal()
    days, back = (frozenset(date.fromordinal(may_day + one) for one in some) for some in (closed, working))
    calendar = Calendar("own", weekdays, days, back)
    expected = next(one for one in count(may_day) if not calendar.excludes(date.fromordinal(one)))
    assert calendar.next_open_day(may_day) == expected


def test_a_calendar_that_opens_again_in_80_years_is_searched_by_no_day_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sunday = date(2026, 11, 22).toordinal()
    sundays = frozenset(date.fromordinal(sunday + 7 * number) for number in range(4_000))
    calendar = Calendar("shut", frozenset(range(6)), sundays)
    monkeypatch.setattr(Calendar, "excludes", lambda *_: pytest.fail("each day is looked at"))
    assert calendar.next_open_day(sunday) == sunday + 7 * 4_000


def test_a_calendar_without_any_open_weekday_is_refused() -> None:
    with pytest.raises(InvalidInput):
        Calendar("never", frozenset(range(7)))


def test_a_digest_tells_contents_apart_and_nothing_else() -> None:
    one = Calendar("a", days=frozenset({MAY_DAY}))
    assert one.digest == Calendar("b", days=frozenset({MAY_DAY})).digest
    assert one.digest != Calendar("a", working=frozenset({MAY_DAY})).digest
    assert one.digest != Calendar("a", frozenset({1}), frozenset({MAY_DAY})).digest
