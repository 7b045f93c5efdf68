from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.callback.calls import PlainCall
from tests.made_requests import ready
from tests.stages.test_keeper import Keeping
from tests.stages.world import World
from wangtimer.callback import Call, EngineStopped, Reply, Request
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.executor.claim import Held
from wangtimer.executor.quarantine import ALONE_AFTER, DIED_ALONE, Quarantine, Quarantined
from wangtimer.executor.ready import Ready

REPLY = Reply(0.0, 1.0, 204, "", "")
LONGEST_S = 5.0
UNSIGNED = AppSigning("shop", 1, False, ())


class Ward:
    """A quarantine without its thread, members of one claim that two executors died on, and an engine that answers.

    It is their clock too.
    """

    def __init__(self, world: World, number: int = 1, hosts: Sequence[str] = ("target",)) -> None:
        self.world = world
        self.hosts = hosts
        self.safe = number
        self.sent: list[Member] = []
        self.replied: list[Member] = []
        self.slow: list[Member] = []
        self.slow_until = 0.0
        keeping = Keeping(world, is_started=False)
        self.claim = keeping.claim(number=number)
        self.members = self.claim.open_members()
        self.sets.deaths.update(dict.fromkeys(self.members, ALONE_AFTER))
        self.quarantine = Quarantine(world.api.slices, self, self, self.is_safe, LONGEST_S)  # type: ignore[arg-type]
        self.quarantine._loop._is_started = True
        self.quarantine.take([Quarantined(Held(self.claim, one), self.call(one)) for one in self.members])

    @property
    def sets(self):  # type: ignore[no-untyped-def]
        return self.world.redis.table("slices")[self.claim.stands_in]

    def died(self, member: Member) -> int:
        """By how many executors it would have been died on, should this one die now."""
        return int(self.sets.apart.get(member, self.sets.deaths[member]))

    def is_safe(self, held: Held) -> bool:
        return held.member in self.members[: self.safe]

    def submit(self, calls: list[Call]) -> None:
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

    def try_so_many(self, number: int) -> None:
        for _ in range(number):
            self.quarantine.try_next()

    def call(self, member: Member) -> Call:
        """Return a call whose outcome is recorded with its answer, unless it is a slow one's."""

        def on_reply(_call: Call, _reply: Reply) -> None:
            self.sent.append(member)
            self.replied.append(member)
            if member not in self.slow:
                self.claim.let_go([member])

        host = self.hosts[self.members.index(member) % len(self.hosts)]
        request = Request(f"http://{host}/", "POST", (), b"")
        return PlainCall(request, 0, lambda: True, lambda _: None, on_reply)


@pytest.fixture
def make_ward(make_world: Callable[..., World]) -> Callable[[int], Ward]:
    return lambda number: Ward(make_world(executors=0), number)


@pytest.fixture
def ward(make_ward: Callable[[int], Ward]) -> Ward:
    return make_ward(1)


def test_one_that_is_surely_held_is_noted_as_tried_alone_and_sent(ward: Ward) -> None:
    ward.try_so_many(1)
    assert ward.sent == ward.members
    assert ward.died(ward.members[0]) == DIED_ALONE


def test_one_whose_lease_may_be_over_when_its_turn_comes_is_given_back_and_not_blamed(ward: Ward) -> None:
    ward.safe = 0
    ward.try_so_many(1)
    assert ward.sent == []
    assert ward.died(ward.members[0]) == ALONE_AFTER
    assert ward.members[0] in ward.sets.due
    assert ward.members[0] in ward.sets.suspect
    assert not ward.claim.holds(ward.members[0])


def test_one_that_is_anothers_by_then_is_let_go(ward: Ward) -> None:
    ward.sets.owner[ward.members[0]] = "another"
    ward.try_so_many(1)
    assert ward.sent == []
    assert ward.died(ward.members[0]) == ALONE_AFTER
    assert not ward.claim.holds(ward.members[0])


def test_one_that_was_let_go_while_it_waited_is_not_tried(ward: Ward) -> None:
    ward.claim.let_go(ward.members)
    ward.try_so_many(1)
    assert ward.sent == []


def test_many_are_tried_one_after_another(make_ward: Callable[[int], Ward]) -> None:
    ward = make_ward(100)
    ward.try_so_many(100)
    assert ward.sent == ward.members


@pytest.mark.parametrize(("slow_s", "waited_s"), [(2.0, 2.0), (60.0, LONGEST_S)])
def test_one_is_recorded_before_the_next_is_sent(
    make_ward: Callable[[int], Ward], slow_s: float, waited_s: float
) -> None:
    """The next may kill this process: only that one is to be blamed, and what was answered is not sent again."""
    ward = make_ward(3)
    began_at = ward.monotonic()
    ward.slow, ward.slow_until = [ward.members[1]], began_at + slow_s
    ward.try_so_many(2)
    assert ward.sent == ward.members[:2]
    assert ward.monotonic() - began_at == pytest.approx(waited_s, abs=0.1)
    assert [ward.died(one) for one in ward.members] == [DIED_ALONE, DIED_ALONE, ALONE_AFTER]


def test_those_of_a_target_that_was_slow_come_behind_all_others(make_world: Callable[..., World]) -> None:
    ward = Ward(make_world(executors=0), 6, ("slow", "quick"))
    ward.slow, ward.slow_until = ward.members[:1], ward.monotonic() + 1
    ward.try_so_many(6)
    assert ward.sent == [ward.members[0], *ward.members[1::2], *ward.members[2::2]]


def test_who_joins_later_comes_before_those_of_a_slow_target_too(make_world: Callable[..., World]) -> None:
    ward = Ward(make_world(executors=0), 6, ("slow", "slow", "slow", "slow", "slow", "quick"))
    ward.slow, ward.slow_until = ward.members[:1], ward.monotonic() + 1
    *first, later = (ward.quarantine._waiting.pop(0) for _ in ward.members)
    ward.quarantine.take(first)
    ward.try_so_many(2)
    ward.quarantine.take([later])
    ward.try_so_many(4)
    assert ward.sent == [*ward.members[:2], ward.members[5], *ward.members[2:5]]


def test_where_redis_does_not_answer_it_has_its_turn_again(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis may have noted it, and left to its lease it would have failed without a call."""
    slices = ward.world.api.slices
    try_apart = slices.try_apart

    def noted_but_unheard(*given: Any) -> Any:
        monkeypatch.setattr(slices, "try_apart", try_apart)
        try_apart(*given)
        raise StoreAway("Redis", "no answer")

    monkeypatch.setattr(slices, "try_apart", noted_but_unheard)
    ward.try_so_many(1)
    assert ward.sent == []
    assert ward.claim.holds(ward.members[0])
    ward.try_so_many(1)
    assert ward.sent == ward.members


def test_who_waits_in_line_does_not_wait_for_the_next_write_of_all(world: World) -> None:
    node = world.executor_nodes[0]
    sender = node.executor._sender
    ready = ready_ones(world, 2)
    attempts = [attempt for one in ready if (attempt := sender._attempt(one)) is not None]
    sender._quarantine.tried = attempts[1].held
    sender.take(attempts[0], REPLY)
    assert not node.settler.loop._woken.is_set()
    sender.take(attempts[1], REPLY)
    assert node.settler.loop._woken.is_set()


def ready_ones(world: World, number: int) -> list[Ready]:
    """Return so many that are held, ready to be sent."""
    claim = Keeping(world, is_started=False).claim(number=number)
    timer = world.once_in(60)
    return [
        ready(Held(claim, member), member.fire_at, timer.definition, 0, UNSIGNED)
        for member in claim.open_members()
    ]


def test_where_the_engine_has_stopped_nothing_is_tried_alone_either(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put back with the rest of its chunk: sent here too, it would go out twice."""
    node = world.executor_nodes[0]
    ready = ready_ones(world, 2)
    node.engine.stop(0)
    sender = node.executor._sender
    set_apart: list[Quarantined] = []
    monkeypatch.setattr(sender._quarantine, "take", lambda quarantined: set_apart.extend(quarantined))
    with pytest.raises(EngineStopped):
        sender.send(ready, {ready[0].held.member: ALONE_AFTER})
    assert set_apart == []
