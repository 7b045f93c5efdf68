"""Many timers of an app, enabled, disabled or deleted by one request of v1."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import MOST_ID, Id
from wangtimer.api.http.refusals import bad_value, missing_field
from wangtimer.api.http.request_context import begin_if_many
from wangtimer.api.timer_terms.timer_field_types import NameText
from wangtimer.api.v1.parameters import ActingHeader, AppHeader
from wangtimer.api.v1.problems import OfMany, Problem, problem_of_row
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.timers.declared_fields import OfTimers
from wangtimer.api.v1.timers.timer_answers import ShownStop
from wangtimer.api.v1.timers.timer_list_routes import TimerConditions
from wangtimer.api.v1.value_types import Span
from wangtimer.core.errors import UnknownTimer, Unreadable, WangTimerError
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.core.timers.timer import Timer
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.timer_lists import TimerFilter
from wangtimer.timers.batches import Batches, Results
from wangtimer.wiring import Wiring

Action = Literal["enable", "disable", "delete"]

MOST_CHANGED = 1_000
# Timers read at once. It takes some 0.15 s of CPU when each has its own new calendar of 4,000 days.
READ_AT_ONCE = 250
# Whether a timer must be enabled for the action to change it; None: either.
_IS_ENABLED: dict[Action, bool | None] = {"enable": False, "disable": True, "delete": None}


@dataclass(frozen=True, slots=True)
class Chosen:
    """How many timers match, the ids of this request's part of them, and those timers by id.

    `unknown_names`: the requested names that no timer has; None where no names were given.
    """

    matched: int
    ids: list[int]
    timers: Readable[int, Timer]
    unknown_names: list[str] | None = None

    def as_far_as(self, results: Results) -> "Chosen":
        """Leave the first timer without a result, and all after it, to the next request."""
        left = next((place for place, timer_id in enumerate(self.ids) if timer_id not in results), None)
        return self if left is None else replace(self, ids=self.ids[:left])

    def is_known(self, timer_id: int) -> bool:
        """Whether there is such a timer, even one that cannot be read."""
        return timer_id in self.timers or timer_id in self.timers.bad


@dataclass(frozen=True, slots=True)
class Changed:
    """The results of this request's timers by id, and how soon the changes take effect."""

    chosen: Chosen
    results: Results
    counts_within_ms: int

    @property
    def failed(self) -> dict[int, WangTimerError]:
        """The errors of the timers that were not changed, by id."""
        return {
            timer_id: result
            for timer_id, result in self.results.items()
            if isinstance(result, WangTimerError)
        }

    @property
    def changed(self) -> list[Timer]:
        """The changed timers, as they are now."""
        return [result for result in self.results.values() if isinstance(result, Timer)]

    @property
    def remaining(self) -> int:
        """How many timers are left for later requests."""
        return self.chosen.matched - sum(map(self.chosen.is_known, self.chosen.ids))

    @property
    def last_id(self) -> int | None:
        """The largest id of this request."""
        return self.chosen.ids[-1] if self.chosen.ids else None

    def name_of(self, timer_id: int) -> str | None:
        """The timer's name; None where there is no such timer, or it cannot be read."""
        timer = self.chosen.timers.get(timer_id)
        return None if timer is None else timer.name


class ManyTimersBody(OfTimers):
    """Which timers: exactly one of `keys`, `ids`, `filter` and `all` selects them."""

    keys: Annotated[
        list[NameText] | None, Field(min_length=1, max_length=MOST_CHANGED, examples=[["a", "b"]])
    ] = None
    """by their keys"""
    ids: Annotated[
        list[Id] | None, Field(min_length=1, max_length=MOST_CHANGED, fail_fast=True, examples=[[1, 2]])
    ] = None
    filter: TimerConditions | None = None
    """timers that meet all these conditions and that the verb would change"""
    all: bool = False
    """true: every timer of the app that the verb would change"""
    dry_run: bool = False
    """only count"""
    limit: Annotated[int, Field(ge=1, le=MOST_CHANGED)] = MOST_CHANGED
    """at most this many timers in this request"""
    after_id: Annotated[int, Field(ge=0, le=MOST_ID)] = 0
    """only timers with a larger id: lastId of the previous answer"""

    def conditions_of(self, app: str) -> TimerFilter:
        """Return which timers of an app are meant where no ids are given; raises `Refused`."""
        self._refuse_unclear()
        wanted = TimerFilter(app) if self.filter is None else self.filter.wanted_of(app, "filter.")
        return replace(wanted, names=None if self.keys is None else tuple(self.keys))

    def _refuse_unclear(self) -> None:
        given = [name for name in ("keys", "ids", "filter") if getattr(self, name) is not None]
        given += ["all"] if self.all else []
        if len(given) > 1:
            reason = f"{' and '.join(given)} are given"
            raise bad_value(given[0], reason, "give one of them")
        if not given or self.filter == TimerConditions():
            raise missing_field(
                "filter",
                "there is no condition",
                'give one, or keys, or ids; if every timer of the app is meant, "all": true',
            )


@dataclass(frozen=True, slots=True)
class ManyTimers:
    """Changes many timers of an app: of `ids`, or those that meet `conditions`; a refusal stops no other."""

    wiring: Wiring
    app: str
    action: Action
    body: ManyTimersBody
    conditions: TimerFilter

    def change(self) -> Changed:
        """Change as many of the timers as the request's CPU allows; raises `StoreAway` and `TooManyAtOnce`."""
        chosen = self._matching() if self.body.ids is None else self._given(self.body.ids)
        if self.body.dry_run:
            chosen = replace(chosen, ids=[])
        if self.action == "enable":
            chosen = self._as_one_request_may(chosen)
        results = self._apply(chosen)
        chosen = chosen.as_far_as(results)
        results = {timer_id: results[timer_id] for timer_id in chosen.ids}
        are_told = all(result.is_told for result in results.values() if isinstance(result, Timer))
        return Changed(chosen, results, counts_within_ms(are_told, self.wiring.settings.lead_ms))

    def _matching(self) -> Chosen:
        lists, now = self.wiring.timer_lists, int(self.wiring.clock.now_ms())
        conditions = replace(self.conditions, is_enabled=_IS_ENABLED[self.action])
        matched = lists.count(conditions, now, self.body.after_id)
        found: Readable[int, Timer] = Readable()
        after_id, room = self.body.after_id, self.body.limit
        while room and not (found and is_over()):
            part = lists.chosen(conditions, min(room, READ_AT_ONCE), now, after_id)
            _add(found, part)
            read = len(part) + len(part.bad)
            if read < min(room, READ_AT_ONCE):
                break
            after_id, room = max([*part, *part.bad]), room - read
        names = conditions.names
        unknown = None if names is None else lists.unknown(self.app, names)
        return Chosen(matched, sorted([*found, *found.bad]), found, unknown)

    def _given(self, ids: list[int]) -> Chosen:
        lists = self.wiring.timer_lists
        turn = sorted({timer_id for timer_id in ids if timer_id > self.body.after_id})
        found: Readable[int, Timer] = Readable()
        read: list[int] = []
        while len(read) < min(self.body.limit, len(turn)) and not (read and is_over()):
            part = turn[: self.body.limit][len(read) : len(read) + READ_AT_ONCE]
            _add(found, lists.of_ids(self.app, part))
            read += part
        left = lists.known(self.app, turn[len(read) :])
        return Chosen(len(found) + len(found.bad) + len(left), read, found)

    def _as_one_request_may(self, chosen: Chosen) -> Chosen:
        """Leave timers to the next request where this one would plan more firings than it may."""
        known = [timer_id for timer_id in chosen.ids if timer_id in chosen.timers]
        schedules = (chosen.timers[timer_id].definition.schedule for timer_id in known)
        most = self.wiring.batches.how_many_to_enable(schedules)
        if most == len(known):
            return chosen
        return replace(chosen, ids=[timer_id for timer_id in chosen.ids if timer_id <= known[most - 1]])

    def _apply(self, chosen: Chosen) -> Results:
        batches: Batches = self.wiring.batches
        timers = [chosen.timers[timer_id] for timer_id in chosen.ids if timer_id in chosen.timers]
        unknown: Results = {
            timer_id: Unreadable(timer_id, chosen.timers.bad[timer_id])
            if timer_id in chosen.timers.bad
            else UnknownTimer(self.app, timer_id)
            for timer_id in chosen.ids
            if timer_id not in chosen.timers
        }
        # A timer that matched the conditions may have changed since.
        as_read = self.body.ids is None
        match self.action:
            case "enable":
                return unknown | batches.enable(timers, as_read)
            case "disable":
                return unknown | batches.disable(timers, as_read)
            case "delete":
                return unknown | batches.delete(timers, as_read)


def _add(found: Readable[int, Timer], part: Readable[int, Timer]) -> None:
    found.update(part)
    found.bad.update(part.bad)
    begin_if_many(found)


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

    matched: int
    """how many timers matched"""
    done: int
    remaining: int
    """how many of them are left: repeat the request"""
    last_id: int | None
    """the largest timer id of this request; null: it had no timer"""
    failed: list[UnchangedTimer]
    stopped: list[StoppedTimer]
    """each timer's stopped moment, if it has one, by id"""
    unknown_keys: list[str] | None = None
    """with keys: the keys that no timer of the app had when the request began"""
    counts_within: Span

    @property
    def problems(self) -> list[Problem]:
        """The problems of those that were not changed."""
        return [row.problem for row in self.failed]


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
        conditions = body.conditions_of(header.app)
        return ManyTimers(self.wiring(), header.app, action, body, conditions).change()

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
            StoppedTimer.of(moment, id=timer_id, at=moment.at_ms)
            for timer_id, moment in stopped
            if moment is not None
        ]
