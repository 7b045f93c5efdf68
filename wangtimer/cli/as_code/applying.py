"""Finds out what has to change: reads the files, and of the service what they are about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wangtimer.cli.as_code.differences import Differences, Row, differences_of, of_other_sets
from wangtimer.cli.as_code.timer_files import BadFiles, Fault, TimerInFile, read_timer_files
from wangtimer.cli.as_code.wanted_set import SET, Wanted, own_calendars, read_wanted_set
from wangtimer.cli.as_code.wanted_timer import any_calendar, one_of
from wangtimer.client import Client

# So many timers are asked for one by one; for more, the app's list is read.
FEW = 50
# The service's time comes in whole seconds, and an answer takes a while.
CLOSE_MS = 2_000


@dataclass(frozen=True, slots=True)
class Applying:
    """Compares files with the timers of an app. `own_now` tells the time of this host (ms UTC)."""

    client: Client
    set_name: str | None
    own_now: Callable[[], int]

    def differences(self, paths: Sequence[str]) -> Differences:
        """Return what has to change; raises `BadFiles`, before the service is asked where the files alone tell."""
        written = read_timer_files(paths)
        wanted = self._wanted(written, self.own_now())
        rows = self._rows({one.timer.key for one in wanted})
        if (service_now := self._other_time()) is not None:
            wanted = self._wanted(written, service_now)
        if others := of_other_sets(wanted, rows, self.set_name):
            raise BadFiles([_of_other_set(*one) for one in others])
        return differences_of(wanted, rows, self.set_name)

    def _other_time(self) -> int | None:
        """Return the service's time (ms UTC), which says what is over; None where this host's is as good."""
        service_now = self.client.answered_at
        if service_now is None or abs(self.own_now() - service_now) <= CLOSE_MS:
            return None
        return service_now

    def _wanted(self, written: Sequence[TimerInFile], now: int) -> list[Wanted]:
        app = str(self.client.app)
        wanted = read_wanted_set(written, app, self.set_name, now, any_calendar)
        if not own_calendars(written):
            return wanted
        known = one_of(frozenset(one["name"] for one in self.client.calendars()))
        return read_wanted_set(written, app, self.set_name, now, known)

    def _rows(self, keys: set[str]) -> list[Row]:
        """Return the rows of the timers of these keys, and of those of the set."""
        rows: dict[Any, Row] = {}
        if self.set_name is not None:
            rows = {row["key"]: row for row in self.client.timers(tag=SET + self.set_name)}
        left = sorted(keys - rows.keys())
        if len(left) > FEW:
            left = sorted(set(left) - self._unknown(left))
        if len(left) > FEW:
            wanted = set(left)
            return [*rows.values(), *(row for row in self.client.timers() if row["key"] in wanted)]
        return [*rows.values(), *(row for key in left for row in self.client.timers(key=key))]

    def _unknown(self, keys: Sequence[str]) -> set[str]:
        """Return those of the keys that no timer of the app has."""
        # A dry run only counts.
        counts = self.client.change_timers_in_rounds("disable", dry_run=True, keys=keys)
        return {key for count in counts for key in count.get("unknownKeys", ())}


def _of_other_set(wanted: Wanted, name: str) -> Fault:
    written = wanted.written
    text = f"it belongs to the set {name!r}; apply it with --set {name}, or give it another key"
    return Fault(written.file, written.line, wanted.timer.key, text)
