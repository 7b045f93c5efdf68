"""An API key as it is stored: all but its secret."""

from dataclasses import dataclass

from wangtimer.core.apps.key_text import KeyText
from wangtimer.core.apps.scopes import Scope

KEY_NAME_CHARACTERS = 128


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key of an app; `app` None: an operator's. Moments in ms UTC, None: never.

    `fingerprint` is the SHA-256 of the key. `last_used_at` is written once a minute at most.
    """

    id: str
    app: str | None
    name: str
    fingerprint: str
    scopes: frozenset[Scope]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None

    def has_expired(self, now: int) -> bool:
        """Tell whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


def new_key(
    app: str | None, name: str, scopes: frozenset[Scope], now: int, expires_at: int | None = None
) -> tuple[KeyText, StoredKey]:
    """Return a new random key as its owner gets it, this once, and as it is stored."""
    text = KeyText.new()
    return text, StoredKey(text.id, app, name, text.fingerprint, scopes, now, expires_at)
