"""Buckets where no app has a queue of its own."""

from wangtimer.core.flow.slicing import BucketRule


def buckets(firings_per_bucket: int, most: int) -> BucketRule:
    """Return the rule of the common queue."""
    return BucketRule(firings_per_bucket, most, lambda _app: 0)
