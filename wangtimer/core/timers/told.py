"""How soon a change to a timer counts: what its answer says, and for how long executors believe what Redis was told."""

# Where Redis could not be told of a change at once, it counts for every moment later than this after the answer.
COUNTS_WITHIN_MS = 8_000
# Two processes' times of the one clock are never so far apart, but right after it was put.
CLOCKS_APART_MS = 500


def counts_within_ms(is_told: bool, lead_ms: int) -> int:
    """Return how long after its answer a change counts for sure, ms; `is_told`: Redis knows of it.

    What is claimed is judged, and that is up to `lead_ms` ahead of its moment.
    """
    return lead_ms if is_told else COUNTS_WITHIN_MS


def is_believed(told_until: int, now: float, lead_ms: int) -> bool:
    """Tell whether Redis was told lately enough (up to `told_until`; both ms UTC) for its word on definitions to do."""
    age_ms = now - told_until
    return -CLOCKS_APART_MS <= age_ms <= COUNTS_WITHIN_MS - lead_ms - CLOCKS_APART_MS
