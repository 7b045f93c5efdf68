"""API keys as text: `wtk_<id>_<secret><checksum>`.

The prefix and the checksum let scanners of repositories and logs find a leaked key without asking anybody; GitHub's
tokens have the same form. The checksum is the CRC-32 of all that stands before it.
"""

import hmac
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Self
from zlib import crc32

PREFIX = "wtk_"
ID_CHARACTERS = 12
SECRET_BITS = 256

_DIGITS = digits + ascii_uppercase + ascii_lowercase
# In base 62: 256 bits, and 32.
_SECRET_DIGITS, _CHECKSUM_DIGITS = 43, 6
_FORM = re.compile(
    rf"{PREFIX}([0-9A-Za-z]{{{ID_CHARACTERS}}})_[0-9A-Za-z]{{{_SECRET_DIGITS}}}([0-9A-Za-z]{{{_CHECKSUM_DIGITS}}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class KeyText:
    """A key that its owner has. `repr` does not show it, so that no log can."""

    id: str
    text: str

    def __repr__(self) -> str:
        return f"KeyText({self.id})"

    @classmethod
    def new(cls) -> Self:
        """Return a new random key."""
        key_id = "".join(secrets.choice(_DIGITS) for _ in range(ID_CHARACTERS))
        head = f"{PREFIX}{key_id}_{_base62(secrets.randbits(SECRET_BITS), _SECRET_DIGITS)}"
        return cls(key_id, head + _checksum(head))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the key in a text; None where it is none, or has a slip that its checksum shows."""
        found = _FORM.fullmatch(text)
        if found is None or _checksum(text[:-_CHECKSUM_DIGITS]) != found[2]:
            return None
        return cls(found[1], text)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the key, in hexadecimal: what is stored. A slow hash would add nothing to 256 random bits."""
        return sha256(self.text.encode()).hexdigest()

    def has(self, fingerprint: str) -> bool:
        """Tell whether this is the key with that fingerprint, in a time that does not depend on the difference."""
        return hmac.compare_digest(self.fingerprint, fingerprint)


def _checksum(head: str) -> str:
    return _base62(crc32(head.encode()), _CHECKSUM_DIGITS)


def _base62(number: int, width: int) -> str:
    found = ""
    for _ in range(width):
        number, digit = divmod(number, len(_DIGITS))
        found = _DIGITS[digit] + found
    return found
