"""What executors know of how apps sign: without a question a firing, for as long as callbacks go on."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.fakes import MemorySigningStore
from tests.stages.world import World
from wangtimer.core.errors import StoreAway
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.executor.shared import SharedSignings, shared_signings
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import SigningCopies
from wangtimer.store.seals import NO_KEYS
from wangtimer.testing.doubles import HandClock, MemoryMarkedCopies, MemoryServer

NOW = 1_795_207_483_000
NEW = b"n" * 32


class Counted:
    """Counts the calls of a store's methods."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            return getattr(self._store, name)(*arguments)

        return call


class Deployment:
    def __init__(self) -> None:
        self.clock = HandClock(NOW)
        self.redis, self.sql = MemoryServer("Redis", self.clock), MemoryServer("SQL", self.clock)
        self.copies = Counted(SigningCopies(MemoryMarkedCopies(self.redis), NO_KEYS))
        self.store = Counted(MemorySigningStore(self.sql))

    def process(self) -> SharedSignings:
        return shared_signings(self.copies, self.store, self.clock, SqlRest())  # type: ignore[arg-type]

    @property
    def mark(self) -> str | None:
        """The mark that comes with the definitions."""
        return self.redis.table("signing").get("")

    def rotate(self) -> AppSigning:
        signing = self.sql.table("signing")["shop"].rotated(NEW, 0, NOW + 1)
        self.sql.table("signing")["shop"] = signing
        return signing


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


def test_the_first_need_makes_a_secret_that_every_process_finds_in_redis(deployment: Deployment) -> None:
    first, second = deployment.process(), deployment.process()
    assert first.known({"shop"}, deployment.mark) == {}
    made = first.ask({"shop"})
    assert second.known({"shop"}, deployment.mark) == made == deployment.sql.table("signing")
    assert deployment.store.calls == ["needed"]


def test_while_nothing_changes_nobody_is_asked(deployment: Deployment) -> None:
    process = deployment.process()
    process.ask({"shop"})
    process.known({"shop"}, deployment.mark)
    deployment.copies.calls.clear()
    for _ in range(100):
        assert process.known({"shop"}, deployment.mark)
    assert (deployment.copies.calls, deployment.store.calls) == ([], ["needed"])


def test_a_change_counts_as_soon_as_redis_is_told(deployment: Deployment) -> None:
    process = deployment.process()
    process.ask({"shop"})
    process.known({"shop"}, deployment.mark)
    rotated = deployment.rotate()
    deployment.copies.put([rotated])
    assert process.known({"shop"}, deployment.mark) == {"shop": rotated}


def test_a_change_read_from_sql_counts_before_redis_is_told(deployment: Deployment) -> None:
    process = deployment.process()
    process.ask({"shop"})
    process.known({"shop"}, deployment.mark)
    rotated = deployment.rotate()
    process.refresh({"shop"})
    assert process.known({"shop"}, deployment.mark) == {"shop": rotated}


def test_what_is_known_goes_on_while_sql_and_redis_are_away(deployment: Deployment) -> None:
    process = deployment.process()
    made = process.ask({"shop"})
    deployment.sql.away = True
    assert process.known({"shop"}, deployment.mark) == made
    deployment.redis.away = True
    assert process.known({"shop"}, "another") == made
    assert process.ask({"shop"}) == made


def test_what_a_process_does_not_know_is_left_out_while_sql_is_away(deployment: Deployment) -> None:
    deployment.process().ask({"shop"})
    deployment.redis.lose()
    deployment.sql.away = True
    process = deployment.process()
    assert process.known({"shop"}, deployment.mark) == process.ask({"shop"}) == {}


def test_a_redis_that_lost_all_gets_it_again_from_sql(deployment: Deployment) -> None:
    process = deployment.process()
    made = process.ask({"shop"})
    deployment.redis.lose()
    assert process.known({"shop"}, deployment.mark) == {}
    assert process.ask({"shop"}) == made
    assert deployment.process().known({"shop"}, deployment.mark) == made


def test_a_redis_that_went_back_in_time_brings_no_old_secret_back(deployment: Deployment) -> None:
    process = deployment.process()
    process.ask({"shop"})
    before = deployment.redis.snapshot()
    rotated = deployment.rotate()
    deployment.copies.put([rotated])
    process.known({"shop"}, deployment.mark)
    deployment.redis.restore(before)
    assert process.known({"shop"}, deployment.mark) == {"shop": rotated}


def test_sql_that_hangs_is_not_asked_again_at_once(deployment: Deployment) -> None:
    process = deployment.process()
    rest = process._sql_rest
    with suppress(StoreAway), rest.asking(deployment.clock):
        deployment.clock.sleep(5)
        raise StoreAway("SQL", "it hangs")
    assert process.ask({"shop"}) == {}
    assert deployment.store.calls == []


def signatures(world: World) -> list[int]:
    """How many signatures each call has that arrived."""
    found = [arrival.headers.get("webhook-signature", "") for arrival in world.target.arrivals]
    return [one.count("v1,") for one in found]


def test_the_first_call_of_an_app_is_signed_and_none_costs_sql_a_question(
    make_world: Callable[..., World],
) -> None:
    world = make_world(is_signed=True)
    asked: list[str] = []
    for node in world.executor_nodes:
        node.taps["before signing_store.needed"] = lambda name=node.process.name: asked.append(name)
    world.start()
    world.timer("* * * * * *")
    world.run_for(60)
    assert len(signatures(world)) > 50
    assert set(signatures(world)) == {1}
    assert max(arrival.late_ms for arrival in world.target.arrivals) < 1_000
    # Each process at most once, before Redis has the copy.
    assert 0 < len(asked) == len(set(asked))


def test_calls_go_on_signed_while_sql_is_away(make_world: Callable[..., World]) -> None:
    world = make_world(is_signed=True).start()
    world.timer("* * * * * *")
    world.run_for(30)
    world.sql.away = True
    before = len(world.target.arrivals)
    world.run_for(30)
    assert len(world.target.arrivals) >= before + 28
    assert set(signatures(world)) == {1}


def test_without_the_secret_a_call_waits_for_sql_and_holds_up_no_other_app(
    make_world: Callable[..., World],
) -> None:
    world = make_world(is_signed=True).start()
    known, unknown = world.timer("* * * * * *"), world.once_in(20)
    world.run_for(10)
    # As an app of which nothing is known: its timer's copy in Redis says another app.
    told = world.definitions.get([unknown.id]).definitions[unknown.id]
    world.definitions.put([told._replace(app="bank", version=told.version + 1)])
    world.sql.away = True
    world.run_for(25)
    assert world.target.of(unknown.id) == []
    assert max(arrival.late_ms for arrival in world.target.of(known.id)) < 1_000
    world.sql.away = False
    world.run_for(60)
    (arrival,) = world.target.of(unknown.id)
    assert arrival.headers["webhook-signature"].startswith("v1,")
