"""Every key of the store: this file alone defines how they are written.

Exception: `SliceStore` and `LaneStore` name the last part of the keys of a slice or lane.

The keys of one slice or lane share one hash tag, and those of the agenda share another: a script that moves firings
touches one slice, one lane, or the agenda. Only reading definitions takes keys with different tags at once, which
Redis Cluster would refuse.
"""

from wangtimer.core.flow.slicing import SliceOrLane

DAY_S = 86_400


class Keys:
    """The keys of a deployment, all starting with its prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        agenda = f"{prefix}:{{agenda}}"
        self.agenda = f"{agenda}:slices"
        self.looked = f"{agenda}:looked"
        self.closing = f"{agenda}:closing"
        self.fed = f"{agenda}:fed"
        self.announced = f"{agenda}:announced"
        self.feeding = f"{agenda}:feeding"
        self.feeder = f"{agenda}:feeder"
        self.part = f"{agenda}:part"
        self.narrow = f"{agenda}:narrow"
        self.compared = f"{agenda}:compared"
        self.load = f"{agenda}:load"
        self.strain = f"{agenda}:strain"
        self.lanes = f"{prefix}:lanes"
        self.web = f"{prefix}:web"
        self.queue_workers = f"{prefix}:queue-workers"
        self.outbox = f"{prefix}:outbox"
        self.told = f"{prefix}:told"
        self.signing = f"{prefix}:signing"
        self.bad_timers = f"{prefix}:bad"
        self.quotas = f"{prefix}:quotas"
        self.bad_notes = f"{prefix}:bad:notes"
        self.failing_hosts = f"{prefix}:failing-hosts"
        self.refusals = f"{prefix}:egress:refusals"
        consumers = f"{prefix}:{{consumers}}"
        self.consumer_list = f"{consumers}:of:"
        self.consumer_bytes = f"{consumers}:bytes"
        self.consumer_ends = f"{consumers}:ends"
        self.consumers_seen = f"{consumers}:seen"
        # Channels.
        self.consumers_came = f"{consumers}:came"
        self.consumers_spoke = f"{consumers}:spoke"

    def of_slice(self, slice_: SliceOrLane, *names: str) -> list[str]:
        """Return the named keys of a slice or lane.

        Both have due, running, owner, suspect, deaths. A slice also has armed and lock; a lane also has rest,
        and the lane of a limit permits and tokens.
        """
        return [f"{self._prefix}:{{{slice_.tag}}}:{name}" for name in names]

    def replica(self, name: str) -> str:
        """Return the key of a replica's text."""
        return f"{self._prefix}:{name}"

    def definition(self, timer_id: int) -> str:
        """Return the key of a timer's definition."""
        return f"{self._prefix}:def:{timer_id}"

    def control_pace(self, app: str) -> str:
        """Return the key of the moment from which on an app's answers may give timers their next ones."""
        return f"{self._prefix}:control-pace:{app}"

    def days(self, app: str) -> tuple[str, str]:
        """Return the keys of the days of an app's calendars, and of when these were told."""
        return f"{self._prefix}:days-of:{app}", f"{self._prefix}:days-told:{app}"

    def off(self, timer_id: int, since: int) -> str:
        """Return the key that says since when Redis knew that a timer, off since a moment (ms UTC), is off."""
        return f"{self._prefix}:off:{timer_id}:{since}"


def expiry_of(slice_: SliceOrLane, now_ms: float) -> int:
    """Return when a slice's keys expire, s UTC. SQL is the truth, so firings that Redis then forgets are not lost."""
    return int(max(now_ms, slice_.ends_at) // 1_000) + DAY_S
