"""What an import tells: a report, and a file for `wangtimer apply`; in both each entry with its timer, or why not."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import click
import yaml

from wangtimer.cli.as_code.core_yaml import CoreDumper
from wangtimer.cli.importing.entries import Refusal
from wangtimer.cli.importing.held_against import COMPARED
from wangtimer.cli.importing.imported import Imported
from wangtimer.cli.terminal.output import printable
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.words import Language
from wangtimer.shown_request import shown_target

WIDTH = 110


def show_report(found: Iterable[Imported | Refusal], to_stderr: bool) -> None:
    """Print the report, a few lines for each entry, and how many there were."""
    outcomes = list(found)
    for one in outcomes:
        lines = _of_refusal(one) if isinstance(one, Refusal) else _of_timer(one)
        for line in lines:
            click.echo(printable(line), err=to_stderr)
    taken = sum(isinstance(one, Imported) for one in outcomes)
    click.echo(f"{taken} of {len(outcomes)} entries become timers", err=to_stderr)


def _of_refusal(one: Refusal) -> Iterator[str]:
    yield f"REFUSED  {one.place}: {one.original}"
    yield f"         {one.reason}"


def _of_timer(one: Imported) -> Iterator[str]:
    yield f"{one.entry.key}  {one.entry.place}: {one.entry.original}"
    yield f"         {describe(one.schedule, Language.EN)}{'' if one.entry.is_enabled else '; disabled'}"
    target = one.document["target"]
    yield f"         {_call(target)}"
    yield f"         {_moments(one)}"
    for note in one.notes:
        yield f"         note: {note}"


def _call(target: Mapping[str, Any]) -> str:
    if "celery" in target:
        return f"task {target['celery']['task']} through {target['name']}"
    return f"{target.get('method', 'POST')} {shown_target(target['url'])}"


def _moments(one: Imported) -> str:
    first = show_moment(one.moments[0], ZoneInfo(one.schedule.timezone))
    count = len(one.moments)
    which = f"the next {COMPARED}" if count == COMPARED else f"all {count}"
    return f"next {first}; {which} moments were compared"


def timers_file(source: str, found: Iterable[Imported | Refusal], now: int) -> str:
    """Return the text of a YAML file: a list of v1's timers. A refused entry is a comment."""
    made_at = datetime.fromtimestamp(now // 1_000, UTC)
    head = f"# Timers made of {source} on {made_at:%Y-%m-%d}. Look at them, then: wangtimer apply -f FILE\n"
    return head + "".join(f"\n{_in_file(one)}" for one in found) + _nothing(found)


def _in_file(one: Imported | Refusal) -> str:
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
