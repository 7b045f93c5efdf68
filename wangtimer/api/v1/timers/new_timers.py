"""Many new timers in one request: each is read and accepted or refused on its own."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import MOST_BODY, MOST_BODY_BYTES
from wangtimer.api.http.refusals import Refused
from wangtimer.api.timer_terms.schedule_reading import FindCalendar
from wangtimer.batches import Batches, Result
from wangtimer.core.errors import StoreAway, TooMuchWork, WangTimerError
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.timers.timer import NewTimer
from wangtimer.core.work_budget import refuse_more

MOST_TIMERS = 1_000
MOST_BATCH_BYTES = 8 * 1_048_576


class ToMake(NamedTuple):
    """A timer to make, and whether to enable it."""

    new: NewTimer
    enable: bool


def read_each(given: Sequence[object], read: Callable[[object], ToMake]) -> list[ToMake | WangTimerError]:
    """Return each timer as `read` reads it, or its error; raises `TooMuchWork` for all, and `StoreAway`."""

    def read_one(one: object) -> ToMake | WangTimerError:
        refuse_more()
        try:
            _refuse_large(one)
            return read(one)
        except (StoreAway, TooMuchWork):
            raise
        except WangTimerError as error:
            return error

    return [read_one(one) for one in given]


def make_each(batches: Batches, app: str, asked: Sequence[ToMake | WangTimerError]) -> list[Result]:
    """Make the timers, enabled where they ask for it, and return what became of each.

    One that cannot be enabled is refused. Raises `TooMuchWork`; `StoreAway` and `Conflict` if none is made.
    """
    good = [one for one in asked if isinstance(one, ToMake)]
    enabled = [one.new.schedule for one in good if one.enable]
    if batches.how_many_to_enable(enabled) < len(enabled):
        raise TooMuchWork
    news, enable = [one.new for one in good], [one.enable for one in good]
    made = iter(batches.create(app, news, enable))
    return [next(made) if isinstance(one, ToMake) else one for one in asked]


def once_each(find: FindCalendar) -> FindCalendar:
    """Return a `find` that looks each calendar up once, and remembers it or its refusal."""
    known: dict[str, Calendar | Refused] = {}

    def remembered(name: str) -> Calendar:
        if name not in known:
            try:
                known[name] = find(name)
            except Refused as error:
                known[name] = error
        found = known[name]
        if isinstance(found, Refused):
            raise found
        return found

    return remembered


def _refuse_large(given: object) -> None:
    # Not orjson: it fails on a number of more than 64 bits, which gets its own error later.
    if len(json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()) > MOST_BODY_BYTES:
        raise Refused(ErrorCode.BODY_TOO_LARGE, "", f"this timer is over {MOST_BODY}", "shorten it")
