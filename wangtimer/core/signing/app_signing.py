"""How the callbacks of one app are signed, and how that changes."""

from dataclasses import dataclass, replace

from wangtimer.core.errors import Conflict, Subject, UnknownSecret
from wangtimer.core.signing.signing_secret import SigningSecret

# Secrets that sign at the same time: the present one, and the one that it replaces.
MOST_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class AppSigning:
    """The secrets of an app, oldest first, and whether its callbacks are signed.

    `version` grows with every change: of two copies the one with the higher version is the newer. Where signing is on
    there is a secret without an end, the last one. Exception: an app of which nothing is stored yet, at version 0.
    """

    app: str
    version: int
    is_on: bool
    secrets: tuple[SigningSecret, ...]

    @classmethod
    def unmade(cls, app: str) -> "AppSigning":
        """Return what an app has of which nothing is stored: signing is on, its first secret is to be made."""
        return cls(app, 0, True, ())

    def with_a_secret(self, key: bytes, now: int) -> "AppSigning":
        """Return it with this key as its first secret, which nobody has seen; nothing changes where it has one."""
        return self if self.secrets else self._changed(now, self.is_on, (SigningSecret(1, key, now),))

    def keys_at(self, now: float) -> tuple[bytes, ...]:
        """Return the keys that sign at `now` (ms UTC), the present one first; none where signing is off.

        Raises LookupError where signing is on and no key signs: such a call must not go out.
        """
        if not self.is_on:
            return ()
        keys = tuple(secret.key for secret in reversed(self.secrets) if secret.signs_at(now))
        if not keys:
            raise LookupError("no secret of its app signs")
        return keys

    def signing_at(self, now: float) -> tuple[SigningSecret, ...]:
        """Return the secrets that have not ended by `now`, ms UTC, oldest first."""
        return tuple(secret for secret in self.secrets if secret.signs_at(now))

    def rotated(self, key: bytes, overlap_ms: int, now: int) -> "AppSigning":
        """Return it with a new secret; the present one signs beside it for `overlap_ms`.

        A secret that nobody has seen ends at once: no receiver knows it. A repeat with the same key changes nothing.
        Raises `Conflict` where two that receivers know sign already, and an overlap is wanted.
        """
        if any(secret.key == key and secret.was_shown for secret in self.secrets):
            return self
        known = [secret for secret in self.signing_at(now) if secret.was_shown] if overlap_ms else []
        if len(known) >= MOST_AT_ONCE:
            raise Conflict(
                "overlap",
                f"secrets {known[0].id} and {known[1].id} both sign now",
                f"end secret {known[0].id} first, or give an overlap of 0s, which ends both",
            )
        ending = [replace(secret, ends_at=now + overlap_ms) for secret in known]
        newest = SigningSecret(self._last_id + 1, key, now, was_shown=True)
        return self._changed(now, self.is_on, (*ending, newest))

    def without(self, secret_id: int, now: int) -> "AppSigning":
        """Return it with this secret ended; raises `UnknownSecret`, and `Conflict` for the present one."""
        if secret_id not in {secret.id for secret in self.signing_at(now)}:
            raise UnknownSecret(self.app, secret_id)
        if secret_id == self._last_id:
            raise Conflict(
                "id",
                f"secret {secret_id} is the present one",
                "rotate with an overlap of 0s, which ends it for a new one; or switch signing off",
                about=Subject.SECRET,
            )
        left = tuple(secret for secret in self.secrets if secret.id != secret_id)
        return self._changed(now, self.is_on, left)

    def switched(self, is_on: bool, now: int) -> "AppSigning":
        """Return it with signing on or off; nothing changes where it is so already."""
        return self if self.is_on is is_on and self.version else self._changed(now, is_on, self.secrets)

    @property
    def _last_id(self) -> int:
        return self.secrets[-1].id if self.secrets else 0

    def _changed(self, now: int, is_on: bool, secrets: tuple[SigningSecret, ...]) -> "AppSigning":
        return AppSigning(self.app, max(self.version + 1, now), is_on, secrets)
