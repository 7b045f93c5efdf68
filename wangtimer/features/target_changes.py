"""What an app changes of its named targets: it makes, changes and deletes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.store.redis.marked_copies import TargetCopies
from wangtimer.store.sql.target_store import TargetStore

log = structlog.get_logger()


class TargetChange(NamedTuple):
    """A target as it is now; that counts for calls more than `counts_within_ms` away. `is_made`: it was not there."""

    target: NamedTarget
    is_made: bool
    counts_within_ms: int


@dataclass(frozen=True, slots=True)
class TargetChanges:
    """Each change is one transaction in SQL; then Redis is told. If it cannot be told, the sweep does so."""

    target_store: TargetStore
    target_copies: TargetCopies
    clock: Clock
    lead_ms: int

    def change(
        self,
        app: str,
        name: str,
        change: Callable[[NamedTarget | None], NamedTarget],
        version: int | None = None,
    ) -> TargetChange:
        """Make or change a target; errors as for `TargetStore.change`."""
        target, is_made = self.target_store.change(app, name, change, int(self.clock.now_ms()), version)
        return TargetChange(
            target, is_made, counts_within_ms(self.target_copies.is_told(target), self.lead_ms)
        )

    def remove(self, app: str, name: str, version: int | None = None) -> None:
        """Delete a target as `TargetStore.remove`. While Redis is away it keeps the copy, which nobody asks for."""
        self.target_store.remove(app, name, int(self.clock.now_ms()), version)
        try:
            self.target_copies.drop((app, name))
        except StoreAway as error:
            log.warning("copy_of_a_deleted_target_stays", app=app, target=name, error=str(error))
