from collections.abc import Callable
from random import Random

import pytest

from tests.stages.test_keeper import Keeping
from tests.stages.world import World
from wangtimer.callback import Call, EngineStopped, PlainCall, Reply, Request
from wangtimer.core.firing import Member
from wangtimer.executor.claim import Held
from wangtimer.executor.quarantine import (
    APART_AFTER,
    FEW,
    GATHER_S,
    LAST_DEATH,
    Quarantine,
    Suspect,
    deaths_then,
    groups_of,
)
from wangtimer.executor.sender import Ready

REPLY = Reply(0.0, 1.0, 204, "", "")
LONGEST_S = 5.0


class Ward:
    """A quarantine without its thread, members of one claim that two executors died on, and an engine that answers.

    It is their clock too.
    """

    def __init__(self, world: World, number: int = 1) -> None:
        self.world = world
        self.safe = number
        self.sent: list[list[Call]] = []
        self.replied: list[Call] = []
        self.slow: list[Member] = []
        self.slow_until = 0.0
        keeping = Keeping(world, is_started=False)
        self.claim = keeping.claim(number=number)
        self.members = self.claim.open_members()
        self.sets.deaths.update(dict.fromkeys(self.members, APART_AFTER))
        self.quarantine = Quarantine(world.api.slices, self, self, self.is_safe, LONGEST_S)  # type: ignore[arg-type]
        self.quarantine._is_started = True

    @property
    def sets(self):  # type: ignore[no-untyped-def]
        return self.world.redis.table("slices")[self.claim.stands_in]

    @property
    def died(self) -> list[int]:
        """By how many executors each member would have been died on, should this one die now."""
        return [self.sets.apart.get(one, self.sets.deaths[one]) for one in self.members]

    def is_safe(self, held: Held) -> bool:
        return held.member in self.members[: self.safe]

    def submit(self, calls: list[Call]) -> None:
        self.sent.append(calls)
        for call in calls:
            call.on_reply(call, REPLY)

    def now_ms(self) -> float:
        return self.world.time.now_ms()

    def monotonic(self) -> float:
        return self.world.time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let the time pass, and after it have recorded what is slow."""
        self.world.time.sleep(seconds)
        if self.world.time.monotonic() > self.slow_until:
            self.claim.let_go(self.slow)

    def try_them(self) -> None:
        self.quarantine.take(
            [Suspect(Held(self.claim, one), self.call(one), APART_AFTER) for one in self.members]
        )
        self.quarantine.try_all()

    def call(self, member: Member) -> Call:
        """Return a call whose outcome is recorded with its answer, unless it is a slow one's."""

        def on_reply(call: Call, _reply: Reply) -> None:
            self.replied.append(call)
            if member not in self.slow:
                self.claim.let_go([member])

        request = Request("http://target/", "POST", (), b"")
        return PlainCall(request, 0, lambda: True, lambda _: None, on_reply)


@pytest.fixture
def make_ward(make_world: Callable[..., World]) -> Callable[[int], Ward]:
    return lambda number: Ward(make_world(executors=0), number)


@pytest.fixture
def ward(make_ward: Callable[[int], Ward]) -> Ward:
    return make_ward(1)


def test_one_that_is_surely_held_is_noted_as_tried_alone_and_sent(ward: Ward) -> None:
    ward.try_them()
    assert len(ward.sent) == len(ward.replied) == 1
    assert ward.died == [LAST_DEATH]


def test_one_whose_lease_may_be_over_when_its_turn_comes_is_given_back_and_not_blamed(ward: Ward) -> None:
    ward.safe = 0
    ward.try_them()
    assert ward.sent == []
    assert ward.died == [APART_AFTER]
    assert ward.members[0] in ward.sets.due
    assert ward.members[0] in ward.sets.suspect
    assert not ward.claim.holds(ward.members[0])


def test_one_that_is_anothers_by_then_is_let_go(ward: Ward) -> None:
    ward.sets.owner[ward.members[0]] = "another"
    ward.try_them()
    assert ward.sent == []
    assert ward.died == [APART_AFTER]
    assert not ward.claim.holds(ward.members[0])


def test_few_are_tried_one_by_one(make_ward: Callable[[int], Ward]) -> None:
    ward = make_ward(FEW)
    ward.try_them()
    assert [len(calls) for calls in ward.sent] == [1] * FEW
    assert ward.died == [LAST_DEATH] * FEW


def test_many_are_tried_in_groups_none_of_which_is_blamed_for_good(make_ward: Callable[[int], Ward]) -> None:
    ward = make_ward(150)
    ward.try_them()
    assert [len(calls) for calls in ward.sent] == [64, 64, 22]
    assert ward.died == [APART_AFTER + 1] * 150
    assert len(ward.replied) == 150


def test_of_a_group_those_not_surely_held_are_given_back_and_the_others_sent(
    make_ward: Callable[[int], Ward],
) -> None:
    ward = make_ward(70)
    ward.safe = 40
    ward.sets.owner[ward.members[0]] = "another"
    ward.try_them()
    assert [len(calls) for calls in ward.sent] == [39]
    assert set(ward.sets.due) == set(ward.members[40:])
    assert ward.claim.open_members() == []
    assert ward.died == [APART_AFTER] + [APART_AFTER + 1] * 39 + [APART_AFTER] * 30


@pytest.mark.parametrize(("slow_s", "waited_s"), [(2.0, 2.0), (60.0, LONGEST_S)])
def test_a_group_is_recorded_before_the_next_is_sent(
    make_ward: Callable[[int], Ward], slow_s: float, waited_s: float
) -> None:
    """The next may kill this process, and what was answered is not to be sent again for that."""
    ward = make_ward(10)
    began_at = ward.world.time.monotonic()
    ward.slow, ward.slow_until = [ward.members[3]], began_at + GATHER_S + slow_s
    ward.try_them()
    assert [len(calls) for calls in ward.sent] == [8, 2]
    assert ward.world.time.monotonic() - began_at - GATHER_S == pytest.approx(waited_s, abs=0.1)


@pytest.mark.parametrize(
    ("many", "killers", "most"), [(1, 1, 3), (8, 1, 3), (20, 1, 4), (500, 1, 5), (500, 3, 11), (1_000, 9, 29)]
)
def test_who_kills_executors_is_found_in_few_deaths_and_nobody_else_is_blamed(
    ward: Ward, many: int, killers: int, most: int
) -> None:
    """Each kills its executor whenever it is sent."""
    deaths = dict.fromkeys((Member(number, 0, 1) for number in range(many)), APART_AFTER)
    guilty = set(Random(many).sample(list(deaths), killers))
    died, failed = APART_AFTER, set[Member]()
    while deaths:
        suspects = [Suspect(Held(ward.claim, one), ward.call(one), its) for one, its in deaths.items()]
        for group in groups_of(suspects):
            members = {one.held.member for one in group}
            if members & guilty:
                died += 1
                deaths |= dict.fromkeys(members, deaths_then(group))
                break
            for one in members:
                del deaths[one]
        last = {one for one, its in deaths.items() if its >= LAST_DEATH}
        failed |= last
        deaths = {one: its for one, its in deaths.items() if one not in last}
    assert failed == guilty
    assert died <= most


def test_where_the_engine_has_stopped_nothing_is_tried_apart_either(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put back with the rest of its chunk: sent here too, it would go out twice."""
    node = world.executor_nodes[0]
    keeping = Keeping(world, is_started=False)
    claim = keeping.claim(number=2)
    timer = world.once_in(60)
    ready = [
        Ready(Held(claim, member), member.fire_at, timer.definition, 0) for member in claim.open_members()
    ]
    node.engine.stop(0)
    sender = node.executor._sender
    set_apart: list[Suspect] = []
    monkeypatch.setattr(sender._quarantine, "take", lambda suspects: set_apart.extend(suspects))
    with pytest.raises(EngineStopped):
        sender.send(ready, {ready[0].held.member: APART_AFTER})
    assert set_apart == []
