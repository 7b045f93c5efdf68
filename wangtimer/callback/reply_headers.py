"""What a target's answer says beside its status: when to come again, or where it moved to."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

# An address is shown to so many characters.
SHOWN_CHARACTERS = 150


def retry_after_ms(text: str, now_ms: float) -> int | None:
    """Return how long a `Retry-After` asks to wait, ms from now: seconds, or an HTTP date; None where it is neither.

    A date without an offset is one of UTC (RFC 9110, 5.6.7): one as C's asctime writes it, and one with `-0000`.
    """
    if text.isascii() and text.isdecimal():
        return int(text[:12]) * 1_000
    try:
        at = parsedate_to_datetime(text)
        in_utc = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return max(0, int(in_utc.timestamp() * 1_000 - now_ms))
    except (ValueError, TypeError, OverflowError):
        return None


def shown_place(location: str) -> str:
    """Return where a redirect points, without user, query and fragment; a long one is cut off, and ends with `…`."""
    try:
        parts = urlsplit(location)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    place = f"{scheme}//{host}{parts.path}" if host else parts.path
    shown = "".join(character if character.isprintable() else "?" for character in place[:SHOWN_CHARACTERS])
    return f"{shown}…" if len(place) > SHOWN_CHARACTERS else shown
