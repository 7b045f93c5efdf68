"""Many timers of an app, enabled, disabled or deleted over v1."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import MOST_ID, Id
from wangtimer.api.http.refusals import Refused
from wangtimer.api.timer_terms.timer_field_types import NameText
from wangtimer.api.v1.kept_replies import ActingHeader
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.problems import OfMany, Problem, problem_of_row
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.shown import Span
from wangtimer.api.v1.timers.many_timers import MOST_CHANGED, Action, Changed, ManyAsked, ManyTimers
from wangtimer.api.v1.timers.schedule_model import OfTimers
from wangtimer.api.v1.timers.timer_answers import ShownStop
from wangtimer.api.v1.timers.timer_conditions import TimerConditions
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.timer_lists import TimerFilter


class ManyTimersBody(OfTimers):
    """Which timers: exactly one of `keys`, `ids`, `filter` and `all` selects them."""

    keys: Annotated[
        list[NameText] | None,
        Field(min_length=1, max_length=MOST_CHANGED, description="by their keys", examples=[["a", "b"]]),
    ] = None
    ids: Annotated[
        list[Id] | None, Field(min_length=1, max_length=MOST_CHANGED, fail_fast=True, examples=[[1, 2]])
    ] = None
    filter: Annotated[
        TimerConditions | None,
        Field(description="timers that meet all these conditions and that the verb would change"),
    ] = None
    all: Annotated[bool, Field(description="true: every timer of the app that the verb would change")] = False
    dry_run: Annotated[bool, Field(description="only count")] = False
    limit: Annotated[
        int, Field(ge=1, le=MOST_CHANGED, description="at most this many timers in this request")
    ] = MOST_CHANGED
    after_id: Annotated[
        int,
        Field(
            ge=0,
            le=MOST_ID,
            description="only timers with a larger id: lastId of the previous answer",
        ),
    ] = 0

    def asked(self, app: str, action: Action) -> ManyAsked:
        """Return the action and its timers; raises `Refused`."""
        self._refuse_unclear()
        wanted = TimerFilter(app) if self.filter is None else self.filter.wanted_of(app, "filter.")
        names = None if self.keys is None else tuple(self.keys)
        conditions = replace(wanted, names=names)
        return ManyAsked(app, action, self.ids, conditions, self.limit, self.after_id, self.dry_run)

    def _refuse_unclear(self) -> None:
        given = [name for name in ("keys", "ids", "filter") if getattr(self, name) is not None]
        given += ["all"] if self.all else []
        if len(given) > 1:
            reason = f"{' and '.join(given)} are given"
            raise Refused(ErrorCode.BAD_VALUE, given[0], reason, "give one of them")
        if not given or self.filter == TimerConditions():
            raise Refused(
                ErrorCode.MISSING_FIELD,
                "filter",
                "there is no condition",
                'give one, or keys, or ids; if every timer of the app is meant, "all": true',
            )


class UnchangedTimer(Sent):
    """A timer that was not changed, and why."""

    id: int
    key: Annotated[str | None, Field(description="null: there is no such timer")]
    problem: Problem


class StoppedTimer(ShownStop):
    """The stopped moment of one timer."""

    id: int


class ManyTimersOutcome(OfMany):
    """What became of the timers."""

    matched: Annotated[int, Field(description="how many timers matched")]
    done: int
    remaining: Annotated[int, Field(description="how many of them are left: repeat the request")]
    last_id: Annotated[
        int | None, Field(description="the largest timer id of this request; null: it had no timer")
    ]
    failed: list[UnchangedTimer]
    stopped: Annotated[
        list[StoppedTimer], Field(description="each timer's stopped moment, if it has one, by id")
    ]
    unknown_keys: Annotated[
        list[str] | None,
        Field(description="with keys: the keys that no timer of the app had when the request began"),
    ] = None
    counts_within: Span

    @property
    def problems(self) -> list[Problem]:
        """The problems of those that were not changed."""
        return [one.problem for one in self.failed]


class BatchChangeResource(Resource):
    """Changes many timers."""

    @Route("post", "/timers:batchEnable", "batchEnableTimers")
    def enable(self, header: ActingHeader, body: ManyTimersBody) -> ManyTimersOutcome:
        """Enable many timers.

        One request changes at most `limit` of them, in the order of their ids, and fewer where they take much CPU.
        `remaining` says how many are left: repeat the request for them. A refused timer is a row of `failed`; it does
        not stop the others.
        """
        return self._outcome(self._change(header, body, "enable"), stops=False)

    @Route("post", "/timers:batchDisable", "batchDisableTimers", is_for_callbacks=True)
    def disable(self, header: ActingHeader, body: ManyTimersBody) -> ManyTimersOutcome:
        """Disable many timers.

        The limits are those of `:batchEnable`. `stopped` says for each timer whether its next moment was stopped.
        """
        return self._outcome(self._change(header, body, "disable"), stops=True)

    @Route("post", "/timers:batchDelete", "batchDeleteTimers", is_for_callbacks=True)
    def delete(self, header: ActingHeader, body: ManyTimersBody) -> ManyTimersOutcome:
        """Delete many timers.

        The limits are those of `:batchEnable`. `stopped` says for each timer whether its next moment was stopped.
        """
        return self._outcome(self._change(header, body, "delete"), stops=True)

    def _change(self, header: AppHeader, body: ManyTimersBody, action: Action) -> Changed:
        return ManyTimers(self.wiring()).change(body.asked(header.app, action))

    def _outcome(self, done: Changed, stops: bool) -> ManyTimersOutcome:
        return ManyTimersOutcome.of(
            matched=done.chosen.matched,
            done=len(done.changed),
            remaining=done.remaining,
            last_id=done.last_id,
            failed=[
                UnchangedTimer(id=timer_id, key=done.name_of(timer_id), problem=problem_of_row(error))
                for timer_id, error in done.failed.items()
            ],
            stopped=self._stopped(done.changed) if stops else [],
            unknown_keys=done.chosen.unknown_names,
            counts_within=done.counts_within_ms,
        )

    def _stopped(self, timers: list[Timer]) -> list[StoppedTimer]:
        found = self.wiring().stops.of(timers)
        stopped = ((timer_id, found[timer_id]) for timer_id in sorted(found))
        return [
            StoppedTimer.of(one, id=timer_id, at=one.at_ms) for timer_id, one in stopped if one is not None
        ]
