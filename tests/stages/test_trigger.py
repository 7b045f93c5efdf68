from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.stages.timeline import Killed
from tests.stages.world import World
from tests.store.members import many_due_at, row_at
from wangtimer.core.flow.firing import Chunk, DueMember, Firing
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.slices import BacklogRoom
from wangtimer.window.trigger import chunks_of

LEAD_MS, TURN_MS = 1_000, 500

# Of 2,000 a second, as `WANGTIMER_CATCH_UP_PER_S`.
CATCH_UP_A_TURN = 250


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    """A deployment that only arms, and only where the test says so; Redis has long been there."""
    world = make_world(executors=0)
    world.run_for(15)
    return world


def planned(world: World, *seconds: float, bucket: int = 0) -> list[Firing]:
    """Plan firings so many seconds from now, each of a timer of its own, and add them to their slices."""
    rows = [
        row_at(world.now + int(second * 1_000), timer_id, bucket)
        for timer_id, second in enumerate(seconds, 1)
    ]
    world.firings.insert(rows)
    world.beat.hot.add(rows)
    return rows


def watch(world: World, slice_: Slice, credit: int = 1_000, token: str = "mine") -> None:
    """Watch a slice until the trigger lets it go."""
    world.trigger_nodes[0].trigger.watch(slice_, token, credit)


def finish_at_once(world: World) -> list[tuple[int, DueMember]]:
    """Stand in for executors that finish a chunk the moment it is sent; return what will be armed, and when."""
    armed: list[tuple[int, DueMember]] = []

    def finish(chunk: Chunk) -> list[Chunk]:
        armed.extend((world.now, due) for due in chunk.members)
        members = [due.member for due in chunk.members]
        world.slices.claim(chunk.slice, "claim", members)
        world.slices.release({(chunk.slice, "claim"): members})
        return []

    world.chunk_road = finish
    return armed


def sets_of(world: World, slice_: Slice) -> tuple[int, int, int]:
    sets = world.redis.table("slices")[slice_]
    return len(sets.due), len(sets.armed), len(sets.running)


def test_firings_are_armed_at_most_a_lead_and_at_least_a_lead_less_a_turn_ahead(lone: World) -> None:
    rows = planned(lone, 1.2, 1.9, 3.0, 3.001, 4.7, 7.4, 9.999)
    armed = finish_at_once(lone)
    watch(lone, rows[0].slice)
    assert [due.member for _, due in armed] == [row.member for row in rows]
    ahead = [due.due_at - at for at, due in armed]
    assert LEAD_MS - TURN_MS - 20 <= min(ahead) <= max(ahead) <= LEAD_MS


def test_slices_begun_together_turn_one_after_another_and_not_at_a_full_second(lone: World) -> None:
    sent: dict[int, list[int]] = {bucket: [] for bucket in range(8)}

    def note(chunk: Chunk) -> list[Chunk]:
        sent[chunk.slice.bucket].append(lone.now)
        return []

    lone.chunk_road = note
    for bucket in sent:
        rows = planned(lone, *(number / 20 for number in range(20, 200)), bucket=bucket)
        lone.time.spawn(lone.trigger_nodes[0].process, lambda slice_=rows[0].slice: watch(lone, slice_))
    lone.run_for(8)
    steady = {bucket: times[3:] for bucket, times in sent.items()}
    for times in steady.values():
        assert {later - earlier for earlier, later in pairwise(times)} == {TURN_MS}
    places = sorted(times[0] % TURN_MS for times in steady.values())
    assert places[0] >= 0.4 * TURN_MS
    assert min(later - earlier for earlier, later in pairwise(places)) >= 10


def test_what_is_armed_together_is_sent_in_chunks_of_limited_size_in_due_order(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, chunk_size=4)
    rows = planned(world, *(0.1 + number / 100 for number in range(10)))
    armed = finish_at_once(world)
    watch(world, rows[0].slice)
    assert [len(chunk.members) for chunk in world.chunks] == [4, 4, 2]
    assert [due.due_at for _, due in armed] == [row.due_at for row in rows]


def test_nothing_armed_makes_no_chunk() -> None:
    slice_ = Slice(1, 0)
    assert chunks_of(slice_, (), 10) == []
    members = tuple(many_due_at(60_000, 5))
    assert [len(chunk.members) for chunk in chunks_of(slice_, members, 5)] == [5]


def test_a_crowd_has_chunks_of_its_own_behind_the_others() -> None:
    before, crowd, after = (
        many_due_at(moment, number) for moment, number in ((60_000, 3), (60_100, 10), (60_200, 2))
    )
    chunks = chunks_of(Slice(1, 0), (*before, *crowd, *after), 4)
    moments = [[due.due_at for due in chunk.members] for chunk in chunks]
    assert moments == [[60_000] * 3 + [60_200], [60_200], [60_100] * 4, [60_100] * 4, [60_100] * 2]


def test_a_trigger_whose_slice_is_another_s_ends_at_once_and_arms_nothing(lone: World) -> None:
    rows = planned(lone, 0.5)
    lone.slices.lock({rows[0].slice: "another"})
    watch(lone, rows[0].slice)
    assert lone.chunks == []
    assert rows[0].slice in lone.redis.table("agenda")


def test_a_token_that_was_let_go_may_be_taken_by_the_late_message_of_its_trigger(lone: World) -> None:
    rows = planned(lone, 0.5)
    lone.slices.lock({rows[0].slice: "mine"})
    lone.run_for(6)
    finish_at_once(lone)
    watch(lone, rows[0].slice)
    assert len(lone.chunks) == 1


def test_no_more_stand_armed_than_the_credit_says(lone: World) -> None:
    rows = planned(lone, *[0.5] * 10)
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, rows[0].slice, credit=3))
    lone.run_for(2)
    assert sets_of(lone, rows[0].slice) == (7, 3, 0)
    members = [due.member for due in lone.chunks[0].members]
    lone.slices.claim(rows[0].slice, "claim", members)
    lone.slices.release({(rows[0].slice, "claim"): members})
    lone.run_for(1)
    assert sets_of(lone, rows[0].slice) == (4, 3, 0)


def test_a_minute_long_past_is_worked_off_at_a_bounded_rate(lone: World) -> None:
    minutes_ago = -180.0
    rows = planned(lone, *(minutes_ago + number / 1_000 for number in range(4 * CATCH_UP_A_TURN)))
    armed = finish_at_once(lone)
    started_at = lone.now
    watch(lone, rows[0].slice)
    turns = sorted({at - started_at for at, _ in armed})
    assert turns == [0, TURN_MS, 2 * TURN_MS, 3 * TURN_MS]
    assert Counter(at - started_at for at, _ in armed) == dict.fromkeys(turns, CATCH_UP_A_TURN)


def test_running_firings_take_no_credit_so_that_a_slow_target_does_not_hold_up_its_slice(
    lone: World,
) -> None:
    rows = planned(lone, 0.5, 1.6, 2.7, 3.8)

    def claim(chunk: Chunk) -> list[Chunk]:
        lone.slices.claim(chunk.slice, "claim", [due.member for due in chunk.members])
        return []

    lone.chunk_road = claim
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, rows[0].slice, credit=1))
    lone.run_for(4)
    assert len(lone.chunks) == 4


def test_a_slice_takes_the_credit_that_others_of_its_minute_leave(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0, arm_credit=80)
    world.run_for(15)
    crowded = planned(world, *[0.5] * 100)[0].slice
    (idle,) = planned(world, 3.5, bucket=1)
    node = world.trigger_nodes[0]
    for slice_ in (idle.slice, crowded):
        world.time.spawn(node.process, lambda slice_=slice_: watch(world, slice_, credit=40))
    world.run_for(1)
    # All but what a crowd leaves to what comes after it.
    assert sets_of(world, crowded) == (30, 70, 0)
    assert sets_of(world, idle.slice) == (1, 0, 0)


def test_a_backlog_is_sent_in_chunks_that_are_full(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0, chunk_size=10)
    world.run_for(15)
    slice_ = planned(world, *(-2 + number / 1_000 for number in range(100)))[0].slice
    running: list[DueMember] = []

    def claim(chunk: Chunk) -> list[Chunk]:
        world.slices.claim(slice_, "claim", [due.member for due in chunk.members])
        running.extend(chunk.members)
        return []

    def finish_one() -> None:
        if running:
            world.slices.release({(slice_, "claim"): [running.pop(0).member]})

    world.chunk_road = claim
    world.time.every(world.trigger_nodes[0].process, 0.05, finish_one)
    world.time.spawn(world.trigger_nodes[0].process, lambda: watch(world, slice_, credit=30))
    world.run_for(10)
    sizes = [len(chunk.members) for chunk in world.chunks]
    assert sum(sizes) == 100
    assert sizes[:-1] == [10] * 9


def test_slow_targets_do_not_hold_up_the_backlog_of_their_slice(lone: World) -> None:
    slice_ = planned(lone, *(-2 + number / 1_000 for number in range(50)))[0].slice
    armed: list[tuple[int, int]] = []

    def claim(chunk: Chunk) -> list[Chunk]:
        lone.slices.claim(slice_, "claim", [due.member for due in chunk.members])
        armed.append((lone.now, len(chunk.members)))
        return []

    lone.chunk_road = claim
    started_at = lone.now
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, slice_, credit=20))
    lone.run_for(4.5)
    assert [(at - started_at, number) for at, number in armed] == [
        (0, 20),
        (1_000, 2),
        (2_000, 2),
        (3_000, 2),
        (4_000, 2),
    ]


def test_where_slow_targets_hold_part_of_the_credit_a_backlog_has_the_rest_within_a_second(
    lone: World,
) -> None:
    slice_ = planned(lone, *(-2 + number / 1_000 for number in range(50)))[0].slice
    armed: list[tuple[int, int]] = []

    def claim(chunk: Chunk) -> list[Chunk]:
        members = [due.member for due in chunk.members]
        lone.slices.claim(slice_, "claim", members)
        if armed:
            lone.slices.release({(slice_, "claim"): members})
        else:
            lone.slices.release({(slice_, "claim"): members[:7]})
        armed.append((lone.now, len(members)))
        return []

    lone.chunk_road = claim
    started_at = lone.now
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, slice_, credit=20))
    lone.run_for(2.5)
    assert [(at - started_at, number) for at, number in armed] == [(0, 20), (1_000, 7), (2_000, 7)]


def test_nothing_is_armed_while_the_callback_queue_is_long(lone: World) -> None:
    rows = planned(lone, 0.5, 2.0)
    lone.waiting_chunks.extend([Chunk(rows[0].slice, ())] * (lone.settings.callback_queue_most + 1))
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, rows[0].slice))
    lone.run_for(10)
    assert lone.chunks == []
    assert sets_of(lone, rows[0].slice) == (2, 0, 0)
    lone.waiting_chunks.popleft()
    lone.run_for(1)
    assert sum(len(chunk.members) for chunk in lone.chunks) == 2


def test_a_slice_with_nothing_near_is_closed_at_once_and_noted_for_its_next_need(lone: World) -> None:
    rows = planned(lone, 4.1, 30)
    started_at = lone.now
    watch(lone, rows[0].slice)
    assert lone.now == started_at
    assert lone.redis.table("agenda") == {rows[0].slice: rows[0].due_at - LEAD_MS}
    assert lone.slices.lock({rows[0].slice: "next"})


def test_a_slice_with_something_near_is_kept_open(lone: World) -> None:
    rows = planned(lone, 3.9)
    armed = finish_at_once(lone)
    watch(lone, rows[0].slice)
    assert len(armed) == 1


def test_a_slice_with_something_armed_that_nobody_claimed_is_kept_open(lone: World) -> None:
    rows = planned(lone, 0.5)
    node = lone.trigger_nodes[0]
    lone.time.spawn(node.process, lambda: watch(lone, rows[0].slice))
    lone.run_for(7)
    assert lone.held_threads == 1


def test_an_empty_slice_is_struck_off_the_agenda(lone: World) -> None:
    rows = planned(lone, 0.5)
    finish_at_once(lone)
    watch(lone, rows[0].slice)
    assert lone.redis.table("agenda") == {}


def test_an_idle_slice_holds_no_thread(world: World) -> None:
    timer = world.timer("0 * * * * *")
    world.run_for(60)
    held = []
    for _ in range(120):
        world.run_for(0.5)
        held.append(world.held_threads)
    assert len(world.target.of(timer.id)) == 2
    assert held.count(0) > 110


def test_running_firings_hold_a_slice_open_for_two_seconds_and_then_only_the_agenda_watches_them(
    lone: World,
) -> None:
    rows = planned(lone, 0.5)

    def claim(chunk: Chunk) -> list[Chunk]:
        lone.slices.claim(chunk.slice, "claim", [due.member for due in chunk.members])
        return []

    lone.chunk_road = claim
    started_at = lone.now
    watch(lone, rows[0].slice)
    assert 2_000 <= lone.now - started_at <= 2_600
    assert lone.redis.table("agenda") == {rows[0].slice: started_at + 6_000}


@pytest.mark.parametrize(
    "point",
    [
        "before agenda.begin_closing",
        "after agenda.begin_closing",
        "before slices.next_need",
        "after slices.next_need",
        "before agenda.finish_closing",
        "after agenda.finish_closing",
    ],
)
def test_flaw_1_what_is_added_while_a_slice_closes_is_not_lost(lone: World, point: str) -> None:
    slice_ = planned(lone, 0.5)[0].slice
    finish_at_once(lone)
    added: list[Firing] = []
    lone.trigger_nodes[0].taps[point] = lambda: added.extend(added or planned(lone, 20))
    watch(lone, slice_)
    assert lone.redis.table("agenda")[slice_] <= added[0].due_at - LEAD_MS


def test_flaw_1_a_trigger_that_dies_while_it_closes_leaves_an_entry(lone: World) -> None:
    rows = planned(lone, 40)
    node = lone.trigger_nodes[0]
    node.die_at("after agenda.begin_closing")
    with pytest.raises(Killed):
        watch(lone, rows[0].slice)
    assert lone.redis.table("agenda")[rows[0].slice] <= lone.now + 10_000


def test_flaw_1_an_adder_that_dies_before_it_reached_the_agenda_is_made_up_for_by_the_sweep(
    world: World,
) -> None:
    world.api.die_at("before agenda.add")
    timer = world.created("* * * * * *")
    with pytest.raises(Killed):
        world.registrar.enable("shop", timer.id)
    assert world.members_in_slices > 0
    assert world.redis.table("agenda") == {}
    world.run_for(60)
    assert sorted(world.target.moments(timer.id))[0] == world.records(timer)[0].firing.fire_at
    assert max(arrival.late_ms for arrival in world.target.of(timer.id)) < 13_000
    assert len(world.target.of(timer.id)) >= 58


def test_flaw_18_adding_a_later_firing_does_not_put_its_slice_off(lone: World) -> None:
    rows = planned(lone, 12)
    planned(lone, 40)
    assert lone.redis.table("agenda") == {rows[0].slice: rows[0].due_at - LEAD_MS}


def test_a_trigger_asked_to_end_gives_its_slice_back(lone: World) -> None:
    rows = planned(lone, 0.5, 2)
    node = lone.trigger_nodes[0]
    node.trigger = replace(node.trigger, is_stopping=lambda: bool(lone.chunks))
    watch(lone, rows[0].slice)
    assert len(lone.chunks) == 1
    assert lone.slices.lock({rows[0].slice: "next"})
    assert rows[0].slice in lone.redis.table("agenda")


def test_a_trigger_waits_for_redis_to_come_back(lone: World) -> None:
    rows = planned(lone, 2, 9)
    armed = finish_at_once(lone)
    lone.time.at(lone.now + 2_500, lone.beat.process, lambda: setattr(lone.redis, "away", True))
    lone.time.at(lone.now + 7_000, lone.beat.process, lambda: setattr(lone.redis, "away", False))
    planned(lone, 4, 5, 6, 7, 8)
    watch(lone, rows[0].slice)
    assert {due.member.fire_at for _, due in armed} == {
        rows[0].fire_at + second * 1_000 for second in (0, 2, 3, 4, 5, 6, 7)
    }


def test_what_a_turn_armed_whose_answer_was_lost_is_sent_by_the_next(lone: World) -> None:
    """Else it would stand there until its lease runs out."""
    rows = planned(lone, 0.5)
    armed = finish_at_once(lone)
    lone.redis.loses_answers = True
    lone.time.at(lone.now + 100, lone.beat.process, lambda: setattr(lone.redis, "loses_answers", False))
    watch(lone, rows[0].slice)
    assert [due for _, due in armed] == [DueMember(rows[0].member, rows[0].fire_at)]
    assert armed[0][0] < rows[0].fire_at


def test_a_trigger_gives_up_a_redis_that_stays_away(lone: World) -> None:
    rows = planned(lone, 2)
    lone.redis.away = True
    started_at = lone.now
    watch(lone, rows[0].slice)
    assert 5_000 < lone.now - started_at < 10_000


def test_flaw_12_after_redis_was_away_the_living_renew_before_anything_is_taken_back(lone: World) -> None:
    rows = planned(lone, 0.5)
    slice_ = rows[0].slice
    lone.slices.turn(slice_, "before", 10, False, BacklogRoom())
    lone.slices.claim(slice_, "living", [rows[0].member])
    lone.redis.away = True
    lone.run_for(10)
    lone.redis.away = False
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, slice_))
    lone.run_for(2.4)
    assert sets_of(lone, slice_) == (0, 0, 1)
    assert lone.slices.renew({(slice_, "living"): [rows[0].member]}) == {(slice_, "living"): {rows[0].member}}
    lone.run_for(3)
    assert sets_of(lone, slice_) == (0, 0, 1)


def test_a_lease_that_ran_out_is_armed_again_and_will_be_verified(lone: World) -> None:
    rows = planned(lone, 0.5)
    slice_ = rows[0].slice
    lone.slices.turn(slice_, "before", 10, False, BacklogRoom())
    lone.slices.claim(slice_, "dead", [rows[0].member])
    lone.run_for(7)
    lone.chunk_road = lambda _chunk: []
    lone.time.spawn(lone.trigger_nodes[0].process, lambda: watch(lone, slice_))
    lone.run_for(0.1)
    (taken,) = lone.slices.claim(slice_, "living", [rows[0].member])
    assert taken.is_suspect
    assert lone.slices.renew({(slice_, "dead"): [rows[0].member]}) == {(slice_, "dead"): set()}


def test_a_slice_that_is_empty_at_first_sight_is_loaded_from_sql(lone: World) -> None:
    rows = planned(lone, 2, 3)
    armed = finish_at_once(lone)
    lone.redis.lose("slices")
    watch(lone, rows[0].slice)
    assert [due.member for _, due in armed] == [row.member for row in rows]


def test_a_slice_that_is_lost_while_it_is_watched_is_loaded_from_sql(lone: World) -> None:
    rows = planned(lone, 1, 3, 5)
    armed = finish_at_once(lone)
    lone.time.at(lone.now + 1_500, lone.beat.process, lambda: lone.redis.lose("slices"))
    watch(lone, rows[0].slice)
    # SQL still holds the first as pending, for these executors settle nothing; it may come again.
    assert [due.member for _, due in armed][:3] == [row.member for row in rows]


def test_a_slice_taken_over_from_a_dead_trigger_is_not_taken_for_lost(lone: World) -> None:
    rows = planned(lone, 6)
    lone.slices.turn(rows[0].slice, "dead", 10, False, BacklogRoom())
    lone.run_for(5.1)
    asked: list[int] = []
    lone.trigger_nodes[0].taps["before firings.pending_of"] = lambda: asked.append(1)
    finish_at_once(lone)
    watch(lone, rows[0].slice)
    assert len(lone.chunks) == 1
    assert asked == []


def test_a_slice_that_cannot_be_loaded_because_sql_is_away_is_closed_and_left_to_the_sweep(
    lone: World,
) -> None:
    rows = planned(lone, 2)
    lone.redis.lose("slices")
    lone.sql.away = True
    watch(lone, rows[0].slice)
    assert lone.redis.table("agenda") == {}


def test_what_a_turn_armed_is_sent_though_the_lock_was_gone_before_its_time(lone: World) -> None:
    """A clock of Redis that is put ahead ends the lock; so does a shard that lost it."""
    rows = planned(lone, 2.0, 3.0, 4.0)
    armed = finish_at_once(lone)
    lost = iter([lambda: setattr(lone.redis.table("slices")[rows[0].slice], "token", "")])

    def lose_lock() -> None:
        if lone.now >= rows[0].due_at - LEAD_MS:
            next(lost, lambda: None)()

    lone.trigger_nodes[0].taps["before slices.turn"] = lose_lock
    watch(lone, rows[0].slice)
    assert next(lost, None) is None
    assert [due.member for _, due in armed] == [row.member for row in rows]
    assert all(due.due_at - at >= LEAD_MS - TURN_MS - 20 for at, due in armed)
