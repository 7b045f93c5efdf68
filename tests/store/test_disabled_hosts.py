"""Hosts that are disabled for apps: who is, from when on, who ends it, and what callback processes are told."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from wangtimer.core.apps.audited_change import Action, AuditedKind
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.flow.disabled_hosts import DISABLED_HOSTS, DisabledHost
from wangtimer.core.flow.pace import Pace
from wangtimer.features.failing_hosts.host_judge import ANSWER, JUDGE, JUDGE_EVERY_S, HostJudge
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.failing_hosts import FailingHost, FailingHostRecord
from wangtimer.store.redis.keys import Keys
from wangtimer.store.replica import Replica
from wangtimer.store.sql import disabled_hosts as disabled_hosts_module
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.disabled_hosts import DisabledHostStore
from wangtimer.testing.doubles import HandClock, MemoryReplicaTexts, MemoryServer

DAY_MS = 86_400_000
LONG_MS = 5 * DAY_MS
NOW = 1_800_000_000_000
ORIGIN = "https://a.test:443"


def host(app: str = "shop", origin: str = ORIGIN, at: int = NOW) -> DisabledHost:
    return DisabledHost(app, origin, at - LONG_MS, at, at, "HTTP 503")


def test_a_host_is_disabled_for_one_app_once(database: Database) -> None:
    store = DisabledHostStore(database)
    assert store.disable([host()], LONG_MS) == [host()]
    assert store.disable([host(at=NOW + 1), host("bank")], LONG_MS) == [host("bank")]
    assert store.all("shop") == [host()]
    assert store.keys() == {("shop", ORIGIN), ("bank", ORIGIN)}
    assert store.disable([], LONG_MS) == []


def test_who_is_enabled_by_hand_is_disabled_again_after_as_many_days(database: Database) -> None:
    store = DisabledHostStore(database)
    store.disable([host()], LONG_MS)
    assert store.enable("shop", ORIGIN, NOW + 10)
    assert not store.enable("shop", ORIGIN, NOW + 11)
    assert store.keys() == frozenset()
    early, late = NOW + 9 + LONG_MS, NOW + 10 + LONG_MS
    assert store.disable([host(at=early)], LONG_MS) == []
    assert store.disable([host(at=late)], LONG_MS) == [host(at=late)]
    assert store.keys() == {("shop", ORIGIN)}


def test_an_answer_enables_the_host_of_its_app_alone(database: Database) -> None:
    store = DisabledHostStore(database)
    store.disable([host(), host("bank")], LONG_MS)
    assert store.answered([("shop", ORIGIN), ("shop", "http://b.test:80")], NOW + 1) == 1
    assert store.answered([("shop", ORIGIN)], NOW + 2) == 0
    assert store.keys() == {("bank", ORIGIN)}
    assert store.disable([host(at=NOW + LONG_MS)], LONG_MS) == []
    assert not store.enable("shop", ORIGIN, NOW + 3)


def test_more_than_so_many_are_left_as_they_are(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disabled_hosts_module, "MOST_DISABLED", 2)
    store = DisabledHostStore(database)
    store.disable([host("a")], LONG_MS)
    assert store.disable([host("b"), host("c")], LONG_MS) == [host("b")]
    store.answered([("a", ORIGIN)], NOW)
    assert store.disable([host("b"), host("c")], LONG_MS) == [host("c")]


def test_no_app_takes_the_room_of_all_others(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disabled_hosts_module, "MOST_OF_AN_APP", 2)
    store = DisabledHostStore(database)
    many = [host("big", f"http://{number}:80") for number in range(5)]
    assert store.disable([*many, host("small")], LONG_MS) == [*many[:2], host("small")]
    assert store.disable(many, LONG_MS) == []


def test_each_change_is_audited_once_with_who_made_it(judged: "Judged") -> None:
    judged.fails_since(NOW - LONG_MS)
    judged.judge.judge()
    judged.judge.judge()
    with calling(Caller("k1", "till", "shop", frozenset(), "")):
        judged.store.enable("shop", ORIGIN, NOW)
        judged.store.enable("shop", ORIGIN, NOW)
    judged.judge.note_answers([("shop", ORIGIN)])
    entries = reversed(AuditLog(judged.database, HandClock()).page(AuditFilter(), 100))
    found = [(one.action, one.kind, one.subject, one.app, one.key_name, one.new_status) for one in entries]
    of = (AuditedKind.HOST, ORIGIN, "shop")
    assert found[0] == (Action.DISABLE, *of, JUDGE.name, "disabled")
    assert found[1:] == [(Action.ENABLE, *of, "till", "enabled")]


class Judged:
    """A judge of hosts, the record of failing hosts in a real Redis, and what callback processes are told."""

    def __init__(self, database: Database, connection: RedisConnection) -> None:
        self.database, self.clock = database, HandClock(NOW)
        self.store = DisabledHostStore(database)
        self.record = FailingHostRecord(connection, Keys("judged"), self.clock)
        texts: Any = MemoryReplicaTexts(MemoryServer("Redis", self.clock))
        self.told = Replica(DISABLED_HOSTS, self.store.keys, texts, self.clock)
        pace = Pace(self.clock, JUDGE_EVERY_S)
        self.judge = HostJudge(self.record, self.store, self.told, self.clock, LONG_MS, pace)

    @property
    def disabled(self) -> frozenset[tuple[str, str]]:
        """What callback processes are told."""
        return self.told.read() or frozenset()

    def fails_since(self, since: int, told_at: int = NOW, failed_at: int | None = None) -> None:
        """Let a callback process tell of the host, which failed just now unless it says otherwise."""
        failed_at = told_at if failed_at is None else failed_at
        self.record.tell([FailingHost("shop", ORIGIN, since, failed_at, "HTTP 503", told_at)])


@pytest.fixture
def judged(database: Database, redis_url: str) -> Iterator[Judged]:
    with closing(RedisConnection(redis_url)) as connection:
        connection.command(lambda client: client.flushall())
        yield Judged(database, connection)


def test_who_fails_for_the_days_is_disabled_and_not_a_moment_before(judged: Judged) -> None:
    judged.fails_since(NOW - LONG_MS + 1)
    judged.judge.judge()
    assert judged.disabled == frozenset()
    judged.fails_since(NOW - LONG_MS)
    judged.judge.judge()
    assert judged.disabled == {("shop", ORIGIN)}


def test_silence_after_a_few_failures_disables_nothing(judged: Judged) -> None:
    judged.fails_since(NOW - LONG_MS, failed_at=NOW - LONG_MS + 10_000)
    judged.judge.judge()
    assert judged.disabled == frozenset()


def test_what_answered_one_process_is_not_disabled_again_by_the_memory_of_another(judged: Judged) -> None:
    judged.fails_since(NOW - LONG_MS)
    judged.judge.judge()
    judged.judge.note_answers([("shop", ORIGIN)])
    for _ in range(3):
        judged.clock.sleep(LONG_MS / 1_000)
        judged.fails_since(NOW - LONG_MS, told_at=int(judged.clock.now_ms()), failed_at=NOW)
        judged.judge.judge()
        assert judged.disabled == frozenset()


def test_what_no_living_process_sees_fail_is_not_judged(judged: Judged) -> None:
    judged.fails_since(NOW - LONG_MS - 60_000, told_at=NOW - 60_000)
    judged.judge.judge()
    assert judged.disabled == frozenset()


def test_an_answer_is_told_at_once_and_enables(judged: Judged) -> None:
    judged.fails_since(NOW - LONG_MS)
    judged.judge.judge()
    judged.judge.note_answers([("shop", ORIGIN)])
    assert judged.disabled == judged.store.keys() == frozenset()
    (_, enabled) = reversed(AuditLog(judged.database, HandClock()).page(AuditFilter(), 100))
    assert (enabled.action, enabled.key_name) == (Action.ENABLE, ANSWER.name)


def test_sweeps_judge_once_a_minute_and_never_where_days_are_0(judged: Judged) -> None:
    judged.judge.sweep()
    judged.fails_since(NOW - LONG_MS)
    judged.judge.sweep()
    assert judged.disabled == frozenset()
    judged.clock.sleep(JUDGE_EVERY_S)
    judged.fails_since(NOW - LONG_MS, told_at=int(judged.clock.now_ms()))
    judged.judge.days_ms = 0
    judged.judge.sweep()
    assert judged.disabled == frozenset()
    judged.judge.days_ms = LONG_MS
    judged.judge.sweep()
    assert judged.disabled == {("shop", ORIGIN)}
