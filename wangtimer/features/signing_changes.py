"""What an app changes of how its callbacks are signed: it rotates its secret, ends one, or switches signing off."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from wangtimer.core.errors import Conflict
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import new_key
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.store.redis.marked_copies import SigningCopies
from wangtimer.store.sealed_texts import UnopenedSigning
from wangtimer.store.sql.signing_store import SigningStore


class SigningChange(NamedTuple):
    """What an app's signing is now; that counts for calls more than `counts_within_ms` away."""

    signing: AppSigning
    counts_within_ms: int


@dataclass(frozen=True, slots=True)
class SigningChanges:
    """Each change is one transaction in SQL; then Redis is told. If it cannot be told, the sweep does so."""

    signing_store: SigningStore
    signing_copies: SigningCopies
    clock: Clock
    lead_ms: int

    def get(self, app: str) -> AppSigning:
        """Return an app's signing, to be shown: its keys may be empty. Raises `StoreAway`."""
        return self.signing_store.to_show(app)

    def rotate(self, app: str, key: bytes, overlap_ms: int) -> SigningChange:
        """Make this key the app's present secret; the former one signs beside it for so long.

        Without an overlap that is possible where the former ones cannot be opened, too. Raises `Conflict`, `StoreAway`.
        """
        now = int(self.clock.now_ms())
        return self._change(
            app,
            lambda signing: signing.rotated(key, overlap_ms, now),
            now,
            "overlap",
            keeps_no_secret=not overlap_ms,
        )

    def end(self, app: str, secret_id: int) -> SigningChange:
        """End a secret at once; raises `UnknownSecret`, `Conflict`, `StoreAway`."""
        now = int(self.clock.now_ms())
        return self._change(app, lambda signing: signing.without(secret_id, now), now, "id")

    def switch(self, app: str, is_on: bool) -> SigningChange:
        """Switch signing on or off; on, the app gets a secret if it has none. Raises `Conflict`, `StoreAway`."""
        now, key = int(self.clock.now_ms()), new_key()

        def change(signing: AppSigning) -> AppSigning:
            switched = signing.switched(is_on, now)
            return switched.with_a_secret(key, now) if is_on else switched

        return self._change(app, change, now, "enabled")

    def _change(
        self,
        app: str,
        change: Callable[[AppSigning], AppSigning],
        now: int,
        field: str,
        *,
        keeps_no_secret: bool = False,
    ) -> SigningChange:
        try:
            changed = self.signing_store.change(app, change, now, keeps_no_secret=keeps_no_secret)
        except UnopenedSigning as error:
            mend = "let an operator put that key back (WANGTIMER_SECRET_KEYS_FILE), or rotate with an overlap of 0s"
            raise Conflict(field, f"the present secrets cannot be opened: {error}", mend) from None
        return SigningChange(changed, counts_within_ms(self.signing_copies.is_told(changed), self.lead_ms))
