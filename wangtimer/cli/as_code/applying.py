"""Finds out what has to change: reads the files, and of the service what they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wangtimer.cli.as_code.differences import Differences, Row, differences_of, of_other_sets
from wangtimer.cli.as_code.timer_files import BadFiles, Fault, TimerInFile, read_timer_files
from wangtimer.cli.as_code.wanted_set import SET, Wanted, own_calendars, read_wanted_set
from wangtimer.cli.as_code.wanted_timer import any_calendar, one_of
from wangtimer.client import Client

# So many timers are asked for one by one; for more, the app's list is read.
FEW = 50


@dataclass(frozen=True, slots=True)
class Applying:
    """Compares files with the timers of an app at `now` (ms UTC)."""

    client: Client
    set_name: str | None
    now: int

    def differences(self, paths: Sequence[str]) -> Differences:
        """Return what has to change; raises `BadFiles`, before the service is asked where the files alone tell."""
        written = read_timer_files(paths)
        wanted = self._wanted(written)
        rows = self._rows({one.timer.key for one in wanted})
        if others := of_other_sets(wanted, rows, self.set_name):
            raise BadFiles([_of_other_set(*one) for one in others])
        return differences_of(wanted, rows, self.set_name)

    def _wanted(self, written: Sequence[TimerInFile]) -> list[Wanted]:
        app = str(self.client.app)
        wanted = read_wanted_set(written, app, self.set_name, self.now, any_calendar)
        if not own_calendars(written):
            return wanted
        known = one_of(frozenset(one["name"] for one in self.client.calendars()))
        return read_wanted_set(written, app, self.set_name, self.now, known)

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
