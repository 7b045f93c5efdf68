"""Tells Redis how apps sign their callbacks, where that changed lately: its changer may have died before it did."""

from dataclasses import dataclass

import structlog

from wangtimer.store.redis.signing_copies import SigningCopies
from wangtimer.store.sql.signing_store import ChangeKey, SigningStore

log = structlog.get_logger()

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class SigningRefresher:
    """Copies from SQL to Redis; a copy that is there already costs nothing."""

    store: SigningStore
    copies: SigningCopies

    def refresh(self, since: int) -> None:
        """Copy what changed since then, ms UTC; 0: all, since Redis has lost what it had. Raises `StoreAway`."""
        behind: ChangeKey | None = (since, "")
        while behind is not None:
            changed, behind = self.store.changed_behind(behind, PAGE)
            self.copies.put(changed.values())
            for app, reason in changed.bad.items():
                log.error("app_cannot_be_signed_for", app=app, reason=reason)
