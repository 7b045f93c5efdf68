"""Makes timers of a source's entries, compares each with its entry, and tells what became of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo

import click
import yaml

from wangtimer.cli.as_code.core_yaml import CoreDumper
from wangtimer.cli.as_code.wanted_timers import any_calendar, read_wanted
from wangtimer.cli.importing.entries import Entry, Found, NotTaken, Refusal, TargetMapping, TheirMoments
from wangtimer.cli.terminal.output import printable
from wangtimer.core.cron.cron import END_MS
from wangtimer.core.errors import InvalidInput
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.words import Language
from wangtimer.timers.shown_request import shown_target

# The work of a scheduler's entry is done by nobody else meanwhile, and not again if it fails, until its owner says so.
TERMS: Mapping[str, Any] = {"overlap": "skip", "retry": {"attempts": 1}, "target": {"timeout": "10m"}}
# Any app will do: the meaning of the timers does not depend on it.
ANY_APP = "import"
COMPARED = 100
DAY_MS = 86_400_000
WIDTH = 110


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
        for entry in found:
            if isinstance(entry, Refusal):
                yield entry
                continue
            try:
                yield self._imported(entry)
            except NotTaken as error:
                yield Refusal(entry.place, entry.original, str(error))

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
        overlap = self.terms.get("overlap", entry.overlap)
        of_overlap = (
            (f"--overlap makes it {overlap}; as it was, it would be {entry.overlap}",)
            if entry.overlap and overlap != entry.overlap
            else ()
        )
        all_notes = (*entry.notes, *of_options, *of_overlap, *notes)
        return Imported(entry, document, wanted.schedule, moments, all_notes)

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
            "tags": [f"from={self.source}", *self.tags],
            **terms,
        }
        if entry.misfire is not None:
            document["misfire"] = dict(entry.misfire)
        if not entry.is_enabled:
            document["enabled"] = False
        return document


def hold_against(
    next_there: TheirMoments, schedule: Schedule, now: int, accepts_clock_changes: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return the next moments after `now` (ms UTC), and notes.

    Raises `NotTaken` with the first moment that differs. Exception, if accepted: moments that differ within a day of a
    clock change of the zone are only noted.
    """
    our_moments = schedule.moments(now, END_MS, COMPARED)
    their_moments = [moment for moment in next_there(now, COMPARED) if moment < END_MS]
    if our_moments == their_moments:
        return our_moments, ()
    zone = ZoneInfo(schedule.timezone)
    differing = _differing_moments(our_moments, their_moments)
    difference = _tell_first(our_moments, their_moments, zone)
    if not all(_is_near_change(moment, zone) for moment in differing):
        raise NotTaken(difference)
    if not accepts_clock_changes:
        raise NotTaken(
            f"{difference}; they differ only around clock changes of {zone.key}: "
            "--accept-clock-changes imports it with WangTimer's moments there"
        )
    return our_moments, (f"around a clock change, {difference}",)


def _differing_moments(here: Sequence[int], there: Sequence[int]) -> list[int]:
    """Return the moments that only one of the lists has, as far as both reach."""
    full = [moments[-1] for moments in (here, there) if len(moments) == COMPARED]
    last = min(full, default=END_MS)
    return sorted(moment for moment in {*here} ^ {*there} if moment <= last)


def _tell_first(here: Sequence[int], there: Sequence[int], zone: ZoneInfo) -> str:
    number, (our, their) = next(
        (number, pair) for number, pair in enumerate(zip_longest(here, there), 1) if pair[0] != pair[1]
    )
    return f"moment {number} is {_shown(their, zone)} there and {_shown(our, zone)} here"


def _shown(moment: int | None, zone: ZoneInfo) -> str:
    if moment is None:
        return "none"
    return f"{show_moment(moment, zone)} ({datetime.fromtimestamp(moment / 1_000, zone):%A})"


def _is_near_change(moment_ms: int, zone: ZoneInfo) -> bool:
    offsets = {
        datetime.fromtimestamp((moment_ms + far) / 1_000, UTC).astimezone(zone).utcoffset()
        for far in (-DAY_MS, 0, DAY_MS)
    }
    return len(offsets) > 1


def show_report(found: Iterable[Imported | Refusal], to_stderr: bool) -> None:
    """Print the report, a few lines for each entry, and how many there were."""
    outcomes = list(found)
    for outcome in outcomes:
        lines = _lines_of_refusal(outcome) if isinstance(outcome, Refusal) else _lines_of_timer(outcome)
        for line in lines:
            click.echo(printable(line), err=to_stderr)
    taken = sum(isinstance(outcome, Imported) for outcome in outcomes)
    click.echo(f"{taken} of {len(outcomes)} entries become timers", err=to_stderr)


def _lines_of_refusal(refusal: Refusal) -> Iterator[str]:
    yield f"REFUSED  {refusal.place}: {refusal.original}"
    yield f"         {refusal.reason}"


def _lines_of_timer(imported: Imported) -> Iterator[str]:
    yield f"{imported.entry.key}  {imported.entry.place}: {imported.entry.original}"
    yield f"         {describe(imported.schedule, Language.EN)}{'' if imported.entry.is_enabled else '; disabled'}"
    target = imported.document["target"]
    yield f"         {_call(target)}"
    yield f"         {_compared_moments(imported)}"
    for note in imported.notes:
        yield f"         note: {note}"


def _call(target: Mapping[str, Any]) -> str:
    if "celery" in target:
        return f"task {target['celery']['task']} through {target['name']}"
    return f"{target.get('method', 'POST')} {shown_target(target['url'])}"


def _compared_moments(imported: Imported) -> str:
    first = show_moment(imported.moments[0], ZoneInfo(imported.schedule.timezone))
    count = len(imported.moments)
    which = f"the next {COMPARED}" if count == COMPARED else f"all {count}"
    return f"next {first}; {which} moments were compared"


def timers_file(source: str, found: Iterable[Imported | Refusal], now: int) -> str:
    """Return the text of a YAML file: a list of v1's timers. A refused entry is a comment."""
    made_at = datetime.fromtimestamp(now // 1_000, UTC)
    head = f"# Timers made of {source} on {made_at:%Y-%m-%d}. Look at them, then: wangtimer apply -f FILE\n"
    nothing = "" if any(isinstance(outcome, Imported) for outcome in found) else "\n[]\n"
    return head + "".join(f"\n{_in_file(outcome)}" for outcome in found) + nothing


def _in_file(outcome: Imported | Refusal) -> str:
    if isinstance(outcome, Refusal):
        return _comment(f"REFUSED {outcome.place}: {outcome.original}") + _comment(outcome.reason)
    lines = [
        f"{outcome.entry.place}: {outcome.entry.original}",
        *(f"note: {note}" for note in outcome.notes),
    ]
    return "".join(map(_comment, lines)) + _yaml([outcome.document])


def _yaml(documents: object) -> str:
    text: str = yaml.dump(
        documents,
        Dumper=CoreDumper,
        sort_keys=False,
        allow_unicode=True,
        width=WIDTH,
        default_flow_style=False,
    )
    return text


def _comment(text: str) -> str:
    return "".join(
        f"# {''.join(sign if sign.isprintable() else ' ' for sign in line)}\n" for line in text.splitlines()
    )
