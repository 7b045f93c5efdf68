"""Keeps an API process small: its threads share few heaps."""

from ctypes import CDLL

# glibc has up to eight heaps for each core, and each keeps what the largest requests of its threads took.
MOST_HEAPS = 2
_M_ARENA_MAX = -8


def share_heaps() -> None:
    """Let all threads of this process share `MOST_HEAPS` heaps. Call it before they start. Other libraries have one."""
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, MOST_HEAPS)
