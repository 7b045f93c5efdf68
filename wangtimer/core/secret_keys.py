"""The keys that secrets are encrypted with, as settings have them: `id:base64`, several with commas or on lines."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from os import urandom

KEY_BYTES = 32
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


def read_secret_keys(text: str) -> dict[str, bytes]:
    """Return the keys by id, in order, without # lines. Raises ValueError, which shows no character of a key."""
    lines = [line.strip() for line in text.splitlines()]
    parts = [part.strip() for line in lines if not line.startswith("#") for part in line.split(",")]
    keys: dict[str, bytes] = {}
    for number, part in enumerate(filter(None, parts), 1):
        key_id, colon, value = part.partition(":")
        if not colon or not _ID.fullmatch(key_id):
            raise ValueError(
                f"key {number} is not written as id:base64, with an id of letters, digits, - and _; "
                "`wangtimer secrets key` makes one"
            )
        if key_id in keys:
            raise ValueError(f"key {number} has the id of another one; give each its own")
        keys[key_id] = _key(value, number)
    return keys


def new_secret_key(key_id: str) -> str:
    """Return a new random key, as settings have it; raises ValueError for an id that no key can have."""
    if not _ID.fullmatch(key_id):
        raise ValueError("an id has 1 to 32 letters, digits, - and _")
    return f"{key_id}:{b64encode(urandom(KEY_BYTES)).decode()}"


def _key(value: str, number: int) -> bytes:
    try:
        key = b64decode(value, validate=True)
    except Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(
            f"key {number} is not {KEY_BYTES} bytes in base64; `wangtimer secrets key` makes one"
        )
    return key
