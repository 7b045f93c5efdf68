"""The differences between files and the service, as a person or a program reads them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from wangtimer.cli.as_code.differences import Change, Differences, FieldChange, shown_value
from wangtimer.cli.as_code.wanted_set import Wanted
from wangtimer.cli.terminal.output import show_line
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.words.words import Language
from wangtimer.shown_request import shown_target

COLOURS = {"+": "green", "~": "yellow", "-": "red", "?": "cyan"}


def show_differences(found: Differences, deletes: bool) -> None:
    """Print what is to be done, and how much of it there is."""
    for one in found.created:
        _head("+", one.timer.key, one.place)
        show_line(f"    {_summary(one)}")
    for change in found.changed:
        _head("~", change.wanted.timer.key, change.wanted.place)
        for line in _lines(change):
            show_line(f"    {line}")
    for row in found.unlisted:
        _head("-" if deletes else "?", row["key"], "not in the files")
    for one in found.over:
        show_line(f"  {one.timer.key}  {one.place}: its last moment has passed, and it is not made")
    show_line(_counts(found, deletes))


def differences_as_json(found: Differences, deletes: bool) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "create": [_named(one) for one in found.created],
        "change": [
            _named(one.wanted) | {"id": one.row["id"], "fields": [_as_json(field) for field in one.fields]}
            for one in found.changed
        ],
        "delete": [{"key": row["key"], "id": row["id"]} for row in found.unlisted if deletes],
        "notInFiles": [{"key": row["key"], "id": row["id"]} for row in found.unlisted],
        "over": [_named(one) for one in found.over],
        "secretsToCompare": [_named(one.wanted) for one in found.unseen],
        "unchanged": len(found.unchanged),
    }


def _named(one: Wanted) -> dict[str, Any]:
    return {"key": one.timer.key, "place": one.place}


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


def _summary(one: Wanted) -> str:
    target = one.timer.shown["target"]
    off = "" if one.timer.shown["enabled"] else "; disabled"
    return f"{describe(one.timer.schedule, Language.EN)}; {_call(target)}{off}"


def _call(target: Mapping[str, Any]) -> str:
    if "name" in target:
        return f"{shown_target(target.get('path', ''))} through {target['name']}".strip()
    return f"{target['method']} {shown_target(target['url'])}"


def _lines(change: Change) -> Iterator[str]:
    for field in change.fields:
        old, new = (_text(shown_value(field.name, value)) for value in (field.old, field.new))
        changed = "it differs in what is not shown" if old == new else f"{old} -> {new}"
        yield f"{field.name}: {changed}"


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
