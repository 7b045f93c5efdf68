from collections.abc import Callable

import pytest

from tests.callback.calls import MachineClock
from wangtimer.callback.lookups import Lookups
from wangtimer.callback.resolver import Resolved

MOST_OF_AN_APP = 64
HERE = Resolved(("10.0.0.1",), 20, "")


class FakeClock(MachineClock):
    now = 0.0

    def monotonic(self) -> float:
        return self.now


class FakeResolver:
    """Answers when the test says."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Callable[[Resolved], None]]] = []

    def look_up(self, name: str, on_resolved: Callable[[Resolved], None]) -> None:
        self.asked.append((name, on_resolved))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def answer(self, place: int = 0, found: Resolved = HERE) -> None:
        self.asked.pop(place)[1](found)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.resolver = FakeResolver()
        self.lookups = Lookups(self.clock, self.resolver)
        self.told: list[tuple[tuple[str, ...], str]] = []

    def find(self, name: str, app: str = "a") -> None:
        self.lookups.find(name, app, lambda *found: self.told.append(found))


def test_what_is_known_is_told_at_once_until_it_is_old() -> None:
    world = World()
    world.find("x")
    world.resolver.answer()
    world.clock.now = 19.9
    world.find("x")
    assert world.told == [(("10.0.0.1",), "")] * 2
    assert world.resolver.names == []
    world.clock.now = 20.0
    world.find("x")
    assert world.resolver.names == ["x"]


def test_a_long_time_to_live_is_not_believed_and_a_short_one_not_taken_literally() -> None:
    world = World()
    for ttl_s, fresh_s in ((86_400, 30), (0, 1)):
        world.find(f"x{ttl_s}")
        began = world.clock.now
        world.resolver.answer(found=HERE._replace(ttl_s=ttl_s))
        world.clock.now = began + fresh_s - 0.1
        world.find(f"x{ttl_s}")
        assert world.resolver.names == []
        world.clock.now = began + fresh_s
        world.find(f"x{ttl_s}")
        world.resolver.answer()


def test_a_failure_is_told_for_a_second() -> None:
    world = World()
    world.find("x")
    world.resolver.answer(found=Resolved((), 0, "no such name"))
    world.find("x")
    world.lookups.prepare("x", "a")
    assert world.told == [((), "no such name")] * 2
    assert world.resolver.names == []
    world.clock.now = 1.0
    world.lookups.prepare("x", "a")
    assert world.resolver.names == ["x"]


def test_what_will_be_too_old_at_the_moment_is_looked_up_ahead_once() -> None:
    world = World()
    world.find("x")
    world.resolver.answer()
    world.clock.now = 18.0
    world.lookups.prepare("x", "a")
    assert world.resolver.names == []
    world.clock.now = 19.0
    world.lookups.prepare("x", "a")
    world.lookups.prepare("x", "b")
    assert world.resolver.names == ["x"]


def test_one_apps_look_ups_wait_for_each_other_and_for_no_other_app() -> None:
    world = World()
    for number in range(MOST_OF_AN_APP + 2):
        world.find(f"a{number}", "a")
    world.find("b0", "b")
    assert len(world.resolver.names) == MOST_OF_AN_APP + 1
    assert world.resolver.names[-1] == "b0"
    world.resolver.answer()
    assert world.resolver.names[-1] == f"a{MOST_OF_AN_APP}"
    world.resolver.answer()
    assert world.resolver.names[-1] == f"a{MOST_OF_AN_APP + 1}"


def test_a_name_that_waits_its_turn_among_one_apps_is_looked_up_for_another() -> None:
    world = World()
    for number in range(MOST_OF_AN_APP):
        world.find(f"a{number}", "a")
    world.find("shared", "a")
    assert "shared" not in world.resolver.names
    world.find("shared", "b")
    assert world.resolver.names[-1] == "shared"
    world.resolver.answer(-1)
    assert len(world.told) == 2
    for _ in range(MOST_OF_AN_APP):
        world.resolver.answer()
    assert world.resolver.names == [], "nor is it looked up again when its turn comes"
    world.find("next", "a")
    assert world.resolver.names == ["next"]


def test_a_look_up_that_takes_too_long_has_failed_and_gives_its_place_away() -> None:
    world = World()
    for number in range(MOST_OF_AN_APP + 1):
        world.find(f"a{number}")
    assert world.lookups.rest_until == 5.0
    world.clock.now = 4.9
    world.lookups.act()
    assert world.told == []
    world.clock.now = 5.0
    world.lookups.act()
    assert len(world.told) == MOST_OF_AN_APP
    assert world.told[0] == ((), "no answer in 5 s")
    assert world.resolver.names[-1] == f"a{MOST_OF_AN_APP}"
    world.resolver.answer(0)
    assert len(world.told) == MOST_OF_AN_APP, "an answer after that tells nobody anything"


def test_an_answer_without_addresses_is_a_failure() -> None:
    world = World()
    world.find("x")
    world.resolver.answer(found=Resolved((), 20, ""))
    assert world.told == [((), "it has no address")]


def test_of_more_names_than_are_kept_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.callback.lookups._MOST_KNOWN", 3)
    world = World()
    for name in ("w", "x", "y"):
        world.find(name)
        world.resolver.answer()
    world.clock.now = 25.0
    world.find("w")
    world.resolver.answer()
    world.find("z")
    world.resolver.answer()
    assert list(world.lookups._known) == ["y", "w", "z"]
