"""Backlog: firings so late that those yet to come go before them, wherever firings queue."""

# A later firing has missed its moment by far, and a little more delay costs nothing; one due now can still be on time
# to the millisecond. If this were shorter, the tail of each full second's firings would count as backlog. If it were
# longer, a burst would hold up firings due right after it.
LATE_MS = 250
# A queue serves its backlog once in so many times even if on-time work never ends, so that nothing waits for ever.
BACKLOG_SHARE = 4
# If more firings are due together than may be armed or held at once, one in so many places is kept for later ones.
CROWD_SHARE = 8


def is_backlog(due_at: float, now: float) -> bool:
    """Tell whether a firing due at this moment (ms UTC) is backlog."""
    return due_at < now - LATE_MS
