"""What has to change so that an app has the timers that files ask for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic.alias_generators import to_camel

from wangtimer.api.v1.timers.declared_fields import OF_TIMERS
from wangtimer.cli.as_code.wanted_set import Wanted, set_of
from wangtimer.core.timers.secret_parts import MASK
from wangtimer.shown_request import shown_header, shown_target

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
    for one in wanted:
        keys.add(one.timer.key)
        row = there.get(one.timer.key)
        if row is None:
            (found.over if one.timer.is_over else found.created).append(one)
        elif fields := _changes(one, row):
            found.changed.append(Change(one, row, fields))
        elif one.timer.has_secrets:
            found.unseen.append(Change(one, row, ()))
        else:
            found.unchanged.append(one)
    if set_name is not None:
        found.unlisted = [row for row in rows if row["key"] not in keys and set_of(row["tags"]) == set_name]
    return found


def of_other_sets(
    wanted: Iterable[Wanted], rows: Sequence[Row], set_name: str | None
) -> list[tuple[Wanted, str]]:
    """Return those timers of files that another set has marked, with its name."""
    marked = {row["key"]: set_of(row["tags"]) for row in rows}
    found = ((one, marked.get(one.timer.key)) for one in wanted)
    return [(one, name) for one, name in found if name is not None and name != set_name]


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
            return [shown_header(header, one) for one in value]
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
