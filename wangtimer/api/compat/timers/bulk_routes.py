"""Many timers of an app, enabled, disabled or deleted in one request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from wangtimer.api.compat.answers import ChangeAnswer, StoppedData
from wangtimer.api.compat.timers.filter_fields import FilterFields, Text
from wangtimer.api.compat.timers.timer_data import stopped_data
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.envelope import Sent, is_none
from wangtimer.api.http.failures import told
from wangtimer.api.http.field_types import MOST_ID, App, Given, Id
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import taking_body
from wangtimer.api.http.refusals import Refused
from wangtimer.batches import Batches, Results
from wangtimer.core.errors import UnknownTimer, Unreadable, WangTimerError
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.timer import Timer
from wangtimer.core.timers.told import counts_within_ms
from wangtimer.core.work_budget import is_over
from wangtimer.wiring import Wiring

MOST_TIMERS = 1_000
# Read at once: some 0.15 s of CPU where each has its own calendar of 4,000 days, none of them seen before.
READ_AT_ONCE = 250


class BulkFilter(FilterFields):
    """Which of an app's timers are to be changed: those that all of these hold of."""

    names: Annotated[
        list[Text] | None,
        Field(
            min_length=1, max_length=MOST_TIMERS, description="one of these very names", examples=[["a", "b"]]
        ),
    ] = None


class ChangeTimers(Given):
    """Which timers, by conditions or by ids, and what is to become of them."""

    app: App
    action: Literal["enable", "disable", "delete"]
    filter: Annotated[
        BulkFilter | None,
        Field(description="those that all of these hold of, and that the action would change"),
    ] = None
    ids: Annotated[
        list[Id] | None, Field(min_length=1, max_length=MOST_TIMERS, fail_fast=True, examples=[[1, 2]])
    ] = None
    all: Annotated[bool, Field(description="required where there is no condition and no id")] = False
    dry_run: Annotated[bool, Field(alias="dryRun", description="only count")] = False
    limit: Annotated[int, Field(ge=1, le=MOST_TIMERS, description="timers of this request, at most")] = (
        MOST_TIMERS
    )
    after_id: Annotated[
        int,
        Field(
            alias="afterId",
            ge=0,
            le=MOST_ID,
            description="only those with a larger id: lastId of the answer before",
        ),
    ] = 0

    @property
    def has_conditions(self) -> bool:
        """Whether the filter leaves anything out."""
        return self.filter is not None and self.filter != BulkFilter()


class FailedChange(Sent):
    """A timer that was not changed, and the error it would have got alone."""

    id: int
    name: Annotated[str | None, Field(description="null: there is no such timer")]
    code: int
    msg: str


class StoppedOne(StoppedData):
    """The stopped moment of one timer."""

    id: int


class ChangedData(Sent):
    """What became of the timers."""

    matched: Annotated[int, Field(description="how many there were")]
    done: int
    failed: list[FailedChange]
    remaining: Annotated[int, Field(description="how many of them are left to do: ask again")]
    last_id: Annotated[int | None, Field(description="the largest id of this request; null: there was none")]
    stopped: Annotated[
        list[StoppedOne] | None,
        Field(
            exclude_if=is_none,
            description="of disable and delete: the stopped moment of each timer that has one, as when disabled alone",
        ),
    ] = None
    unknown_names: Annotated[
        list[str] | None,
        Field(
            exclude_if=is_none,
            description="with filter.names: those of them that no timer of the app had when the request began",
        ),
    ] = None


class ChangedAnswer(ChangeAnswer):
    """What became of the timers."""

    data: ChangedData


@dataclass(frozen=True, slots=True)
class Chosen:
    """How many timers there are, the ids of those whose turn it is, and the timers themselves by id.

    `unknown_names`: which of the names asked for no timer has; None where none was asked for.
    """

    matched: int
    ids: list[int]
    timers: Readable[int, Timer]
    unknown_names: list[str] | None = None

    def as_far_as(self, results: Results) -> "Chosen":
        """Leave the first one without a result, and all behind it, to the next request."""
        left = next((place for place, timer_id in enumerate(self.ids) if timer_id not in results), None)
        return self if left is None else replace(self, ids=self.ids[:left])

    def is_known(self, timer_id: int) -> bool:
        """Whether there is such a timer, be it one that cannot be read."""
        return timer_id in self.timers or timer_id in self.timers.bad


@dataclass(frozen=True, slots=True)
class BulkViews:
    """Changes of many timers."""

    wiring: Callable[[], Wiring]

    def change(self, body: ChangeTimers) -> ChangedAnswer:
        """Enable, disable or delete many timers.

        By conditions, or by ids. At most `limit` of them, by id, and fewer where they take much CPU; `remaining` says
        how many are left: ask again. One that is refused is a row of `failed`, and stops no other.
        """
        _refuse_unclear(body)
        chosen = self._given(body, body.ids) if body.ids is not None else self._matching(body)
        if body.dry_run:
            chosen = replace(chosen, ids=[])
        if body.action == "enable":
            chosen = self._as_one_request_may(chosen)
        results = self._apply(body, chosen)
        chosen = chosen.as_far_as(results)
        results = {timer_id: results[timer_id] for timer_id in chosen.ids}
        failed = [
            _failed(timer_id, chosen.timers.get(timer_id), result)
            for timer_id, result in results.items()
            if isinstance(result, WangTimerError)
        ]
        return ChangedAnswer(
            data=ChangedData(
                matched=chosen.matched,
                done=len(results) - len(failed),
                failed=failed,
                remaining=chosen.matched - sum(chosen.is_known(timer_id) for timer_id in chosen.ids),
                last_id=chosen.ids[-1] if chosen.ids else None,
                stopped=None if body.action == "enable" else self._stopped(results),
                unknown_names=chosen.unknown_names,
            ),
            counts_within_ms=counts_within_ms(
                all(result.is_told for result in results.values() if isinstance(result, Timer)),
                self.wiring().settings.lead_ms,
            ),
        )

    def _stopped(self, results: Results) -> list[StoppedOne]:
        timers = [one for one in results.values() if isinstance(one, Timer)]
        found = self.wiring().stops.of(timers)
        shown = ((timer_id, stopped_data(found[timer_id])) for timer_id in sorted(found))
        return [StoppedOne(id=timer_id, **dict(one)) for timer_id, one in shown if one is not None]

    def _matching(self, body: ChangeTimers) -> Chosen:
        """Return the timers of the filter that the action would change."""
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        asked = body.filter or BulkFilter()
        names = None if asked.names is None else tuple(asked.names)
        wanted = asked.wanted_of(body.app, "filter.")
        wanted = replace(wanted, is_enabled=_IS_ENABLED[body.action], names=names)
        matched = wiring.timer_lists.count(wanted, now, body.after_id)
        found: Readable[int, Timer] = Readable()
        after_id, room = body.after_id, body.limit
        while room and not (found and is_over()):
            part = wiring.timer_lists.chosen(wanted, min(room, READ_AT_ONCE), now, after_id)
            _add(found, part)
            read = len(part) + len(part.bad)
            if read < min(room, READ_AT_ONCE):
                break
            after_id, room = max([*part, *part.bad]), room - read
        unknown = None if names is None else wiring.timer_lists.unknown(body.app, names)
        return Chosen(matched, sorted([*found, *found.bad]), found, unknown)

    def _given(self, body: ChangeTimers, ids: list[int]) -> Chosen:
        lists = self.wiring().timer_lists
        asked = sorted({timer_id for timer_id in ids if timer_id > body.after_id})
        found: Readable[int, Timer] = Readable()
        read: list[int] = []
        while len(read) < min(body.limit, len(asked)) and not (read and is_over()):
            part = asked[: body.limit][len(read) : len(read) + READ_AT_ONCE]
            _add(found, lists.of_ids(body.app, part))
            read += part
        left = lists.known(body.app, asked[len(read) :])
        return Chosen(len(found) + len(found.bad) + len(left), read, found)

    def _as_one_request_may(self, chosen: Chosen) -> Chosen:
        """Leave those that would have more planned than one request may to the next one."""
        known = [timer_id for timer_id in chosen.ids if timer_id in chosen.timers]
        schedules = (chosen.timers[timer_id].definition.schedule for timer_id in known)
        most = self.wiring().batches.how_many_to_enable(schedules)
        if most == len(known):
            return chosen
        return replace(chosen, ids=[timer_id for timer_id in chosen.ids if timer_id <= known[most - 1]])

    def _apply(self, body: ChangeTimers, chosen: Chosen) -> Results:
        batches: Batches = self.wiring().batches
        timers = [chosen.timers[timer_id] for timer_id in chosen.ids if timer_id in chosen.timers]
        unknown: Results = {
            timer_id: Unreadable(timer_id, chosen.timers.bad[timer_id])
            if timer_id in chosen.timers.bad
            else UnknownTimer(body.app, timer_id)
            for timer_id in chosen.ids
            if timer_id not in chosen.timers
        }
        # What a filter found may be something else by now.
        as_read = body.ids is None
        match body.action:
            case "enable":
                return unknown | batches.enable(timers, as_read)
            case "disable":
                return unknown | batches.disable(timers, as_read)
            case "delete":
                return unknown | batches.delete(timers, as_read)


# What a timer must be for an action to change it.
_IS_ENABLED = {"enable": False, "disable": True, "delete": None}


def add_bulk_routes(routes: APIBlueprint, wiring: Callable[[], Wiring]) -> None:
    """Add the route of changes of many timers."""
    views = BulkViews(wiring)
    routes.post("/bulk", **documented(views.change, "changeTimers"))(
        refusing_callbacks(taking_body(views.change))
    )


def _add(found: Readable[int, Timer], part: Readable[int, Timer]) -> None:
    found.update(part)
    found.bad.update(part.bad)


def _refuse_unclear(body: ChangeTimers) -> None:
    """Raise `Refused` unless it is said in one way which timers are meant."""
    if body.ids is not None and (body.filter is not None or body.all):
        raise Refused(ErrorCode.BAD_VALUE, "ids", "a filter, or all, is given too", "give one of them")
    if body.ids is None and not body.has_conditions and not body.all:
        raise Refused(
            ErrorCode.MISSING_FIELD,
            "filter",
            "there is no condition",
            'give one, or ids; if every timer of the app is meant, "all": true',
        )


def _failed(timer_id: int, timer: Timer | None, error: WangTimerError) -> FailedChange:
    answer = told(error)
    name = None if timer is None else timer.name
    return FailedChange(id=timer_id, name=name, code=answer.code, msg=answer.msg)
