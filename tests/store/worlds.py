"""The stores under one contract: in memory, on Redis or Valkey, on MariaDB or SQLite."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redis import Redis

from tests.fakes import (
    MemoryAnswers,
    MemoryAudit,
    MemoryDemands,
    MemoryFiringLists,
    MemoryFirings,
    MemoryTimers,
)
from tests.patience import Deadline
from tests.store.plain_stores import plain_timers
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.slicing import MINUTE_MS, Slice
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.lanes import LaneBudget, LaneStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.permits import PermitStore
from wangtimer.store.redis.process_marks import QueueWorkers
from wangtimer.store.redis.slices import Leases, SliceStore
from wangtimer.store.redis.window import (
    BYTES_A_FIRING,
    FEEDER_LEASE_MS,
    NARROW_MS,
    MinuteLoad,
    Window,
    WindowRule,
)
from wangtimer.store.replica import ReplicaTexts
from wangtimer.store.sql.audit import AuditLog
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.dead_letters import DeadLetterStore
from wangtimer.store.sql.demands import DemandStore
from wangtimer.store.sql.firing_lists import FiringLists
from wangtimer.store.sql.firings import FiringStore, insert_missing
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.timers import TimerStore
from wangtimer.testing.doubles import (
    HandClock,
    MemoryAgenda,
    MemoryDefinitions,
    MemoryLanes,
    MemoryLoad,
    MemoryOutbox,
    MemoryPermits,
    MemoryQueueWorkers,
    MemoryReplicaTexts,
    MemoryServer,
    MemorySlices,
    MemoryWindow,
)

LEASES = Leases(lead_ms=1_000, lock_ms=5_000, armed_ms=8_000, running_ms=6_000)
# Five minutes at least, an hour at most, 1,000 firings.
WINDOW = WindowRule(5 * MINUTE_MS, 60 * MINUTE_MS, 1_000 * BYTES_A_FIRING)
# Of a call.
TIMEOUT_MS = 10_000
# Of a lane, however much the others hold.
LANE_FIRINGS = 20
PREFIX = "wt"
DEFINITIONS_LIVE_S = 7_200
DEADLINE_S = 10.0
HELD_UP_MS = 5 * MINUTE_MS


@dataclass(frozen=True)
class HotWorld:
    """The hot stores on one clock, and what a test does to the server behind them."""

    clock: HandClock
    slices: SliceStore
    # The same, as a client reaches them whose command was held up for `HELD_UP_MS`.
    slices_held_up: SliceStore
    lanes: LaneStore
    permits: PermitStore
    replica_texts: ReplicaTexts
    queue_workers: QueueWorkers
    agenda: Agenda
    definitions: DefinitionStore
    outbox: Outbox
    load: MinuteLoad
    window: Window
    # Another process' window, on the same server.
    window_elsewhere: Window
    # Another process' definitions, on the same server.
    definitions_elsewhere: DefinitionStore
    lose_all: Callable[[], None]
    let_lock_run_out: Callable[[Slice], None]
    let_feeder_run_out: Callable[[], None]
    let_narrow_run_out: Callable[[], None]
    # The shortest time to live of a slice's keys, its lock left out, s by the clock.
    lives_s: Callable[[Slice], float]
    # Lets so many seconds pass for the definitions; and the time to live of a timer's.
    age_definitions: Callable[[int], None]
    definition_lives_s: Callable[[int], float]


class NoDeadLetters:
    """The fakes keep none."""

    def purge(self, _now: int, _usual_ms: int, _limit: int) -> int:
        return 0


@dataclass(frozen=True)
class SqlWorld:
    """The SQL stores, and the way a planned row gets in."""

    timers: TimerStore
    firings: FiringStore
    insert: Callable[[Sequence[Firing]], list[Firing]]
    answers: KeptAnswers
    audit: AuditLog
    dead_letters: DeadLetterStore
    demands: DemandStore
    lists: FiringLists


def until(is_true: Callable[[], bool]) -> None:
    """Return once it is true; fail after `DEADLINE_S`."""
    deadline = Deadline(DEADLINE_S)
    while not is_true():
        assert not deadline.is_over, "it did not come true in time"
        time.sleep(0.005)


def clock_at_a_minute() -> HandClock:
    """Return a clock at the start of a minute soon to come: real servers expire keys by the real time.

    It is never behind theirs, by which they judge what was held up on its way.
    """
    return HandClock((time.time() * 1_000 // MINUTE_MS + 2) * MINUTE_MS)


def clock_held_up() -> HandClock:
    """Return the clock of a client that was stopped for minutes between reading it and writing its command."""
    return HandClock(clock_at_a_minute().now_ms() - HELD_UP_MS)


def memory_hot() -> HotWorld:
    clock = clock_at_a_minute()
    server = MemoryServer("Redis", clock)
    slices = MemorySlices(server, clock, LEASES)

    def lives_s(slice_: Slice) -> float:
        return server.table("slices")[slice_].expires_at_s - clock.now_ms() / 1_000

    return HotWorld(
        clock,
        slices,
        MemorySlices(server, clock_held_up(), LEASES),
        MemoryLanes(slices, LaneBudget(0, LANE_FIRINGS)),
        MemoryPermits(slices, TIMEOUT_MS),
        MemoryReplicaTexts(server),
        MemoryQueueWorkers(server),
        MemoryAgenda(server),
        MemoryDefinitions(server, clock, DEFINITIONS_LIVE_S),
        MemoryOutbox(server),
        MemoryLoad(server),
        MemoryWindow(server, WINDOW),
        MemoryWindow(server, WINDOW),
        MemoryDefinitions(server, clock, DEFINITIONS_LIVE_S),
        server.lose,
        lambda _slice: clock.sleep(LEASES.lock_ms / 1_000),
        lambda: clock.sleep(FEEDER_LEASE_MS / 1_000 + 1),
        lambda: clock.sleep(NARROW_MS / 1_000 + 1),
        lives_s,
        clock.sleep,
        lambda timer_id: server.table("definitions")[timer_id][1] - clock.monotonic(),
    )


def redis_hot(connection: RedisConnection, raw: Redis) -> HotWorld:
    """`raw` is a client of the same server, for what only the test does."""
    clock = clock_at_a_minute()
    keys = Keys(PREFIX)

    def let_lock_run_out(slice_: Slice) -> None:
        (lock,) = keys.of_slice(slice_, "lock")
        assert 0 < raw.pttl(lock) <= LEASES.lock_ms
        raw.pexpire(lock, 1)
        until(lambda: not raw.exists(lock))

    def let_feeder_run_out() -> None:
        assert 0 < raw.pttl(keys.feeder) <= FEEDER_LEASE_MS
        raw.delete(keys.feeder)

    def let_narrow_run_out() -> None:
        assert 0 < raw.pttl(keys.narrow) <= NARROW_MS
        raw.delete(keys.narrow)

    def lives_s(slice_: Slice) -> float:
        names = raw.keys(f"{PREFIX}:{{{slice_.tag}}}:*")
        living = [raw.expiretime(name) for name in names if not name.endswith(b":lock")]
        return min(living) - clock.now_ms() / 1_000

    def age_definitions(seconds: int) -> None:
        for name in raw.keys(f"{PREFIX}:def:*"):
            raw.expire(name, raw.ttl(name) - seconds)

    return HotWorld(
        clock,
        SliceStore(connection, keys, clock, LEASES),
        SliceStore(connection, keys, clock_held_up(), LEASES),
        LaneStore(connection, keys, clock, LEASES, LaneBudget(0, LANE_FIRINGS)),
        PermitStore(connection, keys, clock, TIMEOUT_MS),
        ReplicaTexts(connection, keys),
        QueueWorkers(connection, keys, clock),
        Agenda(connection, keys),
        DefinitionStore(connection, keys, clock, DEFINITIONS_LIVE_S, BadTimers()),
        Outbox(connection, keys),
        MinuteLoad(connection, keys),
        Window(connection, keys, WINDOW),
        Window(connection, keys, WINDOW),
        DefinitionStore(connection, keys, clock, DEFINITIONS_LIVE_S, BadTimers()),
        raw.flushall,
        let_lock_run_out,
        let_feeder_run_out,
        let_narrow_run_out,
        lives_s,
        age_definitions,
        lambda timer_id: raw.ttl(keys.definition(timer_id)),
    )


def memory_sql() -> SqlWorld:
    server = MemoryServer("SQL", HandClock())
    firings = MemoryFirings(server)
    return SqlWorld(
        MemoryTimers(server),
        firings,
        firings.insert,
        MemoryAnswers(server),
        MemoryAudit(server),
        NoDeadLetters(),
        MemoryDemands(server),
        MemoryFiringLists(server),
    )


def real_sql(database: Database) -> SqlWorld:
    def insert(planned: Sequence[Firing]) -> list[Firing]:
        return database.write(lambda sql: insert_missing(sql, planned))

    return SqlWorld(
        plain_timers(database),
        FiringStore(database),
        insert,
        KeptAnswers(database),
        AuditLog(database, HandClock()),
        DeadLetterStore(database, HandClock()),
        DemandStore(database),
        FiringLists(database, HandClock()),
    )
