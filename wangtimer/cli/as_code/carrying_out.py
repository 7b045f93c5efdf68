"""Makes an app's timers what files ask for: many at once, and each that fails is told."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.v1.timers.batch_create import MOST_BATCH_BYTES
from wangtimer.cli.as_code.differences import Change, Differences, Row
from wangtimer.cli.as_code.wanted_timers import Wanted
from wangtimer.cli.terminal.asking import CommandRun
from wangtimer.client import Client, ClientError, Refused
from wangtimer.client.timer_calls import MOST_A_ROUND

Thing = TypeVar("Thing")

# Requests at once, of those that change or delete one timer each: v1 has no batch that takes versions.
AT_ONCE = 4
# Of a batch's body, for what stands between its timers.
ROOM_BYTES = 1_048_576


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


def carry_out(run: CommandRun, wanted: Differences, deletes: bool) -> Done:
    """Create, change and, if `deletes`, delete what differs; what fails stops nothing else."""
    done = Done()
    for batch in _batches(wanted.created):
        _create(run.client, batch, done)
    _change(run, [*wanted.changed, *wanted.unseen], done)
    if deletes and wanted.unlisted:
        _delete(run, wanted.unlisted, done)
    return done


def _is_too_much(error: ClientError) -> bool:
    """Tell whether the service did nothing of a request because it would take too much of its CPU."""
    return (
        isinstance(error, Refused) and error.code == ErrorCode.TOO_MUCH_WORK.number and not error.was_in_doubt
    )


def _not_made(batch: Sequence[Wanted]) -> str:
    first = batch[0]
    if len(batch) == 1:
        return f"{first.place}: timer {first.timer.key!r} was not made"
    return f"{len(batch)} timers from {first.place} on were not made"


def _create(client: Client, batch: Sequence[Wanted], done: Done) -> None:
    """Create timers in one request; in two of half as many where one is too much work, down to a timer each."""
    try:
        items = client.batch_create_timers([wanted.timer.document for wanted in batch])["items"]
    except ClientError as error:
        if len(batch) > 1 and _is_too_much(error):
            middle = len(batch) // 2
            _create(client, batch[:middle], done)
            _create(client, batch[middle:], done)
        else:
            _note(done, _not_made(batch), error)
        return
    for wanted, item in zip(batch, items, strict=True):
        done.created += bool(item["created"])
        if item["problem"] is not None:
            outcome = "was made and not enabled" if item["created"] else "was not made"
            done.faults.append(
                f"{wanted.place}: timer {wanted.timer.key!r} {outcome}: {item['problem']['detail']}"
            )


def _change(run: CommandRun, changes: Sequence[Change], done: Done) -> None:
    same = set[str]()

    def put(client: Client, change: Change) -> None:
        answer = client.put_timer(change.row, version=change.row["version"], **change.wanted.timer.body)
        if answer["version"] == change.row["version"]:
            same.add(change.row["key"])

    for change, error in _each(run, changes, put):
        wanted = change.wanted
        if error is None:
            done.changed += change.row["key"] not in same
        else:
            _note(done, f"{wanted.place}: timer {wanted.timer.key!r} was not changed", error)


def _delete(run: CommandRun, rows: Sequence[Row], done: Done) -> None:
    """Delete timers as they were read: one that somebody changed since, say out of the set, is let be."""

    def delete(client: Client, row: Row) -> None:
        client.delete_timer(row["id"], version=row["version"])

    for row, error in _each(run, rows, delete):
        if error is None:
            done.deleted += 1
        else:
            _note(done, f"timer {row['key']!r} was not deleted", error)


def _each(
    run: CommandRun, things: Sequence[Thing], act: Callable[[Client, Thing], object]
) -> Iterator[tuple[Thing, ClientError | None]]:
    """Act on each thing, some at once, each thread with a client of its own; yield it and what went wrong."""
    own = threading.local()
    with ExitStack() as opened:

        def attempt(thing: Thing) -> ClientError | None:
            if not hasattr(own, "client"):
                own.client = opened.enter_context(run.another_client())
            try:
                act(own.client, thing)
            except ClientError as error:
                return error
            return None

        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from zip(things, pool.map(attempt, things), strict=True)


def _note(done: Done, fault: str, error: ClientError) -> None:
    done.was_in_doubt |= error.was_in_doubt
    done.faults.append(f"{fault}: {error}")


def _batches(wanted: Iterable[Wanted]) -> Iterator[list[Wanted]]:
    """Yield timers in batches of no more and no larger than one request takes."""
    batch: list[Wanted] = []
    size = 0
    for timer in wanted:
        length = len(json.dumps(timer.timer.document, ensure_ascii=False).encode())
        if batch and (len(batch) == MOST_A_ROUND or size + length > MOST_BATCH_BYTES - ROOM_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(timer)
        size += length
    if batch:
        yield batch
