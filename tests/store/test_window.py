"""The window's marks: which minute is fed next, by whom, and what adders are told."""

from copy import copy

from tests.store.worlds import WINDOW, HotWorld
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store.redis.window import AHEAD_MS, Found, Next, Window

LEAST = WINDOW.least_ms // MINUTE_MS
MOST = WINDOW.most_ms // MINUTE_MS


def now(hot: HotWorld) -> int:
    return int(hot.clock.now_ms())


def present(hot: HotWorld) -> int:
    return now(hot) // MINUTE_MS


def look(hot: HotWorld, window: Window | None = None, from_present: bool = False) -> Next:
    return (window or hot.window).next(now(hot), from_present)


def fed(hot: HotWorld) -> int:
    """Return the last minute that is fed whole."""
    return (hot.window.fed_until() or 0) // MINUTE_MS - 1


def feed(hot: HotWorld, firings: int) -> int:
    """Feed until the window is full, each minute with so many firings; return the last minute."""
    last = -1
    while (coming := look(hot)).found is Found.FEED:
        assert hot.window.done(coming.minute, firings, coming.until_ms)
        last = coming.minute
    return last


def test_a_redis_that_knows_nothing_is_fed_from_the_present_minute_on(hot: HotWorld) -> None:
    assert (hot.window.announced(), hot.window.fed_until()) == (None, None)
    coming, minute = look(hot), present(hot)
    whole = minute * MINUTE_MS, (minute + 1) * MINUTE_MS
    assert coming == Next(Found.FEED, minute, minute + MOST, True, *whole)
    assert (hot.window.announced(), fed(hot)) == (present(hot), present(hot) - 1)


def test_a_minute_counts_as_fed_once_it_is_called_so(hot: HotWorld) -> None:
    assert look(hot).minute == look(hot).minute == present(hot)
    assert hot.window.done(present(hot), 7)
    assert fed(hot) == present(hot)
    assert look(hot).minute == present(hot) + 1
    assert hot.window.announced() == present(hot) + 1
    assert not look(hot).was_lost


def test_all_is_fed_where_it_fits(hot: HotWorld) -> None:
    assert feed(hot, 1) == present(hot) + MOST
    assert look(hot).found is Found.FULL


def test_what_comes_soon_is_fed_though_it_does_not_fit_and_no_more(hot: HotWorld) -> None:
    assert feed(hot, 10_000) == present(hot) + LEAST


def part(hot: HotWorld) -> int:
    """Return the first moment that need not be held, ms UTC."""
    return now(hot) + WINDOW.least_ms + AHEAD_MS


def test_of_the_last_minute_that_is_always_held_a_part_is_fed_where_it_does_not_fit(hot: HotWorld) -> None:
    hot.clock.sleep(20)
    while (coming := look(hot)).minute < present(hot) + LEAST:
        assert coming.until_ms - coming.since_ms == MINUTE_MS
        hot.window.done(coming.minute, 10_000)
    first = coming.minute * MINUTE_MS
    assert (coming.since_ms, coming.until_ms) == (first, part(hot))
    hot.window.done(coming.minute, 10_000, coming.until_ms)
    assert look(hot).found is Found.FULL
    assert (hot.window.fed_until(), hot.window.announced()) == (coming.until_ms, coming.minute)
    hot.clock.sleep(2)
    more = look(hot, hot.window_elsewhere)
    assert (more.since_ms, more.until_ms) == (coming.until_ms, part(hot))
    hot.window_elsewhere.done(more.minute, 0, more.until_ms)
    hot.clock.sleep(36)
    last = look(hot, hot.window_elsewhere)
    assert (last.since_ms, last.until_ms) == (more.until_ms, first + MINUTE_MS)
    hot.window_elsewhere.done(last.minute, 0, last.until_ms)
    assert fed(hot) == coming.minute
    hot.clock.sleep(2)
    assert look(hot, hot.window_elsewhere).since_ms == first + MINUTE_MS


def test_a_part_that_was_fed_does_not_count_where_redis_may_have_lost_it(hot: HotWorld) -> None:
    hot.clock.sleep(20)
    feed(hot, 10_000)
    coming = look(hot, from_present=True)
    while coming.found is Found.FEED:
        assert coming.since_ms == coming.minute * MINUTE_MS
        hot.window.done(coming.minute, 10_000, coming.until_ms)
        coming = look(hot)


def test_who_was_overtaken_calls_no_part_fed(hot: HotWorld) -> None:
    hot.load.reserve({present(hot): 10_000})
    for _ in range(LEAST):
        hot.window.done(look(hot).minute, 0)
    coming = look(hot)
    hot.let_feeder_run_out()
    look(hot, hot.window_elsewhere)
    assert not hot.window.done(coming.minute, 0, coming.until_ms)
    assert look(hot, hot.window_elsewhere).since_ms == coming.minute * MINUTE_MS


def test_while_many_are_planned_only_what_is_always_held_is_to_be_added(hot: HotWorld) -> None:
    feed(hot, 1)
    hot.window.narrow(now(hot))
    assert hot.window.announced() == fed(hot) == present(hot) + LEAST
    assert look(hot).found is Found.FULL
    hot.let_narrow_run_out()
    assert look(hot).minute == present(hot) + LEAST + 1


def test_a_minute_that_is_fed_while_many_are_planned_does_not_count_where_it_lies_beyond(
    hot: HotWorld,
) -> None:
    for _ in range(20):
        hot.window.done(look(hot).minute, 1)
    minute = look(hot).minute
    hot.window.narrow(now(hot))
    assert not hot.window.keep(minute)
    assert not hot.window.done(minute, 1)


def test_what_is_not_announced_yet_stays_so_while_many_are_planned(hot: HotWorld) -> None:
    hot.window.narrow(now(hot))
    assert (hot.window.announced(), hot.window.fed_until()) == (None, None)
    assert look(hot).was_lost


def test_as_many_minutes_are_fed_as_fit_and_the_one_that_did_not_fit_is_no_longer_announced(
    hot: HotWorld,
) -> None:
    assert feed(hot, 100) == present(hot) + 10
    assert hot.window.announced() == fed(hot) == present(hot) + 9
    assert look(hot).found is Found.FULL


def test_where_more_is_planned_than_fits_adders_are_told_to_add_less(hot: HotWorld) -> None:
    feed(hot, 1)
    hot.load.reserve({present(hot) + 20: 2_000})
    assert look(hot).found is Found.FULL
    assert (hot.window.announced(), fed(hot)) == (present(hot) + 19, present(hot) + 19)


def test_what_was_told_to_be_added_less_is_fed_once_its_time_has_come(hot: HotWorld) -> None:
    feed(hot, 1)
    hot.load.reserve({present(hot) + 20: 2_000})
    look(hot)
    hot.clock.sleep(16 * 60)
    assert look(hot).minute == present(hot) + 4


def test_a_minute_that_no_longer_fits_while_it_is_fed_does_not_count(hot: HotWorld) -> None:
    for _ in range(20):
        hot.window.done(look(hot).minute, 1)
    minute = look(hot).minute
    hot.load.reserve({minute - 5: 2_000})
    look(hot)
    assert not hot.window.keep(minute)
    assert not hot.window.done(minute, 1)


def test_a_late_feeder_goes_on_at_the_present_minute(hot: HotWorld) -> None:
    feed(hot, 10_000)
    hot.clock.sleep(30 * 60)
    assert look(hot).minute == present(hot)


def test_asked_to_it_begins_at_the_present_minute_again(hot: HotWorld) -> None:
    feed(hot, 1)
    coming = look(hot, from_present=True)
    assert (coming.found, coming.minute) == (Found.FEED, present(hot))
    assert hot.window.announced() == present(hot) + MOST


def test_the_counts_of_minutes_that_have_passed_are_dropped(hot: HotWorld) -> None:
    minute = present(hot)
    hot.load.reserve({minute: 5, minute + 1: 6})
    hot.clock.sleep(60)
    look(hot)
    assert hot.load.reserve({minute: 1, minute + 1: 1}) == {minute: 0, minute + 1: 6}


def test_what_is_found_while_feeding_is_counted_where_it_is_more(hot: HotWorld) -> None:
    minute = look(hot).minute
    hot.load.reserve({minute: 5})
    hot.window.done(minute, 7)
    assert hot.load.reserve({minute: 1}) == {minute: 7}
    look(hot)
    hot.window.done(minute + 1, 3)
    look(hot, from_present=True)
    hot.window.done(minute, 2)
    assert hot.load.reserve({minute: 1, minute + 1: 1}) == {minute: 8, minute + 1: 3}


def test_a_look_that_is_heard_late_ends_no_feeding_of_the_same_process(hot: HotWorld) -> None:
    feed(hot, 1)
    hot.clock.sleep(60)
    minute = look(hot).minute
    assert look(hot).found is Found.FEED
    assert look(hot, hot.window_elsewhere).found is Found.OTHER
    assert hot.window.keep(minute)


def test_a_look_from_before_that_arrives_late_ends_no_feeding_of_the_same_process(hot: HotWorld) -> None:
    feed(hot, 10_000)
    late, before = copy(hot.window), now(hot)
    hot.clock.sleep(60)
    assert look(hot).found is Found.FEED
    minute = look(hot).minute
    assert late.next(before, from_present=False).found is Found.OTHER
    assert hot.window.announced() == minute
    assert look(hot, hot.window_elsewhere).found is Found.OTHER
    assert hot.window.keep(minute)
    assert hot.window.done(minute, 1)


def test_a_look_from_before_that_arrives_late_ends_no_lease_while_many_are_planned(hot: HotWorld) -> None:
    feed(hot, 1)
    late, before = copy(hot.window), now(hot)
    hot.clock.sleep(60)
    look(hot)
    assert look(hot).found is Found.FEED
    hot.window.narrow(now(hot))
    assert late.next(before, from_present=False).found is Found.OTHER
    assert look(hot, hot.window_elsewhere).found is Found.OTHER


def test_an_end_from_before_that_arrives_late_is_not_that_of_a_minute_that_is_fed_again(
    hot: HotWorld,
) -> None:
    minute = look(hot).minute
    late = copy(hot.window)
    assert look(hot, from_present=True).minute == minute
    assert not late.done(minute, 1)
    assert not late.keep(minute)
    assert hot.window.keep(minute)
    assert fed(hot) == minute - 1


def test_who_finds_nothing_to_feed_leaves_the_next_minute_to_any_feeder(hot: HotWorld) -> None:
    feed(hot, 1)
    assert look(hot).found is Found.FULL
    assert look(hot, hot.window_elsewhere).found is Found.FULL
    hot.clock.sleep(60)
    assert look(hot, hot.window_elsewhere).found is Found.FEED


def test_there_is_one_feeder_until_its_lease_runs_out(hot: HotWorld) -> None:
    minute = look(hot).minute
    assert look(hot, hot.window_elsewhere).found is Found.OTHER
    assert hot.window.keep(minute)
    hot.let_feeder_run_out()
    assert look(hot, hot.window_elsewhere).found is Found.FEED
    assert look(hot).found is Found.OTHER
    hot.let_feeder_run_out()
    assert look(hot).found is Found.FEED


def test_who_was_overtaken_neither_keeps_a_minute_nor_calls_it_fed(hot: HotWorld) -> None:
    minute = look(hot).minute
    hot.let_feeder_run_out()
    assert look(hot, hot.window_elsewhere).minute == minute
    assert not hot.window.keep(minute)
    assert not hot.window.done(minute, 1)
    assert fed(hot) == minute - 1


def test_a_lease_that_ran_out_is_taken_anew_where_no_other_feeder_has_come(hot: HotWorld) -> None:
    minute = look(hot).minute
    hot.let_feeder_run_out()
    assert hot.window.keep(minute)
    assert look(hot, hot.window_elsewhere).found is Found.OTHER
    hot.let_feeder_run_out()
    assert look(hot, hot.window_elsewhere).found is Found.FEED


def test_a_minute_whose_redis_was_lost_does_not_count_as_fed(hot: HotWorld) -> None:
    minute = look(hot).minute
    hot.lose_all()
    assert not hot.window.keep(minute)
    assert not hot.window.done(minute, 1)
    assert hot.window.fed_until() is None


def test_which_minute_was_compared_is_remembered(hot: HotWorld) -> None:
    assert hot.window.compared() == 0
    hot.window.note_compared(29_920_000)
    assert hot.window_elsewhere.compared() == 29_920_000
