"""Where a firing waits: slices, and how many buckets a minute is cut into."""

from dataclasses import dataclass

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, order=True)
class Slice:
    """The firings of one minute that share one bucket; `minute` counts minutes since 1970-01-01 UTC."""

    minute: int
    bucket: int

    @classmethod
    def at(cls, moment_ms: float, bucket: int) -> "Slice":
        """Return the slice of this bucket whose minute holds the moment."""
        return cls(int(moment_ms // MINUTE_MS), bucket)

    @classmethod
    def parse(cls, tag: str) -> "Slice":
        """Read back what `tag` wrote."""
        minute, bucket = tag.split(":")
        return cls(int(minute), int(bucket))

    @property
    def tag(self) -> str:
        """`minute:bucket`: the hash tag of its Redis keys, and its name in messages and logs."""
        return f"{self.minute}:{self.bucket}"

    @property
    def starts_at(self) -> int:
        """The first millisecond of its minute."""
        return self.minute * MINUTE_MS

    @property
    def ends_at(self) -> int:
        """The first millisecond after its minute."""
        return self.starts_at + MINUTE_MS


@dataclass(frozen=True, slots=True)
class TriggerOrder:
    """What a trigger task is told: the slice, the token its lock holds, how many members may stand armed."""

    slice: Slice
    token: str
    credit: int


@dataclass(frozen=True, slots=True)
class BucketRule:
    """How many buckets a minute gets: few while little is due, since small chunks are what costs.

    One for each `firings_per_bucket` planned into the minute, never more than `most`.
    """

    firings_per_bucket: int
    most: int

    def buckets_for(self, planned: int) -> int:
        """Return how many buckets a minute has once so many firings are planned into it."""
        return min(self.most, 1 + max(0, planned - 1) // self.firings_per_bucket)
