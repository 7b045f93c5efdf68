"""A timer's outcomes as they come: its list of firings is read again and again."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from .calls import Which
from .errors import NotFound
from .firing_calls import FiringCalls
from .firing_types import Firing
from .timer_calls import TimerCalls
from .values import Moment, moment_ms, written

EVERY_S = 1.0
# How far back each read goes. A requested firing enters the list a little after its own moment.
LOOK_BACK_MS = 60_000
# Older firings without an outcome: how many are read each time, and how many are remembered at most.
LOOKED_AT = 20
MOST_OPEN = 1_000


class FollowCalls(TimerCalls, FiringCalls):
    """Wait for the outcomes of a timer's firings. Each method raises `ClientError`."""

    def follow(
        self,
        which: Which,
        *,
        since: Moment | None = None,
        most: int | None = None,
        every: float = EVERY_S,
        stop: threading.Event | None = None,
    ) -> Iterator[Firing]:
        """Yield each firing of a timer that gets its outcome from now on; with `since`, also those from that moment on.

        It asks every so many seconds. It ends after `most` outcomes, when `stop` is set, and when the timer is finished
        or deleted and none of its firings waits for an outcome. It does not see replays and backfills of moments more
        than a minute past. Raises `NotFound` where there is no such timer.
        """
        followed = Followed(self, self.get_timer(which)["id"], every, stop)
        return islice(followed.outcomes(since), most)

    def _pause(self, seconds: float, stop: threading.Event | None) -> None:
        if stop is None:
            self._transport.pause(seconds)
        else:
            stop.wait(seconds)


@dataclass(slots=True)
class Followed:
    """A timer that is followed.

    Each read lists firings from `start_ms` on. `open` are firings without an outcome. `told` are the outcomes, each
    with its moment, that the next read finds again.
    """

    client: FollowCalls
    timer_id: int
    every_s: float
    stop: threading.Event | None
    start_ms: int | None = None
    open: dict[str, None] = field(default_factory=dict)
    told: dict[tuple[str, int, str], int] = field(default_factory=dict)

    def outcomes(self, since: Moment | None) -> Iterator[Firing]:
        """Yield outcomes until it is over."""
        if since is None:
            self._pass_by_what_was()
        else:
            self.start_ms = moment_ms(written(since))
        was_over = False
        while not self._is_stopped:
            fresh = sorted([*self._latest(), *self._older()], key=lambda firing: firing["fireAt"])
            yield from fresh
            if was_over and not fresh and not self.open:
                return
            was_over = not self.open and self._is_over()
            # One more read after the end: firings that came due meanwhile are in the list by now.
            if not was_over:
                self.client._pause(self.every_s, self.stop)

    @property
    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def _pass_by_what_was(self) -> None:
        for latest in self.client.firings(timer=self.timer_id, most=1):
            self.start_ms = moment_ms(latest["fireAt"]) - LOOK_BACK_MS
            for firing in self.client.firings(timer=self.timer_id, status="pending", most=MOST_OPEN):
                self.open[firing["id"]] = None
            list(self._latest())

    def _latest(self) -> Iterator[Firing]:
        """Yield the latest firings whose outcome is new."""
        newest = start = self.start_ms
        for firing in self._listed(start):
            fire_at = moment_ms(firing["fireAt"])
            newest = fire_at if newest is None else max(newest, fire_at)
            if firing["status"] == "pending":
                self._keep_open(firing["id"])
            elif self._is_new(firing, fire_at):
                yield firing
        if newest is not None:
            self.start_ms = max(newest - LOOK_BACK_MS, start or 0)
            self.told = {one: at for one, at in self.told.items() if at >= self.start_ms}

    def _listed(self, start_ms: int | None) -> Iterator[Firing]:
        if start_ms is None:
            return self.client.firings(timer=self.timer_id)
        return self.client.firings(timer=self.timer_id, since=start_ms)

    def _keep_open(self, firing_id: str) -> None:
        self.open[firing_id] = None
        if len(self.open) > MOST_OPEN:
            del self.open[next(iter(self.open))]

    def _older(self) -> Iterator[Firing]:
        """Yield older firings that had no outcome before and have one now."""
        older = [one for one in self.open if self.start_ms is not None and _moment_in(one) < self.start_ms]
        for firing_id in older[:LOOKED_AT]:
            del self.open[firing_id]
            try:
                firing: Firing = self.client.get_firing(firing_id)
            except NotFound:
                continue
            if firing["status"] == "pending":
                # It goes to the end, so each has its turn.
                self.open[firing_id] = None
            else:
                yield firing

    def _is_new(self, firing: Firing, fire_at: int) -> bool:
        self.open.pop(firing["id"], None)
        outcome = (firing["id"], firing["attempt"], firing["status"])
        is_new = outcome not in self.told
        self.told[outcome] = fire_at
        return is_new

    def _is_over(self) -> bool:
        try:
            return self.client.get_timer(self.timer_id)["status"] == "finished"
        except NotFound:
            return True


def _moment_in(firing_id: str) -> int:
    return int(firing_id.rpartition("-")[2])
