"""A timer's outcomes as they come: its list of firings is read again and again."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import ceil

from .calls import MOST_A_PAGE, Which
from .errors import NotFound
from .filters import FiringFilter
from .firing_calls import FiringCalls
from .firing_types import Firing
from .timer_calls import TimerCalls
from .transport import Page
from .values import Moment, moment_ms, written

EVERY_S = 1.0
LOOK_AT_STOP_EVERY_S = 1.0
# How far back each read goes. A requested firing enters the list a little after its own moment.
LOOK_BACK_MS = 60_000
# Of older firings, how many without an outcome are read each time.
LOOKED_AT = 20


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

        They come in the order of their moments, but for firings that wait long for their outcome. A long range is read
        page by page. It asks every so many seconds. It ends after `most` outcomes, when `stop` is set, and when the
        timer is finished or deleted and none of its firings waits for an outcome. It does not see replays and backfills
        of moments more than a minute past. Raises `NotFound` where there is no such timer.
        """
        followed = Followed(self, self.get_timer(which)["id"], every, stop)
        return islice(followed.outcomes(since), most)

    def _pause(self, seconds: float, stop: threading.Event | None) -> None:
        """Wait as the client does; with `stop`, in short parts, so that it ends soon after `stop` is set."""
        parts = 1 if stop is None else max(1, ceil(seconds / LOOK_AT_STOP_EVERY_S))
        for _ in range(parts):
            if stop is not None and stop.is_set():
                return
            self._transport.pause(seconds / parts)


@dataclass(slots=True)
class Followed:
    """A timer that is followed.

    Each read lists firings from `start_ms` on. `open` are the ids of all firings without an outcome, however many.
    `told` are the outcomes, each with its moment, that the next read finds again.
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
            is_quiet = True
            for firing in chain(self._older(), self._latest()):
                is_quiet = False
                yield firing
                if self._is_stopped:
                    return
            if was_over and is_quiet and not self.open:
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
            for firing in self.client.firings(timer=self.timer_id, status="pending"):
                self.open[firing["id"]] = None
            for _ in self._latest():
                pass

    def _latest(self) -> Iterator[Firing]:
        """Yield the latest firings whose outcome is new, in the order of their moments."""
        for page in self._pages():
            fresh = [firing for firing in page if self._is_fresh(firing)]
            self._begin_later(moment_ms(page[-1]["fireAt"]))
            yield from fresh

    def _is_fresh(self, firing: Firing) -> bool:
        if firing["status"] == "pending":
            self.open[firing["id"]] = None
            return False
        return self._is_new(firing, moment_ms(firing["fireAt"]))

    def _begin_later(self, newest_ms: int) -> None:
        """Let the next read begin a little before the newest firing that this one has come to."""
        self.start_ms = max(newest_ms - LOOK_BACK_MS, self.start_ms or 0)
        self.told = {outcome: at for outcome, at in self.told.items() if at >= self.start_ms}

    def _pages(self) -> Iterator[list[Firing]]:
        """Yield firings from `start_ms` on, earliest first, in spans of a page: the service lists the latest first."""
        page = self._page(self.start_ms, None)
        rows = page["items"]
        if page["nextCursor"] is None:
            if rows:
                yield rows[::-1]
            return
        newest_ms, low_ms = moment_ms(rows[0]["fireAt"]), self.start_ms or 0
        width_ms = _narrower(rows)
        while low_ms <= newest_ms and not self._is_stopped:
            high_ms = min(low_ms + width_ms - 1, newest_ms)
            page = self._page(low_ms, high_ms)
            rows = page["items"]
            if page["nextCursor"] is not None:
                width_ms = _narrower(rows)
                continue
            if rows:
                yield rows[::-1]
            low_ms = high_ms + 1
            if len(rows) < MOST_A_PAGE // 2:
                width_ms *= 2

    def _page(self, low_ms: int | None, high_ms: int | None) -> Page[Firing]:
        """Return the latest firings of a span of time, both ends in it; None: no limit, and now."""
        wanted: FiringFilter = {"timer": self.timer_id}
        if low_ms is not None:
            wanted["since"] = low_ms
        if high_ms is not None:
            wanted["until"] = high_ms
        return self.client.list_firings(limit=MOST_A_PAGE, **wanted)

    def _older(self) -> Iterator[Firing]:
        """Yield older firings that had no outcome before and have one now."""
        older = [
            firing_id
            for firing_id in self.open
            if self.start_ms is not None and int(firing_id.rpartition("-")[2]) < self.start_ms
        ]
        still_open = 0
        for firing_id in older:
            if still_open == LOOKED_AT:
                return
            del self.open[firing_id]
            try:
                firing: Firing = self.client.get_firing(firing_id)
            except NotFound:
                continue
            if firing["status"] == "pending":
                # It goes to the end, so each has its turn.
                self.open[firing_id] = None
                still_open += 1
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


def _narrower(rows: Sequence[Firing]) -> int:
    """Return half the span of time, in ms, of rows that are latest first: of firings that come evenly, half a page."""
    return max(1, (moment_ms(rows[0]["fireAt"]) - moment_ms(rows[-1]["fireAt"])) // 2)
