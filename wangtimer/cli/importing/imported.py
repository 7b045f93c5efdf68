"""Makes timers of a source's entries and compares each with its entry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wangtimer.cli.as_code.wanted_timers import any_calendar, read_wanted
from wangtimer.cli.importing.entries import Entry, Found, NotTaken, Refusal
from wangtimer.cli.importing.held_against import hold_against
from wangtimer.cli.importing.target_mapping import TargetMapping
from wangtimer.core.errors import InvalidInput
from wangtimer.core.schedules.schedule import Schedule

# The work of a scheduler's entry is done by nobody else meanwhile, and not again if it fails, until its owner says so.
TERMS: Mapping[str, Any] = {"overlap": "skip", "retry": {"attempts": 1}, "target": {"timeout": "10m"}}
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
    """Makes timers of entries at `now` (ms UTC). `terms` are fields of each timer instead of `TERMS`."""

    source: str
    mapping: TargetMapping
    now: int
    accepts_clock_changes: bool = False
    tags: tuple[str, ...] = ()
    terms: Mapping[str, Any] = field(default_factory=dict)

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
        left = [name for name in entry.options if self.mapping.through is None or name != "queue"]
        of_options = (f"its options are not taken over: {', '.join(left)}",) if left else ()
        asked = self.terms.get("overlap", entry.overlap)
        of_overlap = (
            (f"--overlap makes it {asked}; as it was, it would be {entry.overlap}",)
            if entry.overlap and asked != entry.overlap
            else ()
        )
        told = (*entry.notes, *of_options, *of_overlap, *notes)
        return Imported(entry, document, wanted.schedule, moments, told)

    def _document_of(self, entry: Entry) -> dict[str, Any]:
        # A message is sent in no time, and who runs a task does so as ever.
        usual = {} if self.mapping.through is not None else TERMS
        own = {"overlap": entry.overlap} if entry.overlap else {}
        terms = {**usual, **own, **self.terms}
        target = {**usual.get("target", {}), **terms.pop("target", {})}
        document: dict[str, Any] = {
            "key": entry.key,
            "schedule": dict(entry.schedule),
            "target": {**self.mapping.target_of(entry), **target},
            "tags": [f"from={self.source}", *entry.tags, *self.tags],
            **terms,
        }
        if entry.misfire is not None:
            document["misfire"] = dict(entry.misfire)
        if not entry.is_enabled:
            document["enabled"] = False
        return document
