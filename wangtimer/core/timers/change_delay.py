"""How soon a change to a timer takes effect, as its answer says; and how long executors believe what Redis was told."""

# If Redis could not be told of a change at once, the change takes effect for moments later than this after the answer.
COUNTS_WITHIN_MS = 8_000
# The times that two processes read from the one clock never differ by so much, except right after it was set.
CLOCKS_APART_MS = 500


def counts_within_ms(is_told: bool, lead_ms: int) -> int:
    """Return the ms after which a change surely takes effect, counted from its answer; `is_told`: Redis knows of it.

    Members are judged when they are claimed, up to `lead_ms` before their moment.
    """
    return lead_ms if is_told else COUNTS_WITHIN_MS


def is_believed(told_until: int, now: float, lead_ms: int) -> bool:
    """Tell whether Redis was told recently enough (up to `told_until`; both ms UTC) to be believed on definitions."""
    age_ms = now - told_until
    return -CLOCKS_APART_MS <= age_ms <= COUNTS_WITHIN_MS - lead_ms - CLOCKS_APART_MS
