"""Makes timers of a source's entries and compares each with its entry."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from wangtimer.cli.as_code.wanted_timer import any_calendar, read_wanted
from wangtimer.cli.importing.entries import Entry, Found, NotTaken, Refusal
from wangtimer.cli.importing.held_against import hold_against
from wangtimer.cli.importing.target_mapping import TargetMapping
from wangtimer.core.errors import InvalidInput
from wangtimer.core.schedules.schedule import Schedule

# Any app will do: the meaning of the timers does not depend on it.
ANY_APP = "import"


@dataclass(frozen=True, slots=True)
class Imported:
    """An entry and the timer it becomes: `document` is the timer in v1, `moments` (ms UTC) are its next ones."""

    entry: Entry
    document: dict[str, Any]
    schedule: Schedule
    moments: list[int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Importing:
    """Makes timers of entries at `now` (ms UTC)."""

    source: str
    mapping: TargetMapping
    now: int
    accepts_clock_changes: bool = False
    tags: tuple[str, ...] = ()

    def each(self, found: Iterable[Found]) -> Iterator[Imported | Refusal]:
        """Yield the timer or the refusal of each entry."""
        for one in found:
            if isinstance(one, Refusal):
                yield one
                continue
            try:
                yield self._imported(one)
            except NotTaken as error:
                yield Refusal(one.place, one.original, str(error))

    def _imported(self, entry: Entry) -> Imported:
        document = self._document_of(entry)
        try:
            wanted = read_wanted(document, ANY_APP, self.now, any_calendar)
        except InvalidInput as error:
            raise NotTaken(f"{error} (in the timer that it would become)") from None
        moments, notes = hold_against(entry.moments, wanted.schedule, self.now, self.accepts_clock_changes)
        if not moments:
            raise NotTaken("it has no future moment")
        return Imported(entry, document, wanted.schedule, moments, (*entry.notes, *notes))

    def _document_of(self, entry: Entry) -> dict[str, Any]:
        document: dict[str, Any] = {
            "key": entry.key,
            "schedule": dict(entry.schedule),
            "target": self.mapping.target_of(entry),
            "tags": [f"from={self.source}", *entry.tags, *self.tags],
        }
        if entry.misfire is not None:
            document["misfire"] = dict(entry.misfire)
        if not entry.is_enabled:
            document["enabled"] = False
        return document
