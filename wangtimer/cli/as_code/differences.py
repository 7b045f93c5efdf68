"""What has to change so that an app has the timers that files ask for: found, and shown to a person or a program."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
from pydantic.alias_generators import to_camel

from wangtimer.api.v1.timers.declared_fields import OF_TIMERS
from wangtimer.cli.as_code.timer_files import BadFiles, Fault, TimerInFile, read_timer_files
from wangtimer.cli.as_code.wanted_timers import (
    SET,
    Wanted,
    any_calendar,
    one_of,
    own_calendars,
    read_wanted_set,
    set_of,
)
from wangtimer.cli.terminal.output import show_line
from wangtimer.client import Client
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.timers.secret_parts import MASK
from wangtimer.core.words.words import Language
from wangtimer.timers.shown_request import shown_header, shown_target

# A timer as an answer of v1 shows it.
Row = Mapping[str, Any]

PARTS = ("schedule", "target", "misfire", "retry")
_SINGLE = ("enabled", *(to_camel(field.name) for field in OF_TIMERS))
# Fields of which each named value is told by itself.
_HEADERS = "target.headers"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field by its dotted name, with what it is and what it is to be; None where it is not set."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Change:
    """A timer that is there, and is to be otherwise."""

    wanted: Wanted
    row: Row
    fields: tuple[FieldChange, ...]


@dataclass(slots=True)
class Differences:
    """What has to be done. `over` are timers of the files that are not there and have no moment left: they are let be.

    `unlisted` are timers of the set that the files do not have. `unseen` are those in which nothing that is shown
    differs, and whose secrets may: the service alone can compare them.
    """

    created: list[Wanted] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    unseen: list[Change] = field(default_factory=list)
    unchanged: list[Wanted] = field(default_factory=list)
    over: list[Wanted] = field(default_factory=list)
    unlisted: list[Row] = field(default_factory=list)

    @property
    def leaves_nothing(self) -> bool:
        """Tell whether the set has timers, and none of them would be left without those that the files do not have."""
        return bool(self.unlisted) and not (self.created or self.changed or self.unseen or self.unchanged)


def differences_of(wanted: Iterable[Wanted], rows: Sequence[Row], set_name: str | None) -> Differences:
    """Return the differences between what files ask for and the rows that the service has of it and of its set."""
    there = {row["key"]: row for row in rows}
    found = Differences()
    keys = set()
    for timer in wanted:
        keys.add(timer.timer.key)
        row = there.get(timer.timer.key)
        if row is None:
            (found.over if timer.timer.is_over else found.created).append(timer)
        elif fields := _changes(timer, row):
            found.changed.append(Change(timer, row, fields))
        elif timer.timer.has_secrets:
            found.unseen.append(Change(timer, row, ()))
        else:
            found.unchanged.append(timer)
    if set_name is not None:
        found.unlisted = [row for row in rows if row["key"] not in keys and set_of(row["tags"]) == set_name]
    return found


def of_other_sets(
    wanted: Iterable[Wanted], rows: Sequence[Row], set_name: str | None
) -> list[tuple[Wanted, str]]:
    """Return those timers of files that another set has marked, with its name."""
    marked = {row["key"]: set_of(row["tags"]) for row in rows}
    found = ((timer, marked.get(timer.timer.key)) for timer in wanted)
    return [(timer, name) for timer, name in found if name is not None and name != set_name]


def shown_value(name: str, value: Any) -> Any:
    """Return a value of a field as it may be shown: no body, and no secret of a header or URL."""
    if value is None:
        return None
    if name == "target.body":
        return MASK
    if name in ("target.url", "target.path"):
        return shown_target(value)
    if name.startswith(f"{_HEADERS}."):
        header = name.removeprefix(f"{_HEADERS}.")
        if isinstance(value, list):
            return [shown_header(header, text) for text in value]
        return shown_header(header, value)
    return value


def _changes(wanted: Wanted, row: Row) -> tuple[FieldChange, ...]:
    old, new = _flat(row), _flat(wanted.timer.shown)
    if _counts_on(wanted, old, new):
        old.pop("schedule.anchorAt", None), new.pop("schedule.anchorAt", None)
    return tuple(
        FieldChange(name, old.get(name), new.get(name))
        for name in sorted({*old, *new}, key=lambda name: (name.partition(".")[0] not in PARTS, name))
        if old.get(name) != new.get(name)
    )


def _counts_on(wanted: Wanted, old: Row, new: Row) -> bool:
    """Tell whether an interval goes on from the anchor it has: the file names none."""
    schedule = wanted.timer.document["schedule"]
    says_from_when = schedule.get("anchorAt") is not None or schedule.get("startAt") is not None
    intervals = ("schedule.every", "schedule.everyDays")
    return not says_from_when and all(old.get(name) == new.get(name) for name in intervals)


def _flat(row: Row) -> dict[str, Any]:
    """Return the fields of a timer that its owner says, by dotted names; headers each by itself."""
    found = {f"{part}.{name}": value for part in PARTS for name, value in (row.get(part) or {}).items()}
    for name, values in found.pop(_HEADERS, {}).items():
        found[f"{_HEADERS}.{name}"] = values[0] if len(values) == 1 else values
    found |= {name: row.get(name) for name in _SINGLE}
    found["tags"] = sorted(found["tags"])
    return {name: value for name, value in found.items() if value is not None}


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
        rows = self._rows({timer.timer.key for timer in wanted})
        if (service_now := self._other_time()) is not None:
            wanted = self._wanted(written, service_now)
        if marked := of_other_sets(wanted, rows, self.set_name):
            raise BadFiles([_of_other_set(*pair) for pair in marked])
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
        find_calendar = one_of(frozenset(calendar["name"] for calendar in self.client.calendars()))
        return read_wanted_set(written, app, self.set_name, now, find_calendar)

    def _rows(self, keys: set[str]) -> list[Row]:
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
        # A dry run only counts.
        counts = self.client.change_timers_in_rounds("disable", dry_run=True, keys=keys)
        return {key for count in counts for key in count.get("unknownKeys", ())}


def _of_other_set(wanted: Wanted, name: str) -> Fault:
    written = wanted.written
    text = f"it belongs to the set {name!r}; apply it with --set {name}, or give it another key"
    return Fault(written.file, written.line, wanted.timer.key, text)


COLOURS = {"+": "green", "~": "yellow", "-": "red", "?": "cyan"}


def show_differences(found: Differences, deletes: bool) -> None:
    """Print what is to be done, and how much of it there is."""
    for wanted in found.created:
        _head("+", wanted.timer.key, wanted.place)
        show_line(f"    {_summary(wanted)}")
    for change in found.changed:
        _head("~", change.wanted.timer.key, change.wanted.place)
        for line in _lines(change):
            show_line(f"    {line}")
    for row in found.unlisted:
        _head("-" if deletes else "?", row["key"], "not in the files")
    for wanted in found.over:
        show_line(f"  {wanted.timer.key}  {wanted.place}: its last moment has passed, and it is not made")
    show_line(_counts(found, deletes))


def differences_as_json(found: Differences, deletes: bool) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "create": [_named(wanted) for wanted in found.created],
        "change": [
            _named(change.wanted)
            | {"id": change.row["id"], "fields": [_as_json(field) for field in change.fields]}
            for change in found.changed
        ],
        "delete": [{"key": row["key"], "id": row["id"]} for row in found.unlisted if deletes],
        "notInFiles": [{"key": row["key"], "id": row["id"]} for row in found.unlisted],
        "over": [_named(wanted) for wanted in found.over],
        "secretsToCompare": [_named(change.wanted) for change in found.unseen],
        "unchanged": len(found.unchanged),
    }


def _named(wanted: Wanted) -> dict[str, Any]:
    return {"key": wanted.timer.key, "place": wanted.place}


def _as_json(field: FieldChange) -> dict[str, Any]:
    return {
        "name": field.name,
        "old": shown_value(field.name, field.old),
        "new": shown_value(field.name, field.new),
    }


def _head(sign: str, key: str, place: str) -> None:
    show_sign = click.style(sign, COLOURS[sign])
    click.echo(f"{show_sign} ", nl=False)
    show_line(f"{key}  {place}")


def _summary(wanted: Wanted) -> str:
    target = wanted.timer.shown["target"]
    off = "" if wanted.timer.shown["enabled"] else "; disabled"
    return f"{describe(wanted.timer.schedule, Language.EN)}; {_call(target)}{off}"


def _call(target: Mapping[str, Any]) -> str:
    if "name" in target:
        return f"{shown_target(target.get('path', ''))} through {target['name']}".strip()
    return f"{target['method']} {shown_target(target['url'])}"


def _lines(found: Change) -> Iterator[str]:
    for change in found.fields:
        old, new = (_text(shown_value(change.name, value)) for value in (change.old, change.new))
        changed = "it differs in what is not shown" if old == new else f"{old} -> {new}"
        yield f"{change.name}: {changed}"


def _text(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _counts(found: Differences, deletes: bool) -> str:
    parts = [
        f"{len(found.created)} to create",
        f"{len(found.changed)} to change",
        f"{len(found.unlisted) if deletes else 0} to delete",
        f"{len(found.unchanged)} unchanged",
    ]
    if found.unseen:
        parts.append(f"{len(found.unseen)} whose secrets only the service can compare")
    if found.unlisted and not deletes:
        parts.append(f"{len(found.unlisted)} of the set not in the files (--prune deletes them)")
    return ", ".join(parts)
