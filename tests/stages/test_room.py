"""Requests take room by their bytes: what finds none goes back, and all of it is called."""

from collections import Counter
from collections.abc import Callable
from threading import Event, Thread

from tests.stages.scripted_target import Answer
from tests.stages.world import World
from wangtimer.core.flow.firing import DueMember, FiringStatus, Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.schedules.schedule import Once
from wangtimer.executor.claim import Claim
from wangtimer.executor.executor import part_of
from wangtimer.executor.room import PART_BYTES, Room
from wangtimer.store.redis.definitions import READ_BYTES, DefinitionsRead

MakeWorld = Callable[..., World]

LATE, ON_TIME = True, False
MEMBERS = [Member(timer_id, 60_000, 1) for timer_id in range(1, 6)]


def test_a_backlog_leaves_half_of_the_room_to_what_is_on_time() -> None:
    room = Room(4 * PART_BYTES, patience_s=0.0)
    assert [room.take(lambda: LATE) for _ in range(3)] == [True, True, False]
    assert [room.take(lambda: ON_TIME) for _ in range(3)] == [True, True, False]


def test_what_is_larger_than_all_the_room_goes_alone() -> None:
    room = Room(PART_BYTES // 2, patience_s=0.0)
    assert room.take(lambda: LATE)
    assert not room.take(lambda: ON_TIME)
    room.give_part()
    assert room.take(lambda: LATE)


def test_who_waits_goes_on_as_soon_as_there_is_room() -> None:
    room, has_room = Room(PART_BYTES, patience_s=60), Event()
    claim = Claim(Slice(1, 0), "claim", MEMBERS, 0.0, 0.0)
    claim.fill(room, {MEMBERS[0]: PART_BYTES})
    Thread(target=lambda: room.take(lambda: ON_TIME) and has_room.set(), daemon=True).start()
    assert not has_room.wait(0.05)
    claim.let_go(MEMBERS[:1])
    assert has_room.wait(5)


def test_a_request_takes_its_bytes_until_it_is_let_go_of_and_gives_them_back_once() -> None:
    room = Room(64_000_000)
    claim = Claim(Slice(1, 0), "claim", MEMBERS, 0.0, 0.0)
    claim.let_go(MEMBERS[:1])
    claim.fill(room, dict.fromkeys(MEMBERS[:3], 100))
    assert room.held == 200
    claim.let_go(MEMBERS[:2])
    claim.let_go(MEMBERS[:2])
    assert room.held == 100
    claim.let_go(MEMBERS)
    assert room.held == 0


def test_a_request_that_is_not_made_takes_no_room_though_its_firing_is_held_until_that_is_recorded() -> None:
    room = Room(64_000_000)
    claim = Claim(Slice(1, 0), "claim", MEMBERS, 0.0, 0.0)
    claim.fill(room, dict.fromkeys(MEMBERS[:3], 100))
    claim.empty(MEMBERS[1:])
    assert room.held == 100
    assert claim.open_members() == MEMBERS
    claim.let_go(MEMBERS)
    assert room.held == 0


def told(sizes: dict[int, int]) -> DefinitionsRead:
    return DefinitionsRead({}, None, sizes)


def test_a_part_ends_where_nothing_was_read_and_where_it_is_full() -> None:
    dues = [DueMember(member, member.fire_at) for member in MEMBERS]
    assert part_of(dues, told({1: 10, 2: 10}))[0] == 2
    assert part_of(dues, told(dict.fromkeys(range(1, 6), READ_BYTES // 2)))[0] == 2
    assert part_of(dues, told(dict.fromkeys(range(1, 6), 2 * READ_BYTES))) == (
        1,
        {MEMBERS[0]: 2 * READ_BYTES},
    )


def test_firings_of_one_timer_count_its_body_each() -> None:
    dues = [DueMember(Member(1, moment, 1), moment) for moment in range(5)]
    assert part_of(dues, told({1: READ_BYTES // 2}))[0] == 2


def test_of_more_than_there_is_room_for_all_is_called_on_its_first_attempt(make_world: MakeWorld) -> None:
    room = Room(2 * PART_BYTES, patience_s=0.0)
    world = make_world(executors=1, room=room)
    world.target.answer = lambda _arrival: Answer(after_ms=2_000)
    world.start()
    moment = world.now + 20_000
    timers = [world.timer(Once(moment), body="x" * 200_000) for _ in range(100)]
    held = []
    for _ in range(1_000):
        world.run_for(0.25)
        held.append(room.held)
    assert max(held) <= 2 * PART_BYTES
    calls = Counter(arrival.timer_id for arrival in world.target.arrivals)
    assert calls == Counter(timer.id for timer in timers)
    assert {status for timer in timers for status in world.statuses(timer)} == {FiringStatus.SUCCEEDED}
    assert {arrival.attempt for arrival in world.target.arrivals} == {1}
    assert room.held == 0
