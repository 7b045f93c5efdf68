"""Writes a moment by RFC 3339; in the code, a moment is ms since 1970-01-01 UTC."""

from datetime import UTC, datetime, tzinfo
from functools import lru_cache


@lru_cache(maxsize=1_024)  # an answer has the same moment in several places
def show_moment(moment_ms: int, zone: tzinfo = UTC) -> str:
    """Return the moment as text with ms, such as 2026-11-20T18:16:51.123Z."""
    second = datetime.fromtimestamp(moment_ms // 1_000, zone)
    shown = second.replace(microsecond=moment_ms % 1_000 * 1_000).isoformat(timespec="milliseconds")
    return shown[:-6] + "Z" if shown.endswith("+00:00") else shown
