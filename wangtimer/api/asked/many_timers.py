"""Many timers of an app, enabled, disabled or deleted by one request, whichever paths it came by."""

from dataclasses import dataclass, replace
from typing import Literal

from wangtimer.batches import Batches, Results
from wangtimer.core.errors import UnknownTimer, Unreadable, WangTimerError
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.timer import Timer
from wangtimer.core.timers.told import counts_within_ms
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.timer_lists import TimerFilter
from wangtimer.wiring import Wiring

Action = Literal["enable", "disable", "delete"]

MOST_CHANGED = 1_000
# Read at once: some 0.15 s of CPU where each has its own calendar of 4,000 days, none of them seen before.
READ_AT_ONCE = 250
# What a timer must be for an action to change it.
_IS_ENABLED: dict[Action, bool | None] = {"enable": False, "disable": True, "delete": None}


@dataclass(frozen=True, slots=True)
class ManyAsked:
    """What is to become of which timers: of `ids`, or else of those that `conditions` hold of and it would change.

    At most `limit` of those with an id over `after_id`; in a dry run of none.
    """

    app: str
    action: Action
    ids: list[int] | None
    conditions: TimerFilter
    limit: int
    after_id: int
    is_dry_run: bool


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
class Changed:
    """What became of the timers whose turn it was, by id, and how soon that counts."""

    chosen: Chosen
    results: Results
    counts_within_ms: int

    @property
    def failed(self) -> dict[int, WangTimerError]:
        """Those that were not changed, and why."""
        return {timer_id: one for timer_id, one in self.results.items() if isinstance(one, WangTimerError)}

    @property
    def changed(self) -> list[Timer]:
        """Those that were, as they stand."""
        return [one for one in self.results.values() if isinstance(one, Timer)]

    @property
    def remaining(self) -> int:
        """How many are left to do."""
        return self.chosen.matched - sum(map(self.chosen.is_known, self.chosen.ids))

    @property
    def last_id(self) -> int | None:
        """The largest id of this request."""
        return self.chosen.ids[-1] if self.chosen.ids else None

    def name_of(self, timer_id: int) -> str | None:
        """The timer's name, as far as there is such a timer that can be read."""
        timer = self.chosen.timers.get(timer_id)
        return None if timer is None else timer.name


@dataclass(frozen=True, slots=True)
class ManyTimers:
    """Changes many timers: one that is refused stops no other."""

    wiring: Wiring

    def change(self, asked: ManyAsked) -> Changed:
        """Change the timers, as many as the request's CPU is enough for; raises `StoreAway`."""
        chosen = self._matching(asked) if asked.ids is None else self._given(asked, asked.ids)
        if asked.is_dry_run:
            chosen = replace(chosen, ids=[])
        if asked.action == "enable":
            chosen = self._as_one_request_may(chosen)
        results = self._apply(asked, chosen)
        chosen = chosen.as_far_as(results)
        results = {timer_id: results[timer_id] for timer_id in chosen.ids}
        are_told = all(result.is_told for result in results.values() if isinstance(result, Timer))
        return Changed(chosen, results, counts_within_ms(are_told, self.wiring.settings.lead_ms))

    def _matching(self, asked: ManyAsked) -> Chosen:
        """Return the timers of the conditions that the action would change."""
        lists, now = self.wiring.timer_lists, int(self.wiring.clock.now_ms())
        conditions = replace(asked.conditions, is_enabled=_IS_ENABLED[asked.action])
        matched = lists.count(conditions, now, asked.after_id)
        found: Readable[int, Timer] = Readable()
        after_id, room = asked.after_id, asked.limit
        while room and not (found and is_over()):
            part = lists.chosen(conditions, min(room, READ_AT_ONCE), now, after_id)
            _add(found, part)
            read = len(part) + len(part.bad)
            if read < min(room, READ_AT_ONCE):
                break
            after_id, room = max([*part, *part.bad]), room - read
        names = conditions.names
        unknown = None if names is None else lists.unknown(asked.app, names)
        return Chosen(matched, sorted([*found, *found.bad]), found, unknown)

    def _given(self, asked: ManyAsked, ids: list[int]) -> Chosen:
        lists = self.wiring.timer_lists
        turn = sorted({timer_id for timer_id in ids if timer_id > asked.after_id})
        found: Readable[int, Timer] = Readable()
        read: list[int] = []
        while len(read) < min(asked.limit, len(turn)) and not (read and is_over()):
            part = turn[: asked.limit][len(read) : len(read) + READ_AT_ONCE]
            _add(found, lists.of_ids(asked.app, part))
            read += part
        left = lists.known(asked.app, turn[len(read) :])
        return Chosen(len(found) + len(found.bad) + len(left), read, found)

    def _as_one_request_may(self, chosen: Chosen) -> Chosen:
        """Leave those that would have more planned than one request may to the next one."""
        known = [timer_id for timer_id in chosen.ids if timer_id in chosen.timers]
        schedules = (chosen.timers[timer_id].definition.schedule for timer_id in known)
        most = self.wiring.batches.how_many_to_enable(schedules)
        if most == len(known):
            return chosen
        return replace(chosen, ids=[timer_id for timer_id in chosen.ids if timer_id <= known[most - 1]])

    def _apply(self, asked: ManyAsked, chosen: Chosen) -> Results:
        batches: Batches = self.wiring.batches
        timers = [chosen.timers[timer_id] for timer_id in chosen.ids if timer_id in chosen.timers]
        unknown: Results = {
            timer_id: Unreadable(timer_id, chosen.timers.bad[timer_id])
            if timer_id in chosen.timers.bad
            else UnknownTimer(asked.app, timer_id)
            for timer_id in chosen.ids
            if timer_id not in chosen.timers
        }
        # What conditions found may be something else by now.
        as_read = asked.ids is None
        match asked.action:
            case "enable":
                return unknown | batches.enable(timers, as_read)
            case "disable":
                return unknown | batches.disable(timers, as_read)
            case "delete":
                return unknown | batches.delete(timers, as_read)


def _add(found: Readable[int, Timer], part: Readable[int, Timer]) -> None:
    found.update(part)
    found.bad.update(part.bad)
