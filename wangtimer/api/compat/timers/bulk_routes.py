"""Many timers of an app, enabled, disabled or deleted in one request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from wangtimer.api.asked.conditions import NameText
from wangtimer.api.asked.many_timers import MOST_CHANGED, Action, Changed, ManyAsked, ManyTimers
from wangtimer.api.asked.many_types import AfterId, ChangedCounts, Ids, MostTimers, OnlyCount, counts_of
from wangtimer.api.compat.answers import ChangeAnswer, StoppedData
from wangtimer.api.compat.timers.filter_fields import FilterFields
from wangtimer.api.compat.timers.timer_data import stopped_data
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.envelope import Sent, is_none
from wangtimer.api.http.failures import told
from wangtimer.api.http.field_types import App, Given
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import taking_body
from wangtimer.api.http.refusals import Refused
from wangtimer.core.timers.timer import Timer
from wangtimer.wiring import Wiring


class BulkFilter(FilterFields):
    """Which of an app's timers to change: those that meet all conditions."""

    names: Annotated[
        list[NameText] | None,
        Field(
            min_length=1,
            max_length=MOST_CHANGED,
            description="timers with exactly one of these names",
            examples=[["a", "b"]],
        ),
    ] = None


class ChangeTimers(Given):
    """Which timers, by conditions or by ids, and the action."""

    app: App
    action: Action
    filter: Annotated[
        BulkFilter | None,
        Field(description="timers that meet all these conditions and that the action would change"),
    ] = None
    ids: Ids = None
    all: Annotated[bool, Field(description="required where there is no condition and no id")] = False
    dry_run: OnlyCount = False
    limit: MostTimers = MOST_CHANGED
    after_id: AfterId = 0

    @property
    def has_conditions(self) -> bool:
        """Whether the filter has a condition."""
        return self.filter is not None and self.filter != BulkFilter()

    @property
    def asked(self) -> ManyAsked:
        """The action and its timers; raises `Refused`."""
        asked = self.filter or BulkFilter()
        names = None if asked.names is None else tuple(asked.names)
        conditions = replace(asked.wanted_of(self.app, "filter."), names=names)
        return ManyAsked(self.app, self.action, self.ids, conditions, self.limit, self.after_id, self.dry_run)


class FailedChange(Sent):
    """A timer that was not changed, and the error it would get in a request of its own."""

    id: int
    name: Annotated[str | None, Field(description="null: there is no such timer")]
    code: int
    msg: str


class StoppedOne(StoppedData):
    """The stopped moment of one timer."""

    id: int


class ChangedData(ChangedCounts):
    """What became of the timers."""

    failed: list[FailedChange]
    stopped: Annotated[
        list[StoppedOne] | None,
        Field(
            exclude_if=is_none,
            description="after disable and delete: each timer's stopped moment, if it has one, as for a single timer",
        ),
    ] = None
    unknown_names: Annotated[
        list[str] | None,
        Field(
            exclude_if=is_none,
            description="with filter.names: the names that no timer of the app had when the request began",
        ),
    ] = None


class ChangedAnswer(ChangeAnswer):
    """What became of the timers."""

    data: ChangedData


@dataclass(frozen=True, slots=True)
class BulkViews:
    """Changes of many timers."""

    wiring: Callable[[], Wiring]

    def change(self, body: ChangeTimers) -> ChangedAnswer:
        """Enable, disable or delete many timers.

        They are selected by conditions or by ids. One request changes at most `limit` of them, in the order of their
        ids, and fewer where they take much CPU. `remaining` says how many are left: repeat the request for them. A
        refused timer is a row of `failed`; it does not stop the others.
        """
        _refuse_unclear(body)
        done = ManyTimers(self.wiring()).change(body.asked)
        return ChangedAnswer(
            data=ChangedData(
                **counts_of(done),
                failed=[_failed(timer_id, done) for timer_id in done.failed],
                stopped=None if body.action == "enable" else self._stopped(done.changed),
                unknown_names=done.chosen.unknown_names,
            ),
            counts_within_ms=done.counts_within_ms,
        )

    def _stopped(self, timers: list[Timer]) -> list[StoppedOne]:
        found = self.wiring().stops.of(timers)
        shown = ((timer_id, stopped_data(found[timer_id])) for timer_id in sorted(found))
        return [StoppedOne(id=timer_id, **dict(one)) for timer_id, one in shown if one is not None]


def add_bulk_routes(routes: APIBlueprint, wiring: Callable[[], Wiring]) -> None:
    """Add the route of changes of many timers."""
    views = BulkViews(wiring)
    routes.post("/bulk", **documented(views.change, "changeTimers"))(
        refusing_callbacks(taking_body(views.change))
    )


def _refuse_unclear(body: ChangeTimers) -> None:
    """Raise `Refused` unless the timers are selected in exactly one way."""
    if body.ids is not None and (body.filter is not None or body.all):
        raise Refused(ErrorCode.BAD_VALUE, "ids", "a filter, or all, is given too", "give one of them")
    if body.ids is None and not body.has_conditions and not body.all:
        raise Refused(
            ErrorCode.MISSING_FIELD,
            "filter",
            "there is no condition",
            'give one, or ids; if every timer of the app is meant, "all": true',
        )


def _failed(timer_id: int, done: Changed) -> FailedChange:
    answer = told(done.failed[timer_id])
    return FailedChange(id=timer_id, name=done.name_of(timer_id), code=answer.code, msg=answer.msg)
