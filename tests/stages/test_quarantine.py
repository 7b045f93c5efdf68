from collections.abc import Callable
from threading import Event

import pytest

from tests.stages.test_keeper import Keeping
from tests.stages.world import World
from wangtimer.callback import Call, EngineStopped, PlainCall, Reply, Request
from wangtimer.executor.claim import Held
from wangtimer.executor.quarantine import ALONE_AFTER, LAST_DEATH, Quarantine
from wangtimer.executor.sender import Ready

REPLY = Reply(0.0, 1.0, 204, "", "")


class Ward:
    """A quarantine without its thread, one member two executors died on, and an engine that answers at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.is_safe = True
        self.sent: list[Call] = []
        self.replied = Event()
        keeping = Keeping(world, is_started=False)
        self.claim = keeping.claim(number=1)
        (self.member,) = self.claim.open_members()
        self.sets.deaths[self.member] = ALONE_AFTER
        self.quarantine = Quarantine(world.api.slices, self, world.time, lambda _held: self.is_safe, 5.0)  # type: ignore[arg-type]
        self.quarantine._is_started = True

    @property
    def sets(self):  # type: ignore[no-untyped-def]
        return self.world.redis.table("slices")[self.claim.slice]

    def submit(self, calls: list[Call]) -> None:
        for call in calls:
            self.sent.append(call)
            call.on_reply(call, REPLY)

    def try_it(self) -> None:
        request = Request("http://target/", "POST", (), b"")
        call = PlainCall(request, 0, lambda: True, lambda _: None, lambda _call, _reply: self.replied.set())
        self.quarantine.take(Held(self.claim, self.member), call)
        self.quarantine.try_next()


@pytest.fixture
def ward(make_world: Callable[..., World]) -> Ward:
    return Ward(make_world(executors=0))


def test_one_that_is_surely_held_is_noted_as_tried_alone_and_sent(ward: Ward) -> None:
    ward.try_it()
    assert len(ward.sent) == 1
    assert ward.replied.is_set()
    assert ward.sets.deaths[ward.member] == LAST_DEATH


def test_one_whose_lease_may_be_over_when_its_turn_comes_is_given_back_and_not_blamed(ward: Ward) -> None:
    ward.is_safe = False
    ward.try_it()
    assert ward.sent == []
    assert ward.sets.deaths[ward.member] == ALONE_AFTER
    assert ward.member in ward.sets.due
    assert ward.member in ward.sets.suspect
    assert not ward.claim.holds(ward.member)


def test_one_that_is_anothers_by_then_is_let_go(ward: Ward) -> None:
    ward.sets.owner[ward.member] = "another"
    ward.try_it()
    assert ward.sent == []
    assert ward.sets.deaths[ward.member] == ALONE_AFTER


def test_where_the_engine_has_stopped_nothing_is_tried_alone_either(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put back with the rest of its chunk: sent here too, it would go out twice."""
    node = world.executor_nodes[0]
    keeping = Keeping(world, is_started=False)
    claim = keeping.claim(number=2)
    timer = world.once_in(60)
    ready = [Ready(Held(claim, member), member.fire_at, timer.definition) for member in claim.open_members()]
    node.engine.stop(0)
    sender = node.executor._sender
    set_apart: list[Held] = []
    monkeypatch.setattr(sender._quarantine, "take", lambda held, _call: set_apart.append(held))
    with pytest.raises(EngineStopped):
        sender.send(ready, {ready[0].held.member: ALONE_AFTER})
    assert set_apart == []
