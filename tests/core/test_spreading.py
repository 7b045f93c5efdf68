"""A jitter that is edited: each moment of the rule is still made once."""

from bisect import bisect_right
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread
from wangtimer.core.timers.schedule_edits import KEPT_MS, MOST_PARTS, evenly_spread, still_spread

SECOND_MS, MINUTE_MS, DAY_MS = 1_000, 60_000, 86_400_000
START = 20_000 * DAY_MS
END = START + 20 * MINUTE_MS
RULES: list[Cron | Every] = [
    Cron("*/20 * * * * *", "UTC"),
    Every(7_000, START - DAY_MS - 123),
    Every(2_500, START - DAY_MS - 77),
]


def spread(rule: Cron | Every, most_ms: int) -> Schedule:
    return Bounded(rule, spread=Spread(most_ms, 5)) if most_ms else rule


@given(
    st.sampled_from(RULES),
    st.lists(st.sampled_from([0, 1_500, 6_000, 15_000, 40_000]), min_size=2, max_size=6),
    st.lists(st.one_of(st.integers(1, 30_000), st.integers(1, 3_000)), min_size=5, max_size=5),
    st.sampled_from([0, 1_500]),
)
def test_each_moment_of_the_rule_is_made_once_however_often_the_jitter_is_edited(
    rule: Cron | Every, jitters: list[int], pauses: list[int], soon_ms: int
) -> None:
    edits = list(accumulate(pauses[: len(jitters) - 1], initial=START))
    schedule = spread(rule, jitters[0])
    made: list[int] = []
    for jitter, (since, until) in zip(jitters, pairwise([*edits, END]), strict=True):
        was = schedule
        schedule = still_spread(spread(rule, jitter), was, since, soon_ms)
        # What may be on its way stays where it is.
        assert schedule.moments(since, since + soon_ms, 10_000) == was.moments(since, since + soon_ms, 10_000)
        made += schedule.moments(since, until, 10_000)
    own = rule.moments(START - DAY_MS, END, 100_000)
    places = [bisect_right(own, at) for at in made]
    assert places == list(range(places[0], places[0] + len(places)))
    assert evenly_spread(schedule) == spread(rule, jitters[-1])


@pytest.mark.parametrize("jitters", [(0, 15_000), (15_000, 0), (15_000, 3_000)])
def test_what_may_be_on_its_way_stays_where_it_is(jitters: tuple[int, int]) -> None:
    was, asked = (spread(RULES[0], most_ms) for most_ms in jitters)
    edited = still_spread(asked, was, START - 1, 1_500)
    assert edited.moments(START - 1, START + 20 * SECOND_MS - 1, 9) == was.moments(
        START - 1, START + 20 * SECOND_MS - 1, 9
    )
    assert edited.moments(START + 20 * SECOND_MS, END, 99) == asked.moments(START + 20 * SECOND_MS, END, 99)


def test_so_many_edits_are_remembered_for_a_day_at_most() -> None:
    rule, now = Every(1_000, START), START
    schedule = spread(rule, 900)
    for number in range(MOST_PARTS + 10):
        now += 2_000
        schedule = still_spread(spread(rule, 100 + number), schedule, now, 1_500)
    assert isinstance(schedule, Bounded)
    assert schedule.spread is not None
    assert len(schedule.spread.before) == MOST_PARTS
    edited = still_spread(spread(rule, 7), schedule, now + KEPT_MS + 9_000, 1_500)
    assert isinstance(edited, Bounded)
    assert edited.spread == Spread(7, 5, ((now + KEPT_MS + 10_500, schedule.spread.most_ms),))


def test_another_rule_and_a_single_moment_are_taken_as_they_are() -> None:
    was = spread(RULES[0], 15_000)
    for other in (spread(RULES[1], 15_000), RULES[1], Once(START)):
        assert still_spread(other, was, START, 0) == other
    assert still_spread(was, Once(START), START, 0) == was
