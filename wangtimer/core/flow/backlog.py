"""What is backlog: firings so late already that those yet to come go first, at every place where firings queue."""

# What is later has missed its moment by far, and a little more costs nobody anything; what is due now may still be on
# time to the millisecond. Shorter, and the tail of each full second's firings would count; longer, and a burst would
# hold up what comes due right after it.
LATE_MS = 250
# A queue serves its backlog once in so many times even where on-time work never ends, so that nothing waits for ever.
BACKLOG_SHARE = 4
# Where more comes due together than may stand armed, or be held at once, one in so many places is for what comes later.
CROWD_SHARE = 8


def is_backlog(due_at: float, now: float) -> bool:
    """Tell whether a moment (ms UTC) is so long past."""
    return due_at < now - LATE_MS
