"""A secret that callbacks of one app are signed with."""

import binascii
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass

PREFIX = "whsec_"
# Bytes of a key, by Standard Webhooks; and of those made here.
LEAST_BYTES, MOST_BYTES = 24, 64
MADE_BYTES = 32


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """One secret of an app; `id` counts from 1 within the app, and never comes again.

    It signs until `ends_at` (ms UTC; None: until another replaces it). `was_shown`: somebody has got its value, so a
    receiver may know it.
    """

    id: int
    key: bytes
    created_at: int
    ends_at: int | None = None
    was_shown: bool = False

    def signs_at(self, now: float) -> bool:
        """Tell whether it signs at `now`, ms UTC."""
        return self.ends_at is None or now < self.ends_at

    @property
    def text(self) -> str:
        """The secret as people pass it on: `whsec_` and base64."""
        return PREFIX + b64encode(self.key).decode()

    def __repr__(self) -> str:
        """Leave the key out: this may get into a log."""
        return f"SigningSecret(id={self.id}, created_at={self.created_at}, ends_at={self.ends_at})"


def new_key() -> bytes:
    """Return a new key, from the system's source of random bytes."""
    return secrets.token_bytes(MADE_BYTES)


def read_key(text: str) -> bytes:
    """Return the key of a secret in text; raises ValueError, which does not repeat the text."""
    if not text.startswith(PREFIX):
        raise ValueError(f"it does not begin with {PREFIX}")
    try:
        key = b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"what follows {PREFIX} is not base64") from None
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ValueError(f"it holds {len(key)} bytes, not {LEAST_BYTES} to {MOST_BYTES}")
    return key
