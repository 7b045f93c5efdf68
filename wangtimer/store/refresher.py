"""Tells Redis of what changed in SQL: its changer may have died, or Redis been away, before it was told.

That is timers, and what many of them share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from wangtimer.store.copy_refresher import CopyRefresher
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.sql.timers import TimerStore
from wangtimer.store.telling import tell

# A change is dated before its transaction, and committed at most this much later.
OVERLAP_MS = 60_000
PAGE = 2_000
# Bounds one call; the next goes on where it stopped.
PAGES_A_CALL = 10


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
            behind = self._goes_on_behind = changes[-1].key

    def _begin(self, now: int) -> tuple[int, int]:
        self._began_at = now
        told_until = self.definitions.told_until()
        began_behind = min(now, now if told_until is None else told_until) - OVERLAP_MS
        for one in self.shared:
            # A Redis without the time has lost all. Of timers the feeder tells it; of this nobody else does.
            one.refresh(0 if told_until is None else began_behind)
        return began_behind, 0

    def _end(self) -> None:
        self._goes_on_behind = None
        if self.definitions.reconnects == self._reconnects:
            self.definitions.note_told(self._began_at)

    def _tell(self, versions: dict[int, int]) -> None:
        news = {one for one, version in versions.items() if self._told.get(one) != version}
        # A timer that cannot be read here may have been disabled: no definition is better than an old one.
        self.definitions.forget(tell(self.timers, self.definitions, news, may_be_far=True))
        if len(self._told) > PAGE * PAGES_A_CALL:
            self._told.clear()
        self._told |= versions
