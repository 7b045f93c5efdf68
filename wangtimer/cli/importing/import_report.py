"""The report of an import: for each entry, its timer or the reason for refusing it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import click

from wangtimer.cli.importing.entries import Refusal
from wangtimer.cli.importing.held_against import COMPARED
from wangtimer.cli.importing.imported import Imported
from wangtimer.cli.terminal.output import printable
from wangtimer.core.kinds.in_words import describe
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.words import Language
from wangtimer.shown_request import shown_target


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
