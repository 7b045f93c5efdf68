"""Many new timers over v1: each is read, and accepted or refused, on its own."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from hashlib import sha256
from itertools import count
from secrets import token_hex
from typing import Annotated, NamedTuple

from pydantic import Field, SkipValidation

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import MOST_BODY, MOST_BODY_BYTES, read_model
from wangtimer.api.http.refusals import Refused
from wangtimer.api.http.request_context import begin_if_many
from wangtimer.api.timer_terms.schedule_reading import FindCalendar, find_calendar
from wangtimer.api.timer_terms.timer_reading import new_timer
from wangtimer.api.v1.parameters import ActingHeader
from wangtimer.api.v1.problems import OfMany, Problem, problem_of_row
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.timers.declared_fields import OfTimers
from wangtimer.api.v1.timers.timer_answers import ShownWarning
from wangtimer.api.v1.timers.timer_models import NewTimerBody, refuse_task_elsewhere
from wangtimer.core.errors import StoreAway, TooMuchWork, WangTimerError
from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import rule_of
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.core.work_budget import refuse_more
from wangtimer.timers.batches import Batches, Result

MOST_TIMERS = 1_000
MOST_BATCH_BYTES = 8 * 1_048_576


class ToMake(NamedTuple):
    """A timer to make, and whether to enable it."""

    new: NewTimer
    enable: bool


def read_each(given: Sequence[object], read: Callable[[object], ToMake]) -> list[ToMake | WangTimerError]:
    """Return each timer as `read` reads it, or its error; raises `TooMuchWork` for all, and `StoreAway`."""

    def read_one(timer: object) -> ToMake | WangTimerError:
        refuse_more()
        try:
            _refuse_large(timer)
            return read(timer)
        except (StoreAway, TooMuchWork):
            raise
        except WangTimerError as error:
            return error

    return [read_one(timer) for timer in given]


def make_each(batches: Batches, app: str, asked: Sequence[ToMake | WangTimerError]) -> list[Result]:
    """Make the timers, enabled where they ask for it, and return what became of each.

    One that cannot be enabled is refused. Raises `TooMuchWork`; `StoreAway` and `Conflict` if none is made.
    """
    good = [timer for timer in asked if isinstance(timer, ToMake)]
    enabled = [timer.new.schedule for timer in good if timer.enable]
    if batches.how_many_to_enable(enabled) < len(enabled):
        raise TooMuchWork
    news, enable = [timer.new for timer in good], [timer.enable for timer in good]
    made = iter(batches.create(app, news, enable))
    return [next(made) if isinstance(timer, ToMake) else timer for timer in asked]


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


class NewTimersBody(OfTimers):
    """New timers."""

    timers: Annotated[
        list[Annotated[NewTimerBody, SkipValidation]],
        Field(
            min_length=1,
            max_length=MOST_TIMERS,
            description=f"each as for POST /v1/timers, {MOST_BODY} at most",
        ),
    ]


class NewTimerOutcome(Sent):
    """What became of one timer of the request."""

    index: int
    """its place in the request, from 0"""
    id: int | None
    key: str | None
    created: bool
    problem: Problem | None
    """null: it was made. Else why not, with pointers into this timer"""
    warnings: list[ShownWarning]
    """of what was made, those that the text of its cron tells: quartzWeekday, longStep, unevenStep; a preview has
    all"""


class NewTimersOutcome(OfMany):
    """What became of each timer, in the order of the request."""

    items: list[NewTimerOutcome]
    created: int
    failed: int

    @property
    def problems(self) -> list[Problem]:
        """The problems of those that were not made."""
        return [item.problem for item in self.items if item.problem is not None]


class BatchCreateResource(Resource):
    """Makes many timers."""

    @Route("post", "/timers:batchCreate", "batchCreateTimers", most_bytes=MOST_BATCH_BYTES)
    def create(self, header: ActingHeader, body: NewTimersBody) -> NewTimersOutcome:
        """Make many timers.

        Each is accepted or refused on its own. A timer is made and enabled in one commit, so a repeat after a lost
        answer leaves none disabled.
        """
        begin_if_many(body.timers)
        wiring = self.wiring()
        now = self.now()
        made_up = _made_up_keys(header)
        find = once_each(partial(find_calendar, wiring.calendars, header.app))

        find_target = cache(wiring.target_store.get)

        def read(given: object) -> ToMake:
            asked = read_model(NewTimerBody, given)
            refuse_task_elsewhere(asked.target, header.app, find_target)
            terms = asked.asked(asked.key or next(made_up))
            return ToMake(new_timer(header.app, terms, now, find), asked.enabled)

        made = make_each(wiring.batches, header.app, read_each(body.timers, read))
        return NewTimersOutcome(
            items=[_shown(index, result) for index, result in enumerate(made)],
            created=sum(isinstance(result, Timer) for result in made),
            failed=sum(not isinstance(result, Timer) for result in made),
        )


def _made_up_keys(header: ActingHeader) -> Iterator[str]:
    """Yield keys for timers without one; the same keys for the same `Idempotency-Key`, so none is made twice."""
    for number in count():
        said = f"{header.app}\n{header.idempotency_key}\n{number}"
        yield token_hex(12) if header.idempotency_key is None else sha256(said.encode()).hexdigest()[:24]


def _shown(index: int, made: Result) -> NewTimerOutcome:
    if isinstance(made, Timer):
        rule = rule_of(made.definition.schedule)
        warnings = list(kind_of(rule).quick_warnings(rule))
        return NewTimerOutcome.of(
            index=index, id=made.id, key=made.name, created=True, problem=None, warnings=warnings
        )
    return NewTimerOutcome(
        index=index, id=None, key=None, created=False, problem=problem_of_row(made), warnings=[]
    )
