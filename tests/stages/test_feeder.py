from collections.abc import Callable

import pytest

from tests.stages.stored_rows import due, stored
from tests.stages.timeline import Killed
from tests.stages.world import Beat, World
from tests.store.members import row_at
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.store.redis.window import AHEAD_MS, FEEDER_LEASE_MS
from wangtimer.window.feeder import TALLIED_AT_ONCE_MS, Feeder

WINDOW_S = 300
LANE = SharedLane("app:shop")


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat never ticks, half an hour old, with no room beyond the least window."""
    world = make_world(executors=0, window_memory_mb=0, window_s=WINDOW_S)
    world.run_for(1_800)
    return world


def feeder_of(world: World) -> Feeder:
    return world.beat.feeder


def end_of_window(world: World) -> int:
    """Return the first moment beyond the window, in which nothing more than need be fits."""
    needed = world.now + WINDOW_S * 1_000
    return min(needed + AHEAD_MS, (needed // MINUTE_MS + 1) * MINUTE_MS)


def test_what_comes_due_within_the_window_is_fed_and_nothing_else(idle: World) -> None:
    last_s = (end_of_window(idle) - 1 - idle.now) / 1_000
    stored(idle, 1, 100, last_s, last_s + 0.001, 7_000)
    assert feeder_of(idle).feed() == 3
    assert due(idle) == {1, 2, 3}
    assert idle.window_marks["fed"] == end_of_window(idle) // MINUTE_MS - 1


def test_the_window_moves_on_minute_by_minute(idle: World) -> None:
    stored(idle, *range(10, 900, 10))
    feeder_of(idle).feed()
    for _ in range(8):
        idle.run_for(60)
        feeder_of(idle).feed()
        ends_at = end_of_window(idle)
        held = {row.timer_id for row in idle.firings.pending_between(0, ends_at - 1, 1_000)}
        assert due(idle) == held


def test_a_full_window_costs_one_look(idle: World) -> None:
    stored(idle, 100)
    feeder_of(idle).feed()
    calls: list[str] = []
    for step in ("window.next", "firings.tallies", "slices.add", "slices.needs_of_same"):
        idle.beat.taps[f"after {step}"] = lambda step=step: calls.append(step)
    assert feeder_of(idle).feed() == 0
    assert calls == ["window.next"]


def test_as_much_as_fits_is_held_beyond_the_least_window(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0, window_memory_mb=1)
    rows = [
        row_at(world.now + minute * MINUTE_MS, number) for minute in range(60) for number in range(1, 1_001)
    ]
    world.firings.insert(rows)
    feeder_of(world).feed()
    fits = 1_000_000 // 150
    assert fits - 1_000 <= world.members_in_slices <= fits + 1_000


def test_where_more_is_planned_than_fits_the_rest_waits_in_sql_until_its_time_has_come(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, window_memory_mb=1)
    feeder_of(world).feed()
    announced = world.window_marks["announced"]
    counts = {world.now // MINUTE_MS + minute: 10_000 for minute in range(100)}
    world.load.reserve(counts)
    feeder_of(world).feed()
    assert world.window_marks["announced"] == (world.now + WINDOW_S * 1_000) // MINUTE_MS < announced
    late = row_at(world.now + 30 * MINUTE_MS, 7)
    world.firings.insert([late])
    world.beat.hot.add([late])
    assert due(world) == set()
    world.run_for(26 * 60)
    feeder_of(world).feed()
    assert due(world) == {7}


def test_what_is_added_while_its_minute_is_read_is_added_by_one_of_the_two(idle: World) -> None:
    (first,) = stored(idle, 200)
    late = row_at(first.fire_at + 1, 9, bucket=1)

    parts_read = 0

    def add_late() -> None:
        """Add it once the last part of its minute is tallied: the feeder will not find it any more."""
        nonlocal parts_read
        if idle.window_marks["announced"] == first.slice.minute:
            parts_read += 1
            if parts_read == MINUTE_MS // TALLIED_AT_ONCE_MS:
                idle.firings.insert([late])
                idle.beat.hot.add([late])

    idle.beat.taps["after firings.tallies"] = add_late
    feeder_of(idle).feed()
    assert due(idle) == {1, 9}


def test_a_minute_that_was_fed_half_way_is_fed_again(idle: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.window.feeder.PAGE", 2)
    stored(idle, *(200 + number for number in range(9)))
    idle.beat.die_at("after slices.add")
    with pytest.raises(Killed):
        feeder_of(idle).feed()
    assert len(due(idle)) == 2
    idle.run_for(FEEDER_LEASE_MS / 1_000 + 1)
    assert Beat(idle).feeder.feed() >= 7
    assert due(idle) == set(range(1, 10))


@pytest.mark.parametrize("slow_s", [4, 20])
def test_a_minute_is_fed_however_long_its_tallies_take(idle: World, slow_s: int) -> None:
    """Six tallies a minute, and a lease of 15 s."""
    (row,) = stored(idle, 250)
    slow: list[int] = []
    others: list[int] = []

    def be_slow() -> None:
        if len(slow) < 6:
            slow.append(slow_s)
            idle.run_for(slow_s)
            if slow_s * 1_000 < FEEDER_LEASE_MS:
                others.append(Beat(idle).feeder.feed())

    idle.beat.taps["after firings.tallies"] = be_slow
    minute = idle.now // MINUTE_MS
    seen: list[int] = []
    idle.beat.taps["before window.next"] = lambda: seen.append(idle.window_marks.get("fed", 0))
    feeder_of(idle).feed()
    assert seen[1] == minute
    assert due(idle) == {row.timer_id}
    assert not any(others)


def test_the_lease_is_kept_however_long_redis_takes_to_tally_a_minute(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that two feeders took a very full minute from each other, and neither came to its end."""
    monkeypatch.setattr("wangtimer.window.feeder.COMPARED_AT_ONCE", 1)
    idle.firings.insert([row_at(idle.now + 250_000, number, bucket=number) for number in range(1, 7)])
    raise_same, others = idle.beat.hot.raise_same, []

    def be_slow(tallies: dict[Slice, Tally]) -> set[Slice]:
        for _ in tallies:
            idle.run_for(4)
            others.append(Beat(idle).feeder.feed())
        return raise_same(tallies)

    monkeypatch.setattr(feeder_of(idle).hot, "raise_same", be_slow)
    assert feeder_of(idle).feed() == 6
    assert others == [0] * 6


def test_one_feeds_at_a_time(idle: World) -> None:
    stored(idle, 100)
    others: list[int] = []
    idle.beat.taps["before slices.add"] = lambda: others.append(Beat(idle).feeder.feed())
    assert feeder_of(idle).feed() == 1
    assert others == [0]
    assert Beat(idle).feeder.feed() == 0


def test_flaw_14_a_minute_does_not_count_as_fed_when_redis_was_lost_meanwhile(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.window.feeder.PAGE", 2)
    stored(idle, *(200 + number for number in range(9)))
    lost: list[bool] = []

    def lose() -> None:
        if len(lost) < 3:
            lost.append(True)
            idle.redis.lose()

    idle.beat.taps["after slices.add"] = lose
    feeder_of(idle).feed()
    assert due(idle) == set(range(1, 10))


def test_a_lost_redis_is_fed_again_from_the_present_minute_on_with_its_definitions(idle: World) -> None:
    timer = idle.timer("* * * * *")
    idle.beat.migrator.plan_due()
    feeder_of(idle).feed()
    held = idle.members_in_slices
    idle.redis.lose()
    assert feeder_of(idle).feed() == held
    assert idle.members_in_slices == held
    assert len(idle.redis.table("agenda")) == held
    assert set(idle.definitions.get([timer.id]).definitions) == {timer.id}


def test_after_a_reconnect_what_slices_lost_while_the_marks_stayed_is_fed_again(idle: World) -> None:
    stored(idle, 100, 200, 290)
    feeder_of(idle).feed()
    idle.redis.lose("slices", "agenda")
    assert feeder_of(idle).feed() == 0
    idle.redis.away = True
    idle.redis.away = False
    assert feeder_of(idle).feed() == 3
    assert due(idle) == {1, 2, 3}


def test_what_lies_before_the_present_minute_is_left_to_the_sweep(idle: World) -> None:
    stored(idle, -200, -100)
    assert feeder_of(idle).feed() == 0


def test_what_redis_holds_is_neither_read_nor_sent_again(idle: World) -> None:
    rows = [row_at(idle.now + 90_000 + number, number, bucket=number % 3) for number in range(1, 10)]
    idle.firings.insert(rows)
    idle.beat.hot.add([row for row in rows if row.timer_id != 7])
    idle.run_for(20)
    added: list[int] = []
    idle.beat.taps["after slices.add"] = lambda: added.append(1)
    assert feeder_of(idle).compare() == 3
    assert (due(idle), len(added)) == (set(range(1, 10)), 1)


def test_what_is_due_by_now_is_not_for_the_comparison_to_add(idle: World) -> None:
    """Whoever made it may be about to arm it; what a repair adds waits for a lease."""
    idle.run_for(5 - idle.now / 1_000 % 60 if idle.now / 1_000 % 60 < 5 else 65 - idle.now / 1_000 % 60)
    just_made, coming = row_at(idle.now), row_at(idle.now + 2_000)
    idle.firings.insert([just_made, coming])
    assert feeder_of(idle).compare() == 1
    sets = idle.redis.table("slices")[coming.slice]
    assert (sets.holds(coming.member), sets.holds(just_made.member)) == (True, False)


def test_the_coming_minute_is_compared_once_from_45_seconds_before_it_on(idle: World) -> None:
    idle.run_to((idle.now // MINUTE_MS + 1) * MINUTE_MS)
    assert feeder_of(idle).compare() == 0
    stored(idle, 30, 59.999, 60, 90, 119.999, 120)
    idle.run_for(14)
    assert feeder_of(idle).compare() == 0
    idle.run_for(1)
    assert feeder_of(idle).compare() == 3
    assert due(idle) == {3, 4, 5}
    idle.redis.lose("slices")
    assert feeder_of(idle).compare() == 0


def test_comparing_is_repeated_until_it_has_succeeded(idle: World) -> None:
    idle.run_to((idle.now // MINUTE_MS + 1) * MINUTE_MS + 16_000)
    stored(idle, 50)
    idle.sql.away = True
    with pytest.raises(StoreAway):
        feeder_of(idle).compare()
    idle.sql.away = False
    assert feeder_of(idle).compare() == 1
    assert feeder_of(idle).compare() == 0


def test_flaw_1_what_is_all_there_is_put_back_on_the_agenda_before_its_minute(idle: World) -> None:
    (coming,) = stored(idle, 90)
    idle.beat.hot.add([coming])
    idle.redis.lose("agenda")
    idle.run_for(20)
    assert feeder_of(idle).compare() == 0
    assert set(idle.redis.table("agenda")) == {coming.slice}


def test_what_waits_in_lanes_is_brought_on_from_where_a_slow_statement_stopped_it(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.window.feeder.PAGE", 2)
    rows = [row._replace(lane=LANE.key) for row in map(row_at, range(idle.now - 60_000, idle.now - 59_990))]
    idle.firings.insert(rows)
    feeder_of(idle).feed()
    idle.redis.lose()
    pages = [0]
    pending_between = idle.firings.pending_between

    def slow_after_two(*what: object, **how: object) -> list[Firing]:
        pages[0] += how["in_lanes"] is True
        if pages[0] % 3 == 0:
            raise StoreAway("SQL", "too slow")
        return pending_between(*what, **how)

    monkeypatch.setattr(idle.firings, "pending_between", slow_after_two)
    for _ in range(2):
        pages[0] = 0
        with pytest.raises(StoreAway):
            feeder_of(idle).feed()
    pages[0] = 0
    feeder_of(idle).feed()
    assert set(idle.redis.table("slices")[LANE].due) == {row.member for row in rows}
