"""Makes an app's timers what files ask for: many at once, and each that fails is told."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import click

from wangtimer.cli.as_code.differences import Change, Differences, Row
from wangtimer.cli.as_code.service_calls import MOST_A_BATCH, MOST_BATCH_BYTES, Service
from wangtimer.cli.as_code.wanted_set import Wanted
from wangtimer.cli.terminal.asking import InDoubt

# Requests at once, of those that change one timer each.
AT_ONCE = 4


@dataclass(slots=True)
class Done:
    """What was done, and what was not: a line each. `was_in_doubt`: an answer was lost, and it may be done."""

    created: int = 0
    changed: int = 0
    deleted: int = 0
    faults: list[str] = field(default_factory=list)
    was_in_doubt: bool = False

    @property
    def count(self) -> int:
        """How many timers were made, changed or deleted."""
        return self.created + self.changed + self.deleted


def carry_out(service: Service, wanted: Differences, deletes: bool) -> Done:
    """Create, change and, if `deletes`, delete what differs; what fails stops nothing else."""
    done = Done()
    for batch in _batches(wanted.created):
        _create(service, batch, done)
    _change(service, wanted.changed, done)
    if deletes and wanted.unlisted:
        _delete(service, wanted.unlisted, done)
    return done


def _create(service: Service, batch: Sequence[Wanted], done: Done) -> None:
    try:
        items = service.create([one.timer.document for one in batch])
    except click.ClickException as error:
        _note(done, f"{len(batch)} timers from {batch[0].place} on were not made", error)
        return
    for one, item in zip(batch, items, strict=True):
        done.created += bool(item["created"])
        if item["problem"] is not None:
            what = "was made and not enabled" if item["created"] else "was not made"
            done.faults.append(f"{one.place}: timer {one.timer.key!r} {what}: {item['problem']['detail']}")


def _change(service: Service, changes: Sequence[Change], done: Done) -> None:
    own = threading.local()

    def change(one: Change) -> click.ClickException | None:
        if not hasattr(own, "service"):
            own.service = Service(service.url, service.app)
        try:
            own.service.replace(one.row["id"], one.row["version"], one.wanted.timer.document)
        except click.ClickException as error:
            return error
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one, error in zip(changes, pool.map(change, changes), strict=True):
            if error is None:
                done.changed += 1
            else:
                _note(done, f"{one.wanted.place}: timer {one.wanted.timer.key!r} was not changed", error)


def _delete(service: Service, rows: Sequence[Row], done: Done) -> None:
    try:
        failed = service.delete([row["id"] for row in rows])
    except click.ClickException as error:
        _note(done, f"{len(rows)} timers were not deleted", error)
        return
    done.deleted += len(rows) - len(failed)
    done.faults += [f"timer {one['key']!r} was not deleted: {one['problem']['detail']}" for one in failed]


def _note(done: Done, what: str, error: click.ClickException) -> None:
    done.was_in_doubt |= isinstance(error, InDoubt)
    perhaps = " (or perhaps they were: an answer was lost)" if isinstance(error, InDoubt) else ""
    done.faults.append(f"{what}{perhaps}: {error.format_message()}")


def _batches(wanted: Iterable[Wanted]) -> Iterator[list[Wanted]]:
    """Yield timers in batches of no more and no larger than one request takes."""
    batch: list[Wanted] = []
    size = 0
    for one in wanted:
        length = len(json.dumps(one.timer.document, ensure_ascii=False).encode())
        if batch and (len(batch) == MOST_A_BATCH or size + length > MOST_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length
    if batch:
        yield batch
