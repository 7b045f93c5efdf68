"""The two servers of the simulated world: their data, and how they can be away, lose it, or go back in time."""

from typing import Any

from tests.simulation.fault import Fault, Kind
from wangtimer.core.flow.slicing import Slice
from wangtimer.testing.doubles import HandClock, MemoryServer
from wangtimer.testing.doubles.memory_slices import Sets

Tables = dict[str, dict[Any, Any]]

# One shard holds the agenda and half of the slices, the other all else.
ON_FIRST_SHARD = frozenset({"agenda", "closing", "window", "load"})
KEPT_SNAPSHOTS = 30


class SqlWorld:
    """SQL: it refuses or hangs, and forgets nothing."""

    def __init__(self, clock: HandClock) -> None:
        self.server = MemoryServer("SQL", clock)
        self.refuses_until = self.hangs_until = 0.0
        self.away_ms = 0.0
        self._clock = clock

    def is_away(self, now_ms: float) -> bool:
        """Whether a call now gets no answer."""
        return now_ms < self.refuses_until or now_ms < self.hangs_until

    def befall(self, fault: Fault) -> None:
        """Go away for as long as the fault says."""
        until = self._clock.now_ms() + fault.lasts_ms
        self.away_ms += fault.lasts_ms
        if fault.kind in (Kind.SQL_HANG, Kind.REDIS_HANG):
            self.hangs_until = max(self.hangs_until, until)
        else:
            self.refuses_until = max(self.refuses_until, until)


class RedisWorld(SqlWorld):
    """Redis: it may forget as well, and its clock may be put. `generation` grows when it closes its connections."""

    def __init__(self, clock: HandClock, own_clock: Any) -> None:
        super().__init__(clock)
        self.server = MemoryServer("Redis", own_clock)
        self.generation = 0
        # When the clock was put back, true time.
        self.put_back_at: list[float] = []
        self._own_clock = own_clock
        self._snapshots: list[tuple[float, Tables]] = []

    @property
    def shift_ms(self) -> float:
        """How far its clock is ahead of the true time."""
        return float(self._own_clock.shift_ms)

    def befall(self, fault: Fault) -> None:
        if fault.kind is Kind.REDIS_CLOCK_AHEAD:
            self._own_clock.shift_ms += fault.lasts_ms
            return
        if fault.kind is Kind.REDIS_CLOCK_BACK:
            self._own_clock.shift_ms -= fault.lasts_ms
            self.put_back_at.append(self._clock.now_ms())
            return
        super().befall(fault)
        if fault.kind is Kind.REDIS_HANG:
            return
        if fault.kind is not Kind.REDIS_LOSS or fault.lasts_ms:  # a FLUSHALL closes no connection
            self.generation += 1
        if fault.kind is Kind.REDIS_LOSS:
            self._replace({}, fault.shard)
        elif fault.kind is Kind.REDIS_ROLLBACK:
            wanted = self._clock.now_ms() - fault.depth_ms
            older = [tables for taken_at, tables in self._snapshots if taken_at <= wanted]
            self._replace(older[-1] if older else {}, fault.shard)

    def take_snapshot(self) -> None:
        """Keep the data as they are, for a fault that goes back to them."""
        tables = self.server._tables
        self._snapshots.append((self._clock.now_ms(), {name: _copied(tables[name]) for name in tables}))
        del self._snapshots[:-KEPT_SNAPSHOTS]

    def _replace(self, old: Tables, shard: int | None) -> None:
        """Put back what a shard held; None: all."""
        tables = self.server._tables
        for name in {*tables, *old}:
            table = tables.setdefault(name, {})
            kept = {key: value for key, value in table.items() if not _is_on(shard, name, key)}
            back = {key: value for key, value in old.get(name, {}).items() if _is_on(shard, name, key)}
            table.clear()
            table.update(kept)
            table.update(_copied(back))


def _is_on(shard: int | None, table: str, key: object) -> bool:
    if shard is None:
        return True
    if isinstance(key, Slice) and table == "slices":
        return (key.minute + key.bucket) % 2 == shard
    return (table not in ON_FIRST_SHARD) == bool(shard)


def _copied(table: dict[Any, Any]) -> dict[Any, Any]:
    return {key: _copy(value) if isinstance(value, Sets) else value for key, value in table.items()}


def _copy(sets: Sets) -> Sets:
    fields = {
        name: value.copy() if isinstance(value, dict | set) else value for name, value in vars(sets).items()
    }
    return Sets(**fields)
