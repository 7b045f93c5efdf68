"""Imported timers as a file for `wangtimer apply`, each below a comment with its entry."""

from collections.abc import Iterable
from datetime import UTC, datetime

import yaml

from wangtimer.cli.as_code.core_yaml import CoreDumper
from wangtimer.cli.importing.entries import Refusal
from wangtimer.cli.importing.imported import Imported

WIDTH = 110


def timers_file(source: str, found: Iterable[Imported | Refusal], now: int) -> str:
    """Return the text of a YAML file: a list of v1's timers. A refused entry is a comment."""
    made_at = datetime.fromtimestamp(now // 1_000, UTC)
    head = f"# Timers made of {source} on {made_at:%Y-%m-%d}. Look at them, then: wangtimer apply -f FILE\n"
    return head + "".join(f"\n{_part(one)}" for one in found) + _nothing(found)


def _part(one: Imported | Refusal) -> str:
    if isinstance(one, Refusal):
        return _comment(f"REFUSED {one.place}: {one.original}") + _comment(one.reason)
    lines = [
        f"{one.entry.place}: {one.entry.original}",
        *(f"note: {note}" for note in one.notes),
    ]
    return "".join(map(_comment, lines)) + _yaml([one.document])


def _nothing(found: Iterable[Imported | Refusal]) -> str:
    """Return an empty list where there is no timer."""
    return "" if any(isinstance(one, Imported) for one in found) else "\n[]\n"


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
