"""Tells Redis of what changed in SQL: its changer may have died, or Redis been away, before it was told.

That is timers, and what many of them share.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from wangtimer.core.timers.bad_timers import Readable
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# A change is dated before its transaction, and committed at most this much later.
OVERLAP_MS = 60_000
PAGE = 2_000
# Bounds one call; the next goes on where it stopped.
PAGES_A_CALL = 10
# Definitions that are copied at once: with bodies of 64 KB so many take some 30 MB meanwhile.
DEFINITIONS_AT_ONCE = 100
# Rows of what timers share that are copied at once: a named target may have a body of 64 KiB.
SHARED_AT_ONCE = 200


def tell(
    timers: TimerStore, definitions: DefinitionStore, timer_ids: Iterable[int], may_be_far: bool = False
) -> set[int]:
    """Write these definitions to Redis page by page; return which cannot be read. Raises `StoreAway`.

    `may_be_far`: their next moments may be far away.
    """
    ids = sorted(timer_ids)
    bad: set[int] = set()
    for start in range(0, len(ids), DEFINITIONS_AT_ONCE):
        found = timers.definitions(set(ids[start : start + DEFINITIONS_AT_ONCE]))
        definitions.put(found.values(), may_be_far)
        bad |= found.bad.keys()
    return bad


@dataclass(frozen=True, slots=True)
class CopyRefresher:
    """Copies what many timers share, of one kind; a copy that is there already costs nothing.

    `changed_behind` returns a page of what changed after a key, oldest first, and where to go on (None: the end); a
    key is the moment of a change (ms UTC), then the `names` texts that name the row. `put` writes copies unless newer
    ones are there.
    """

    kind: str
    changed_behind: Callable[[Any, int], tuple[Readable[Any, Any], Any | None]]
    put: Callable[[Iterable[Any]], None]
    names: int = 1

    def refresh(self, since: int) -> None:
        """Copy what changed since then, ms UTC; 0: all, since Redis has lost what it had. Raises `StoreAway`."""
        behind: tuple[Any, ...] | None = (since, *[""] * self.names)
        while behind is not None:
            changed, behind = self.changed_behind(behind, SHARED_AT_ONCE)
            self.put(changed.values())
            for key, reason in changed.bad.items():
                log.error("shared_cannot_be_read", kind=self.kind, key=key, reason=reason)


@dataclass(slots=True)
class Refresher:
    """The time of the last change told to Redis is stored in Redis, so that no outage of either loses a change.

    A process does not tell again what it told lately, unless Redis was away since: it may have gone back in time.
    `shared` copies what timers share.
    """

    timers: TimerStore
    definitions: DefinitionStore
    shared: Sequence[CopyRefresher]
    _reconnects: int = field(default=0, init=False)
    _began_at: int = field(default=0, init=False)
    _goes_on_behind: tuple[int, int] | None = field(default=None, init=False)
    _told: dict[int, int] = field(default_factory=dict, init=False)

    def refresh(self, now: int) -> None:
        """Write what changed to Redis, oldest change first; `now` in ms UTC. Raises `StoreAway`."""
        if self.definitions.reconnects != self._reconnects:
            self._reconnects = self.definitions.reconnects
            self._goes_on_behind = None
            self._told.clear()
        behind = self._goes_on_behind or self._begin(now)
        for _ in range(PAGES_A_CALL):
            changes = self.timers.changed_behind(behind, PAGE)
            self._tell({change.timer_id: change.version for change in changes})
            if len(changes) < PAGE:
                self._end()
                return
            behind = self._goes_on_behind = changes[-1][:2]

    def _begin(self, now: int) -> tuple[int, int]:
        self._began_at = now
        told_until = self.definitions.told_until()
        began_behind = min(now, now if told_until is None else told_until) - OVERLAP_MS
        for copies in self.shared:
            # A Redis without the time has lost all. Of timers the feeder tells it; of this nobody else does.
            copies.refresh(0 if told_until is None else began_behind)
        return began_behind, 0

    def _end(self) -> None:
        self._goes_on_behind = None
        if self.definitions.reconnects == self._reconnects:
            self.definitions.note_told(self._began_at)

    def _tell(self, versions: dict[int, int]) -> None:
        news = {timer_id for timer_id, version in versions.items() if self._told.get(timer_id) != version}
        # A timer that cannot be read here may have been disabled: no definition is better than an old one.
        self.definitions.forget(tell(self.timers, self.definitions, news, may_be_far=True))
        if len(self._told) > PAGE * PAGES_A_CALL:
            self._told.clear()
        self._told |= versions
