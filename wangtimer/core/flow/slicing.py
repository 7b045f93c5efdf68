"""Where a firing waits: slices, and how many buckets a minute is cut into."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

MINUTE_MS = 60_000
# The column holds so many characters; a host name has 253 at most.
LANE_CHARACTERS = 300
# Buckets of one queue: 0 to 255 are the common queue's, 256 to 511 the first own queue's. A minute has no more.
BUCKETS_A_QUEUE = 256
# A lane of no single app begins with this and the number of its queue; one of the common queue with neither.
_QUEUE_MARK = "q"
# The kinds of lanes that name a host.
_OF_HOSTS = ("host", "host-limit", "app-at-host")
# The app, and the part of a host that it calls: scheme, host and port; then `/` and the first segment of the path, or
# `#` and the name of the target. What stands behind the port is missing for a broker, and for all parts of a host that
# have no key of their own. Whether it answers is judged for each.
WayKey = tuple[str, str]
# Lanes of which is kept what their keys say.
_LANES_READ = 16_384
_HOST_AND_PART = re.compile(r"((?:[a-z]+://)?[^/#]*)(.*)", re.DOTALL)


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
    def queue(self) -> int:
        """The number of the queue by which its firings go; 0: the common one."""
        return self.bucket // BUCKETS_A_QUEUE

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

    They wait here, outside every process, in order of due moment. `key` is `host:` with the host, its port, the part
    of it that is called (as `WayKey` says) and the app, or `app:` and the app. Where a limit that somebody set leaves
    no call now, it is `limit:` and the app, `host-limit:` and the host, or `app-at-host:` with the host and the app. Or
    it is `pause:` and what an operator paused.

    What is not one app's has a lane for each queue of its own: `q`, the number of the queue and a colon stand before
    its key.
    """

    key: str

    @classmethod
    def of_way(cls, app: str, host: str, part: str = "") -> "SharedLane":
        """Return the lane of an app's calls to a part of a host that needs its own, or of those to all other parts."""
        return cls._of_both("host", app, f"{host}{part}")

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
        return cls._of_both("app-at-host", app, host)

    @classmethod
    def _of_both(cls, kind: str, app: str, host: str) -> "SharedLane":
        """Return a lane of an app and a host; of an impossibly long name of a host, its beginning."""
        left = LANE_CHARACTERS - len(f"{kind}: {app}")
        return cls(f"{kind}:{host[:left]} {app}")

    @classmethod
    def of_pause(cls, what: str) -> "SharedLane":
        """Return the lane of what an operator paused; `what` is its name among the pauses."""
        return cls(f"pause:{what}"[:LANE_CHARACTERS])

    def in_queue(self, queue: int) -> "SharedLane":
        """Return the lane like this one for a queue; what is one app's goes by the app, and is the same for all."""
        if self.app is not None or self.queue == queue:
            return self
        return SharedLane(f"{_mark(queue)}{self.shown}"[:LANE_CHARACTERS])

    @property
    def queue(self) -> int:
        """The number of the queue before its key; 0: the common one, or that of its app."""
        return _read(self.key).queue

    @property
    def shown(self) -> str:
        """Its key without a queue, as records show it."""
        return _read(self.key).shown

    @property
    def kind(self) -> str:
        """`host`, `app`, `limit`, `host-limit`, `app-at-host` or `pause`."""
        return _read(self.key).kind

    @property
    def name(self) -> str:
        """What stands behind the kind: the host with its port, the app, or what is paused."""
        return _read(self.key).name

    @property
    def app(self) -> str | None:
        """The app whose firings alone wait here; None in any other lane."""
        return _read(self.key).app

    @property
    def paused(self) -> str | None:
        """The name of the pause for whose end firings wait here; None in any other lane."""
        return self.name if self.kind == "pause" else None

    @property
    def is_of_limit(self) -> bool:
        """Whether firings wait here for a limit that somebody set."""
        return self.kind in ("limit", "host-limit", "app-at-host")

    @property
    def limited_host(self) -> str | None:
        """The host to which calls that wait here are limited; None in any other lane."""
        return self.host if self.is_of_limit else None

    @property
    def host(self) -> str | None:
        """The host and port whose calls wait here, with its limits or without; None in any other lane."""
        return _read(self.key).host

    @property
    def part(self) -> str:
        """The part of its host that is called; "" where it has none of its own."""
        return _read(self.key).part

    @property
    def tag(self) -> str:
        """The hash tag of its Redis keys, and its name in logs."""
        return f"lane:{self.key}"

    @property
    def ends_at(self) -> int:
        """0: it belongs to no minute."""
        return 0


def parted(text: str) -> tuple[str, str]:
    """Return a host, with its scheme if it has one, and the part of it that is called; that is "" if it has none."""
    found = _HOST_AND_PART.fullmatch(text)
    return (text, "") if found is None else (found[1], found[2])


class _Read(NamedTuple):
    """What the key of a lane says."""

    queue: int
    shown: str
    kind: str
    name: str
    app: str | None
    host: str | None
    part: str


# With thousands of lanes, each is asked for some of this each second.
@lru_cache(maxsize=_LANES_READ)
def _read(key: str) -> _Read:
    mark, _, rest = key.partition(":")
    is_marked = mark.startswith(_QUEUE_MARK) and mark[1:].isdecimal()
    queue = int(mark[1:]) if is_marked else 0
    shown = rest if queue else key
    kind, _, name = shown.partition(":")
    at, _, of_app = name.partition(" ")
    host, part = parted(at) if kind in _OF_HOSTS else (None, "")
    return _Read(queue, shown, kind, name, _app_of(kind, name, of_app), host, part if kind == "host" else "")


def _app_of(kind: str, name: str, behind_host: str) -> str | None:
    if kind in ("app", "limit"):
        return name
    if kind in ("host", "app-at-host"):
        return behind_host
    paused, _, app = name.partition(":")
    return app if (kind, paused) == ("pause", "app") else None


def _mark(queue: int) -> str:
    return f"{_QUEUE_MARK}{queue}:" if queue else ""


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

    One for each `firings_per_bucket` planned into the minute, never more than `most`. The buckets of an app whose
    queue has a number are others than those of all other apps: `queue_of` tells the number, 0 for the common queue.
    """

    firings_per_bucket: int
    most: int
    queue_of: Callable[[str], int]

    def buckets_for(self, planned: int) -> int:
        """Return how many buckets a minute has once so many firings are planned into it."""
        return min(self.most, 1 + max(0, planned - 1) // self.firings_per_bucket)

    def first_of(self, app: str) -> int:
        """Return the first bucket of the app's queue. Raises `StoreAway` if nobody can tell the queue."""
        return self.queue_of(app) * BUCKETS_A_QUEUE

    def moved(self, app: str, bucket: int) -> int:
        """Return the bucket, or the one like it of the app's queue."""
        return self.first_of(app) + bucket % BUCKETS_A_QUEUE
