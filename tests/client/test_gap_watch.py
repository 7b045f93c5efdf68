"""What a receiver says of the calls of numbered timers."""

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.client import CallOrder, GapWatch, NotACallback, ReceivedCall, Sighting
from wangtimer.client.gap_watch import MOST_LOST, MOST_MOMENTS

START = datetime(2027, 1, 4, tzinfo=UTC)
IN_ORDER, GAP, LATE, REPEAT = CallOrder.IN_ORDER, CallOrder.GAP, CallOrder.LATE, CallOrder.REPEAT


def call(
    minute: int,
    seq: int | None,
    last: int | None = None,
    lost: int | None = 0,
    timer: int = 7,
    attempt: int = 1,
) -> ReceivedCall:
    """Return the call of a minute, as it arrives."""
    headers = {
        "webhook-id": f"{timer}-{ms(minute)}",
        "X-WangTimer-Timer": str(timer),
        "X-WangTimer-App": "shop",
        "X-WangTimer-Fire-At": str(ms(minute)),
        "X-WangTimer-Attempt": str(attempt),
    }
    if lost is not None:
        headers["X-WangTimer-Lost-Since"] = str(lost)
    if seq is not None:
        headers["X-WangTimer-Sequence"] = str(seq)
    if last is not None:
        headers["X-WangTimer-Last-Success"] = str(ms(last))
    return ReceivedCall.read(headers)


def ms(minute: int) -> int:
    return int(START.timestamp() * 1_000) + minute * 60_000


@pytest.fixture
def watch() -> Iterator[GapWatch]:
    return GapWatch()


def test_a_call_tells_its_numbers() -> None:
    read = call(3, 4, 1, 2)
    assert (read.sequence, read.last_success_at, read.lost_since) == (4, START + timedelta(minutes=1), 2)
    plain = ReceivedCall("7-1", 7, "shop", START, 1)
    assert (plain.sequence, plain.last_success_at, plain.lost_since) == (None, None, None)


def test_a_number_that_is_none_is_refused() -> None:
    headers = {
        "webhook-id": "7-1",
        "X-WangTimer-Timer": "7",
        "X-WangTimer-App": "shop",
        "X-WangTimer-Fire-At": "1",
        "X-WangTimer-Attempt": "1",
        "X-WangTimer-Sequence": "one",
    }
    with pytest.raises(NotACallback, match="a header of the callback cannot be read"):
        ReceivedCall.read(headers)


def test_calls_in_order_are_in_order(watch: GapWatch) -> None:
    found = [watch.see(call(minute, minute + 1, minute - 1 if minute else None)) for minute in range(5)]
    assert found == [Sighting(IN_ORDER)] * 5


def test_each_lost_moment_is_told_once_while_none_succeeds(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(1, 2, 0)) == Sighting(IN_ORDER)
    assert watch.see(call(2, 3, 0, 1)) == Sighting(GAP, 1)
    assert watch.see(call(3, 4, 0, 1)) == Sighting(IN_ORDER)
    assert watch.see(call(4, 5, 0, 3)) == Sighting(GAP, 2)
    assert watch.see(call(5, 6, 4, 0)) == Sighting(IN_ORDER)


def test_what_was_lost_without_a_call_shows_in_the_numbers_too(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(4, 5, 0, 3)) == Sighting(GAP, 3, 3)


def test_with_two_under_way_nothing_is_lost(watch: GapWatch) -> None:
    """The third is called while the second goes on: the last success is older than the newest that was seen."""
    watch.see(call(0, 1))
    assert watch.see(call(1, 2, 0)) == Sighting(IN_ORDER)
    assert watch.see(call(2, 3, 0)) == Sighting(IN_ORDER)
    assert watch.see(call(3, 4, 1)) == Sighting(IN_ORDER)


def test_two_that_overtake_each_other_are_late_and_no_gap(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(2, 3, 0)) == Sighting(IN_ORDER, 0, 1)
    assert watch.see(call(1, 2, 0)) == Sighting(LATE)
    assert watch.see(call(3, 4, 2)) == Sighting(IN_ORDER)


def test_what_another_receiver_had_is_a_gap_here(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(3, 4, 2)) == Sighting(GAP, 0, 2)


def test_every_attempt_after_the_first_is_a_repeat(watch: GapWatch) -> None:
    assert watch.see(call(0, 1)).order is IN_ORDER
    assert watch.see(call(0, 1, attempt=2)).order is REPEAT
    watch.see(call(1, 2))
    assert watch.see(call(0, 1, attempt=101)).order is REPEAT


def test_a_repeat_has_what_its_first_call_had(watch: GapWatch) -> None:
    """Whoever catches up on a gap may fail, and is called again."""
    watch.see(call(0, 1))
    assert watch.see(call(3, 4, 0, 2)) == Sighting(GAP, 2, 2)
    assert watch.see(call(3, 4, 0, 2, attempt=2)) == Sighting(REPEAT, 2, 2)
    assert watch.see(call(4, 5, 0, 2)) == Sighting(IN_ORDER)


def test_so_many_that_they_are_not_counted_are_a_gap_each_time_and_told_once(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(2_000, 2_001, None, MOST_LOST)).order is GAP
    assert watch.see(call(2_100, 2_101, None, MOST_LOST)) == Sighting(GAP, 100, 99)
    assert watch.see(call(2_101, 2_102, None, MOST_LOST)) == Sighting(GAP, 1)
    # One that was not counted tells no loss. The next one tells of it, and of all that it passed over.
    assert watch.see(call(2_200, 2_201, lost=None)) == Sighting(GAP, 0, 98)
    assert watch.see(call(2_201, 2_202, None, MOST_LOST)) == Sighting(GAP, 100)
    assert watch.see(call(2_202, 2_203, None, MOST_LOST)) == Sighting(GAP, 1)


def test_where_nobody_counted_what_was_passed_over_is_a_gap(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(1, 2, lost=None)) == Sighting(IN_ORDER)
    assert watch.see(call(5, 6, lost=None)) == Sighting(GAP, 0, 3)


def test_a_call_that_was_not_counted_lets_nothing_be_told_twice(watch: GapWatch) -> None:
    calls = call(1, 1), call(2, 2, 1), call(6, 6, 2, 3), call(7, 7, lost=None), call(8, 8, 2, 5)
    assert [watch.see(one).lost for one in calls] == [0, 0, 3, 0, 2]
    never_done = call(4, 4, None, 3, timer=8), call(5, 5, lost=None, timer=8), call(6, 6, None, 5, timer=8)
    assert [watch.see(one).lost for one in never_done] == [3, 0, 2]


def test_of_calls_that_know_a_part_of_what_was_lost_nothing_is_told_twice(watch: GapWatch) -> None:
    calls = call(1, 1), call(2, 2, 1), call(13, 13, None, 10), call(14, 14, None, 10), call(15, 15, 2, 12)
    assert [watch.see(one).lost for one in calls] == [0, 0, 10, 0, 2]
    assert watch.see(call(26, 26, None, 10)) == Sighting(GAP, 10, 10)
    assert watch.see(call(27, 27, 2, 24)) == Sighting(GAP, 2)
    assert watch.see(call(29, 29, 27, 1)) == Sighting(GAP, 1, 1)


def test_timers_of_two_apps_are_apart(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    other = call(0, 1)
    assert watch.see(replace(other, app="other")).order is IN_ORDER


def test_a_thousand_timers_take_less_than_four_megabytes() -> None:
    watch = GapWatch()
    tracemalloc.start()
    try:
        for timer in range(1, 1_001):
            for minute in range(MOST_MOMENTS):
                watch.see(call(minute, minute + 1, timer=timer))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 4_000_000


def test_a_replay_of_what_never_came_is_late(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    watch.see(call(2, 3, 0, 1))
    assert watch.see(call(1, 2, 0, attempt=101)) == Sighting(LATE)


def test_after_an_edit_numbers_jump_and_come_back_and_nothing_is_lost(watch: GapWatch) -> None:
    """The minutes were planned before: they keep their numbers. The halves between them are new."""
    watch.see(call(0, 1))
    assert watch.see(call(1, 61, 0)) == Sighting(IN_ORDER, 0, 59)
    assert watch.see(call(2, 2, 1)) == Sighting(IN_ORDER)
    assert watch.see(call(3, 62, 2)) == Sighting(IN_ORDER)


def test_the_first_call_tells_what_was_lost_before_it(watch: GapWatch) -> None:
    assert watch.see(call(9, 10, 2, 4)) == Sighting(GAP, 4)


def test_a_call_without_a_number_changes_nothing(watch: GapWatch) -> None:
    watch.see(call(0, 1))
    assert watch.see(call(5, None, 0)) == Sighting(CallOrder.UNNUMBERED)
    assert watch.see(call(1, 2, 0)) == Sighting(IN_ORDER)


def test_timers_are_apart_and_the_one_not_called_for_longest_is_forgotten() -> None:
    watch = GapWatch(most=2)
    for timer in (1, 2, 1, 3):
        watch.see(call(0, 1, timer=timer))
    assert watch.see(call(0, 1, timer=1)).order is REPEAT
    assert watch.see(call(0, 1, timer=2)).order is IN_ORDER


def test_of_one_timer_so_many_moments_are_known(watch: GapWatch) -> None:
    for minute in range(MOST_MOMENTS + 1):
        watch.see(call(minute, minute + 1))
    assert watch.see(call(1, 2)).order is REPEAT
    assert watch.see(call(0, 1)).order is LATE


def test_threads_see_each_firing_once(watch: GapWatch) -> None:
    calls = [call(minute % MOST_MOMENTS, minute % MOST_MOMENTS + 1) for minute in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(watch.see, calls))
    assert [one.order for one in found].count(REPEAT) == 200 - MOST_MOMENTS


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_whatever_is_lost_is_told_in_all_exactly_once(outcomes: list[bool]) -> None:
    """Where each firing is over before the next; only those that succeed arrive."""
    watch, told, last, lost = GapWatch(), 0, None, 0
    for minute, succeeds in enumerate([*outcomes, True]):
        if succeeds:
            sighting = watch.see(call(minute, minute + 1, last, lost))
            assert (sighting.order is GAP) == (lost > 0)
            told += sighting.lost
            last, lost = minute, 0
        else:
            lost += 1
    assert told == outcomes.count(False)
