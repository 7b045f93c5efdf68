from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.buckets import buckets
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan, count_by_minute, firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.timers.timer import Definition, Notify, Timer, TimerStatus

# The first millisecond of an hour, in January 2027.
START_MS = 1_800_000_000_000
HOUR_MS = 3_600_000

SCHEDULES = st.sampled_from(
    [
        Cron.parse("* * * * * *"),
        Cron.parse("*/7 * * * * *"),
        Cron.parse("5,15,25,35,45,55 * * * *"),
        Cron.parse("30 2 * * *", "Europe/Berlin"),
        Once(START_MS + 1),
        Once(START_MS + HOUR_MS),
    ]
)


def timer_of(schedule: Schedule, timer_id: int = 1, planned_until: int = START_MS) -> Timer:
    definition = Definition(timer_id, "shop", 1, TimerStatus.ENABLED, schedule, Notify("http://shop.test"))
    return Timer(definition, "name", planned_until, None, START_MS, START_MS)


def plan_of(timer_id: int, *moments: int) -> Plan:
    return Plan(timer_of(Once(0), timer_id), moments, START_MS, None)


@given(SCHEDULES, st.lists(st.tuples(st.integers(-HOUR_MS, HOUR_MS), st.integers(1, 700)), max_size=8))
def test_however_planning_is_cut_up_every_moment_is_planned_once_and_in_order(
    schedule: Schedule, cuts: list[tuple[int, int]]
) -> None:
    timer, until, planned = timer_of(schedule), START_MS, []
    for step_ms, most in cuts:
        until += step_ms
        made = plan(timer, until, most)
        planned += made.moments
        timer = timer.planned_from(made.planned_until)
    assert planned == schedule.moments(START_MS, timer.planned_until, 1_000_000)


@given(SCHEDULES, st.integers(-HOUR_MS, HOUR_MS), st.integers(1, 700))
def test_planning_never_goes_back_and_never_past_what_was_asked(
    schedule: Schedule, step_ms: int, most: int
) -> None:
    made = plan(timer_of(schedule), START_MS + step_ms, most)
    assert START_MS <= made.planned_until <= max(START_MS, START_MS + step_ms)
    assert len(made.moments) <= most


def test_what_the_cap_leaves_over_is_known_to_come_next() -> None:
    made = plan(timer_of(Cron.parse("* * * * * *")), START_MS + HOUR_MS, most=10)
    assert made.planned_until == made.moments[-1] == START_MS + 10_000
    assert made.next_fire_at == START_MS + 11_000


def test_a_plan_that_reaches_its_end_needs_no_planning_before_the_next_moment_behind_it() -> None:
    made = plan(timer_of(Cron.parse("0 * * * *")), START_MS + HOUR_MS + 1, most=10)
    assert made.moments == (START_MS + HOUR_MS,)
    assert made.planned_until == START_MS + HOUR_MS + 1
    assert made.next_fire_at == START_MS + 2 * HOUR_MS


def test_a_single_moment_leaves_nothing_to_plan() -> None:
    assert plan(timer_of(Once(START_MS + 5)), START_MS + 10, most=10).next_fire_at is None


def test_the_end_of_a_window_belongs_to_it_and_its_start_to_the_one_before() -> None:
    every_minute = timer_of(Cron.parse("* * * * *"))
    first = plan(every_minute, START_MS + MINUTE_MS, most=10)
    second = plan(every_minute.planned_from(first.planned_until), START_MS + 2 * MINUTE_MS, most=10)
    assert first.moments == (START_MS + MINUTE_MS,)
    assert second.moments == (START_MS + 2 * MINUTE_MS,)


def test_firings_are_sorted_by_moment_then_timer_so_that_transactions_do_not_lock_each_other_out() -> None:
    plans = [plan_of(2, START_MS, START_MS + 5), plan_of(1, START_MS, START_MS + 9)]
    keys = [(one.fire_at, one.timer_id) for one in firings_of(plans, {}, buckets(10, 4))]
    assert keys == [(START_MS, 1), (START_MS, 2), (START_MS + 5, 2), (START_MS + 9, 1)]


def test_a_firing_is_planned_pending_due_at_its_own_moment_as_first_attempt() -> None:
    (firing,) = firings_of([plan_of(7, START_MS)], {}, buckets(10, 4))
    assert firing == Firing.planned(7, START_MS, 0)
    assert (firing.due_at, firing.attempt) == (START_MS, 1)


def test_firings_are_counted_by_their_minute() -> None:
    plans = [plan_of(1, START_MS, START_MS + MINUTE_MS - 1), plan_of(2, START_MS, START_MS + MINUTE_MS)]
    minute = START_MS // MINUTE_MS
    assert count_by_minute(plans) == {minute: 3, minute + 1: 1}


def test_firings_go_round_the_buckets_their_minute_has_from_where_the_earlier_plans_left_off() -> None:
    plans = [plan_of(timer_id, START_MS) for timer_id in range(1, 7)]
    firings = firings_of(plans, {START_MS // MINUTE_MS: 9}, buckets(5, 4))
    assert [firing.bucket for firing in firings] == [0, 1, 2, 0, 1, 2]


def test_what_is_due_together_is_spread_over_the_buckets_though_every_timer_has_the_same_moments() -> None:
    moments = [START_MS + second * 1_000 for second in range(60)]
    plans = [plan_of(timer_id, *moments) for timer_id in range(1, 31)]
    firings = firings_of(plans, {}, buckets(180, 16))
    buckets_at = {at: [one.bucket for one in firings if one.fire_at == at] for at in moments}
    assert all(sorted(buckets) == sorted([*range(10)] * 3) for buckets in buckets_at.values())


@given(st.lists(st.integers(START_MS, START_MS + 3 * MINUTE_MS), max_size=60), st.integers(1, 9))
def test_buckets_are_filled_evenly_and_none_beyond_its_share(moments: list[int], share: int) -> None:
    plans = [plan_of(number, moment) for number, moment in enumerate(moments)]
    firings = firings_of(plans, {}, buckets(share, 1_000))
    filled = Counter((one.slice.minute, one.bucket) for one in firings)
    assert filled.total() == len(moments)
    for minute in {moment // MINUTE_MS for moment in moments}:
        shares = [number for (of_minute, _), number in filled.items() if of_minute == minute]
        assert max(shares) <= share
        assert max(shares) - min(shares) <= 1
