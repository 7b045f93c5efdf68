"""What callback processes look at: a sweep reads all of it by one command, and tells again what Redis lost."""

from contextlib import closing
from typing import Any

import pytest
from redis import Redis

from wangtimer.calls_teller import CallsTeller
from wangtimer.core.alerts.alerted_apps import AlertedApps, alerted_from_text, alerted_to_text
from wangtimer.core.egress.way_out import STRICTEST, WayOut
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.told_rules import AlertedAppStore, CallLimitStore, CallRuleStore, ToldForCallsStore
from wangtimer.store.redis.way_out_copies import WayOutCopies
from wangtimer.teller import Teller
from wangtimer.way_out_teller import WayOutTeller

LIMITS, RULES = {"shop": CallLimit(5)}, CallRules(hosts={"127.0.0.1:80": CallLimit(at_once=3)})
ALERTED = AlertedApps({"shop": None, "bank": 250}, {"shop": frozenset({"h:80", "target:t"})})
KEYS = Keys("told")


class WaysInSql:
    """One app's, whose mark stays."""

    def mark(self) -> str:
        return "m"

    def all(self) -> dict[str, WayOut]:
        return {"shop": WayOut(STRICTEST)}


class World:
    """A teller, on a Redis and what SQL has; where that is None, SQL is away for it."""

    def __init__(self, connection: RedisConnection) -> None:
        self.limits: Any = LIMITS
        self.told = ToldForCallsStore(connection, KEYS)
        self.ways = WayOutCopies(connection, KEYS)
        in_sql: Any = WaysInSql()
        self.teller = CallsTeller(
            self.told,
            Teller(self._limits, CallLimitStore(connection, KEYS)),
            Teller(lambda: RULES, CallRuleStore(connection, KEYS)),
            WayOutTeller(in_sql, self.ways),
            Teller(lambda: ALERTED, AlertedAppStore(connection, KEYS)),
        )

    def _limits(self) -> Any:
        if self.limits is None:
            raise StoreAway("SQL", "it does not answer")
        return self.limits


@pytest.fixture
def world(redis_url: str):
    with closing(RedisConnection(redis_url)) as connection:
        connection.command(lambda client: client.flushall())
        yield World(connection)


def test_a_sweep_tells_all_that_redis_lost(world: World) -> None:
    assert world.told.read() == (None, None, None, None)
    world.teller.tell_again()
    assert world.told.read() == (LIMITS, RULES, "m", ALERTED)
    ways = world.ways.read()
    assert ways is not None
    assert ways.of_apps == {"shop": WayOut(STRICTEST)}


def test_what_cannot_be_told_holds_up_nothing_else(world: World) -> None:
    world.limits = None
    with pytest.raises(StoreAway):
        world.teller.tell_again()
    assert world.told.read() == (None, RULES, "m", ALERTED)


def test_a_sweep_that_finds_all_told_costs_one_command(world: World, redis_url: str) -> None:
    world.teller.tell_again()
    with closing(Redis.from_url(redis_url)) as raw:

        def commands() -> int:
            return int(raw.info("stats")["total_commands_processed"])

        before = commands()
        world.teller.tell_again()
        assert commands() - before == 1 + 1, "the one, and that which asks how many"


def test_a_kind_that_cannot_be_read_leaves_the_others_and_is_told_again(world: World, redis_url: str) -> None:
    world.teller.tell_again()
    with closing(Redis.from_url(redis_url)) as raw:
        raw.set(KEYS.call_rules, "[7]")
    assert world.told.read() == (LIMITS, None, "m", ALERTED)
    world.teller.tell_again()
    assert world.told.read() == (LIMITS, RULES, "m", ALERTED)


def test_what_an_older_version_writes_takes_no_app_with_alert_rules_away(
    world: World, redis_url: str
) -> None:
    """It knows the other rules, and nothing of alerts."""
    world.teller.tell_again()
    with closing(Redis.from_url(redis_url)) as raw:
        raw.set(KEYS.call_rules, '{"pauses":[],"hosts":{},"toOneHost":{},"retries":{},"disabledHosts":[]}')
        assert raw.exists(KEYS.alerted_apps)
    assert world.told.read().alerted == ALERTED


def test_who_has_alert_rules_is_read_back_as_it_was_told() -> None:
    assert alerted_from_text(alerted_to_text(ALERTED)) == ALERTED
    for text in ("[7]", "7", '{"shop": 7}', "no JSON"):
        with pytest.raises(ValueError, match=r"."):
            alerted_from_text(text)
