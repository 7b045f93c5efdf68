"""Timers that name a target: executors resolve it by a remembered copy, and a change of it counts for all of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import MemoryTargetStore
from tests.stages.scripted_target import Answer
from tests.stages.test_signings import Counted
from tests.stages.world import APP, World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.timers.call_options import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.executor import shared_copies
from wangtimer.executor.shared import SharedSource, SharedTargets, shared_targets
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import TargetCopies
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.testing.doubles import HandClock, MemoryMarkedCopies, MemoryServer

NOW = 1_795_207_483_000
KEY = (APP, "orders")
CALL = Notify("http://shop.test/hooks", "PUT", (("X-Tag", "blue"),), "{}")


def a_target(version: int = 1, url: str = CALL.url, **fields: Any) -> NamedTarget:
    return NamedTarget(*KEY, version, CALL._replace(url=url), **fields)


def put(world: World, target: NamedTarget) -> None:
    """Change a target as the API does: in SQL, then in Redis."""
    world.target_store.put(target)
    world.target_copies.put([target])


def through_target(world: World, cron: str = "* * * * * *", path: str = "/expire") -> Timer:
    timer = world.created(cron)
    named = timer.definition._replace(notify=Notify(path, "", target="orders"))
    world.sql.table("timers")[timer.id] = replace(timer, definition=named)
    return world.registrar.enable(APP, timer.id)


class Deployment:
    def __init__(self) -> None:
        self.clock = HandClock(NOW)
        self.redis, self.sql = MemoryServer("Redis", self.clock), MemoryServer("SQL", self.clock)
        self.copies = Counted(TargetCopies(MemoryMarkedCopies(self.redis), NO_KEYS))
        self.store = Counted(MemoryTargetStore(self.sql))

    def process(self, seals: Seals = NO_KEYS) -> SharedTargets:
        return shared_targets(self.copies, self.store, seals, self.clock, SqlRest())  # type: ignore[arg-type]

    @property
    def mark(self) -> str | None:
        return self.redis.table("signing").get("")


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


def test_what_one_process_reads_from_sql_the_others_find_in_redis(deployment: Deployment) -> None:
    deployment.store.put(a_target())
    first, second = deployment.process(), deployment.process()
    assert first.known({KEY}, deployment.mark) == {}
    assert first.ask({KEY}) == {KEY: a_target()} == second.known({KEY}, deployment.mark)
    assert deployment.store.calls == ["put", "stored"]


def test_while_nothing_changes_nobody_is_asked(deployment: Deployment) -> None:
    deployment.copies.put([a_target()])
    process = deployment.process()
    process.known({KEY}, deployment.mark)
    deployment.copies.calls.clear()
    for _ in range(100):
        assert process.known({KEY}, deployment.mark)
    assert (deployment.copies.calls, deployment.store.calls) == ([], [])


def test_a_change_counts_as_soon_as_redis_is_told(deployment: Deployment) -> None:
    deployment.copies.put([a_target()])
    process = deployment.process()
    process.known({KEY}, deployment.mark)
    deployment.copies.put([moved := a_target(2, "http://other.test/")])
    assert process.known({KEY}, deployment.mark) == {KEY: moved}


def test_what_is_known_goes_on_while_sql_and_redis_are_away(deployment: Deployment) -> None:
    deployment.copies.put([a_target()])
    process = deployment.process()
    process.known({KEY}, deployment.mark)
    deployment.sql.away = deployment.redis.away = True
    assert process.known({KEY}, "another") == process.ask({KEY}) == {KEY: a_target()}


def test_one_that_is_nowhere_is_left_out(deployment: Deployment) -> None:
    assert deployment.process().ask({KEY}) == {}


def test_what_a_process_remembers_is_bounded_by_bytes(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 targets with bodies of 64 KiB were 640 MB."""
    monkeypatch.setattr(shared_copies, "MOST_BYTES", 100_000)
    process, keys = deployment.process(), [(APP, f"t{number}") for number in range(3)]
    for key in keys:
        deployment.store.put(NamedTarget(*key, 1, CALL._replace(body="x" * 60_000)))
        process.ask({key})
    deployment.sql.away = deployment.redis.away = True
    assert process.ask(keys).keys() == {keys[-1]}


def test_what_a_process_cannot_open_it_does_not_know(deployment: Deployment) -> None:
    seals = Seals({"k": b"k" * 32})
    secret = seals.seal(CALL._replace(headers=(("Authorization", "sesame"),)), *KEY)
    sealed = NamedTarget(*KEY, 1, secret)
    deployment.store.put(sealed)
    assert deployment.process().ask({KEY}) == {}
    assert deployment.process(seals).ask({KEY}) == {KEY: seals.opened(sealed)}
    assert "sesame" not in deployment.redis.table("signing")["\n".join(KEY)].text


def test_a_timer_makes_the_call_of_its_target(make_world: Callable[..., World]) -> None:
    world = make_world().start()
    put(world, a_target())
    through_target(world)
    world.run_for(20)
    arrivals = world.target.arrivals
    assert len(arrivals) >= 18
    assert {(one.request.method, one.request.url) for one in arrivals} == {
        ("PUT", "http://shop.test/hooks/expire")
    }
    assert {one.headers["X-Tag"] for one in arrivals} == {"blue"}
    assert max(one.late_ms for one in arrivals) < 1_000


def test_a_changed_url_counts_for_what_is_due_a_lead_later(make_world: Callable[..., World]) -> None:
    world = make_world().start()
    put(world, a_target())
    timers = [through_target(world, path=f"/{number}") for number in range(20)]
    world.run_for(20)
    changed_at = world.now
    put(world, a_target(2, "http://other.test"))
    world.run_for(20)
    late = [one for one in world.target.arrivals if one.at_ms > changed_at + world.settings.lead_ms + 100]
    assert {one.request.url for one in late} == {f"http://other.test/{number}" for number in range(20)}
    for timer in timers:
        assert world.statuses(timer) <= {FiringStatus.SUCCEEDED, FiringStatus.PENDING}
    # No definition was written anew.
    assert {one.definition.version for one in world.sql.table("timers").values()} == {2}


def test_a_firing_of_a_timer_without_a_target_asks_for_none(make_world: Callable[..., World]) -> None:
    world = make_world().start()
    asked = [Counted(node.targets) for node in world.executor_nodes]
    for node, counted in zip(world.executor_nodes, asked, strict=True):
        node.executor._judge._shared = SharedSource(node.signings, counted)
    world.timer("* * * * * *")
    world.run_for(30)
    assert len(world.target.arrivals) >= 28
    assert [one.calls for one in asked] == [[], []]


def test_a_known_target_is_called_while_sql_is_away(make_world: Callable[..., World]) -> None:
    world = make_world().start()
    put(world, a_target())
    through_target(world)
    world.run_for(20)
    world.sql.away = True
    before = len(world.target.arrivals)
    world.run_for(30)
    assert len(world.target.arrivals) >= before + 28


def test_a_redis_that_lost_the_target_gets_it_again_from_sql(make_world: Callable[..., World]) -> None:
    world = make_world().start()
    world.target_store.put(a_target())
    timer = through_target(world)
    world.run_for(30)
    assert len(world.target.of(timer.id)) >= 28
    assert max(one.late_ms for one in world.target.of(timer.id)) < 1_000
    assert world.target_copies.get([KEY])[1] == {KEY: a_target()}


def test_a_target_that_is_not_known_keeps_its_firings_waiting_and_fails_none(
    make_world: Callable[..., World],
) -> None:
    world = make_world().start()
    own, timer = world.timer("* * * * * *"), through_target(world, "*/10 * * * * *")
    # Longer than a firing waits that no process can read.
    world.run_for(700)
    assert world.target.of(timer.id) == []
    assert world.statuses(timer) == {FiringStatus.PENDING}
    assert max(one.late_ms for one in world.target.of(own.id)) < 1_000
    put(world, a_target())
    world.run_for(120)
    assert FiringStatus.FAILED not in world.statuses(timer)
    assert len(world.target.of(timer.id)) >= 70


def test_the_answer_of_a_target_is_kept_as_the_stricter_of_both_says(
    make_world: Callable[..., World],
) -> None:
    world = make_world().start()
    world.target.answer = lambda _arrival: Answer(output="done")
    put(world, a_target(keep_output=KeepOutput.NEVER))
    timer = through_target(world, "*/5 * * * * *")
    own = world.timer("*/5 * * * * *")
    world.run_for(20)
    assert {one.output for one in world.settled(timer)} == {""}
    assert {one.output for one in world.settled(own)} == {"done"}


def test_a_secret_of_a_target_that_its_answer_repeats_is_not_on_record(
    make_world: Callable[..., World],
) -> None:
    world = make_world().start()
    secret = CALL._replace(headers=(("Authorization", "Bearer open-sesame"),))
    put(world, NamedTarget(*KEY, 1, secret))
    world.target.answer = lambda _arrival: Answer(output="you said Bearer open-sesame")
    timer = through_target(world, "*/5 * * * * *")
    world.run_for(20)
    assert {one.output for one in world.settled(timer)} == {"you said ***"}
