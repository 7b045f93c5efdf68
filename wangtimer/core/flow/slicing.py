"""Where a firing waits: slices, and how many buckets a minute is cut into."""

from dataclasses import dataclass

MINUTE_MS = 60_000
# The column holds so many characters; a host name has 253 at most.
LANE_CHARACTERS = 300


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


@dataclass(frozen=True, slots=True, order=True)
class SharedLane:
    """Firings that are due, or nearly, and found no room: at their host, or for their app.

    They wait here, outside every process, in order of due moment. `key` is `host:` and the host with its port, or
    `app:` and the app. Where a limit that somebody set leaves no call now, it is `limit:` and the app, `host-limit:`
    and the host, or `app-at-host:` with the host and the app. Or it is `pause:` and what an operator paused.
    """

    key: str

    @classmethod
    def of_host(cls, host: str) -> "SharedLane":
        """Return the lane of a host; an impossibly long name is shortened."""
        return cls(f"host:{host}"[:LANE_CHARACTERS])

    @classmethod
    def of_app(cls, app: str) -> "SharedLane":
        """Return the lane of an app."""
        return cls(f"app:{app}")

    @classmethod
    def of_limit(cls, app: str) -> "SharedLane":
        """Return the lane of an app whose calls are limited."""
        return cls(f"limit:{app}")

    @classmethod
    def of_host_limit(cls, host: str) -> "SharedLane":
        """Return the lane of a host to which calls are limited, over all apps."""
        return cls(f"host-limit:{host}"[:LANE_CHARACTERS])

    @classmethod
    def of_app_at_host(cls, app: str, host: str) -> "SharedLane":
        """Return the lane of an app whose calls to one host are limited."""
        return cls(f"app-at-host:{host} {app}"[:LANE_CHARACTERS])

    @classmethod
    def of_pause(cls, what: str) -> "SharedLane":
        """Return the lane of what an operator paused; `what` is its name among the pauses."""
        return cls(f"pause:{what}"[:LANE_CHARACTERS])

    @property
    def paused(self) -> str | None:
        """The name of the pause for whose end firings wait here; None in any other lane."""
        kind, _, what = self.key.partition(":")
        return what if kind == "pause" else None

    @property
    def limited_app(self) -> str | None:
        """The app whose limit firings wait for here; None in any other lane."""
        kind, _, app = self.key.partition(":")
        return app if kind == "limit" else None

    @property
    def is_of_limit(self) -> bool:
        """Whether firings wait here for a limit that somebody set."""
        return self.key.partition(":")[0] in ("limit", "host-limit", "app-at-host")

    @property
    def limited_host(self) -> str | None:
        """The host to which calls that wait here are limited; None in any other lane."""
        kind, _, name = self.key.partition(":")
        return name.partition(" ")[0] if kind in ("host-limit", "app-at-host") else None

    @property
    def tag(self) -> str:
        """The hash tag of its Redis keys, and its name in logs."""
        return f"lane:{self.key}"

    @property
    def ends_at(self) -> int:
        """0: it belongs to no minute."""
        return 0


# Where a member stands.
SliceOrLane = Slice | SharedLane


@dataclass(frozen=True, slots=True)
class TriggerOrder:
    """The arguments of a trigger task: the slice, its lock's token, and how many members may stand armed."""

    slice: Slice
    token: str
    credit: int


@dataclass(frozen=True, slots=True)
class BucketRule:
    """How many buckets a minute gets: few while little is due, since small chunks are costly.

    One for each `firings_per_bucket` planned into the minute, never more than `most`.
    """

    firings_per_bucket: int
    most: int

    def buckets_for(self, planned: int) -> int:
        """Return how many buckets a minute has once so many firings are planned into it."""
        return min(self.most, 1 + max(0, planned - 1) // self.firings_per_bucket)
