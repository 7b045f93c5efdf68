"""A timer: what a business service defined, how far it is planned, and which of its fields an edit changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from secrets import randbelow
from threading import Lock
from typing import Any, NamedTuple

from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import ENDLESS, Bounded, Ending, Schedule, as_bounded, rule_of
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, CallForm, KeepOutput, Timeouts
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.fields import FIELDS, IN_DEFINITION, IN_TIMER, Further, Owned
from wangtimer.core.timers.misfire import USUAL, MisfireRule
from wangtimer.core.timers.overlap import Overlap

# 2020-01-01 UTC, ms: 41 bits of ms then reach to 2089, and ids stay within the 53 bits of a number in JSON.
EPOCH_MS = 1_577_836_800_000
CHANCE_BITS = 12
# Ids of one ms follow each other at steps up to this, so that those of one process ascend.
LONGEST_STEP = 64
# Planned moments are no further ahead, whatever the settings of any process say, or said: two steps of a day.
MOST_AHEAD_MS = 2 * 86_400_000


class TimerIds:
    """Gives out ascending ids: larger than all before in this process, and than any that a database counted.

    None is given out twice, even if SQL loses commits. Definitions, parked outcomes and members in Redis name a timer
    by its id. A database that lost its last commits would count on from an older id; then one app's target would be
    called for another's timer. So ids come from time and chance, not from a count that can go back. The primary key
    still decides: after a clash another id is tried.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def next(self, now: int) -> int:
        """Return the id of a timer that is made at `now`, ms UTC."""
        # Not `random`: forked processes would draw the same numbers.
        earliest = (max(now - EPOCH_MS, 0) << CHANCE_BITS) + randbelow(1 << CHANCE_BITS)
        with self._lock:
            self._last = max(earliest, self._last + 1 + randbelow(LONGEST_STEP))
            return self._last


APP_CHARACTERS = 64
NAME_CHARACTERS = 128


class TimerStatus(StrEnum):
    """Only an enabled timer is planned and fired; a deleted one keeps its history and has freed its name."""

    DISABLED = "disabled"
    ENABLED = "enabled"
    DELETED = "deleted"


class SecretMarks(NamedTuple):
    """What the owner marked as secret: headers by name, in lower case; all of the URL's query; the body."""

    headers: tuple[str, ...] = ()
    query: bool = False
    body: bool = False


UNMARKED = SecretMarks()


class Notify(NamedTuple):
    """The HTTP call to make: `headers` in the order given, a name may occur more than once.

    `sealed` has the secrets of a masked call, encrypted (`store/seals.py`); "": nothing of the call is apart.

    `target` is the named target that the call goes through; "": none. With one, `url` is what stands behind the URL of
    the target, and an empty method or body is the target's.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    marks: SecretMarks = UNMARKED
    sealed: str = ""
    target: str = ""


# Stands for the call of a timer that was read only for planning.
UNREAD = Notify("")
# The call of a deleted timer: it makes none any more, and keeps no secrets.
NO_CALL = Notify("")


class Definition(NamedTuple):
    """What firing needs to know of a timer. It is a tuple, as its call is: each firing of a one-shot reads both anew.

    `version` grows with every change. `edited_at` is when the schedule last changed (ms UTC, 0 = never): a
    schedule that never changed needs no check that it still contains a planned moment. `edited_before_at` is when it
    had changed the time before (ms UTC, 0 = never); only SQL knows it. `disabled_at` is when the timer was last
    switched from enabled to disabled or deleted (ms UTC, 0 = never). What `timeouts` and `retry` (None) leave open is
    as its target says, else the deployment. `further` are the values of fields that features add.
    """

    timer_id: int
    app: str
    version: int
    status: TimerStatus
    schedule: Schedule
    notify: Notify
    edited_at: int = 0
    misfire: MisfireRule = USUAL
    disabled_at: int = 0
    timeouts: Timeouts = AS_DEPLOYED
    keep_output: KeepOutput = KeepOutput.ALWAYS
    retry: RetryPolicy | None = None
    form: CallForm = UNTOUCHED
    overlap: Overlap = Overlap.ALLOW
    edited_before_at: int = 0
    further: Further = ()

    @property
    def is_enabled(self) -> bool:
        """Whether it is to be fired at all."""
        return self.status is TimerStatus.ENABLED

    @property
    def stored(self) -> "Definition":
        """As it is kept: a deleted timer makes no call and has no moment any more, so no call and bounds are kept."""
        if self.status is not TimerStatus.DELETED:
            return self
        return self._replace(notify=NO_CALL, schedule=rule_of(self.schedule))

    def still_wants(self, fire_at: int) -> bool:
        """Whether it is enabled and its present schedule contains this moment."""
        if self.has_cancelled(fire_at):
            return False
        return self.is_enabled and (not self.edited_at or self.schedule.matches(fire_at))

    def surely_wants(self, fire_at: int) -> bool:
        """Whether `still_wants` is true and `has_stopped` is not, seen without a look at the schedule's moments."""
        is_as_planned = not self.edited_at and fire_at > self.disabled_at
        return is_as_planned and self.status is TimerStatus.ENABLED and not self.has_cancelled(fire_at)

    def with_schedule(self, schedule: Schedule, now: int) -> "Definition":
        """Return it with another schedule, as of `now` (ms UTC)."""
        return self._replace(schedule=schedule, edited_at=now, edited_before_at=self.edited_at)

    def had_planned(self, fire_at: int) -> bool:
        """Whether this moment, which is on record, was planned by the schedule that stood when it came.

        That one may have been edited afterwards, or its zone may have other rules by now. For `MOST_AHEAD_MS` after an
        edit, moments that the schedule before it had planned may still be on record: then this cannot be told, and it
        is False.
        """
        stood_from = self.edited_at if fire_at > self.edited_at else self.edited_before_at
        return not stood_from or stood_from + MOST_AHEAD_MS < fire_at

    def has_stopped(self, fire_at: int, asked_at: int | None = None) -> bool:
        """Whether a disable or delete stopped this firing.

        Nobody asked for it (None): it did if the moment had come, though the timer may be enabled again. Who enables
        one whose single moment has passed means that. A firing asked for before (ms UTC) is stopped until the timer is
        enabled again. One asked for afterwards is made: somebody who fires a disabled timer means it.
        """
        if asked_at is not None:
            return not self.is_enabled and asked_at < self.disabled_at
        return fire_at <= self.disabled_at and self.schedule.only_moment is None

    def has_cancelled(self, fire_at: int) -> bool:
        """Whether this one moment was cancelled."""
        return isinstance(self.schedule, Bounded) and fire_at in self.schedule.cancelled


@dataclass(frozen=True, slots=True)
class NewTimer(Owned):
    """What a business service defines; it starts disabled."""

    app: str
    name: str
    schedule: Schedule
    notify: Notify
    misfire: MisfireRule = USUAL
    ending: Ending = ENDLESS
    timeouts: Timeouts = AS_DEPLOYED
    keep_output: KeepOutput = KeepOutput.ALWAYS
    retry: RetryPolicy | None = None
    form: CallForm = UNTOUCHED
    overlap: Overlap = Overlap.ALLOW
    further: Further = ()

    def value_of(self, timer_field: TimerField[Any]) -> Any:
        """Return the timer's value of a field."""
        return getattr(self, timer_field.name)


@dataclass(frozen=True, slots=True)
class Timer(Owned):
    """A timer's row: its definition, name, ending, the owner's other fields, and its planning marks (ms UTC).

    Every moment up to and including `planned_until` has its firing row; `next_fire_at` is the first moment after it, or
    None if there is none. Then `planned_until` is not after the last moment, or it is in the past.
    `is_told` is no part of the row: False if Redis could not be told of the change that was just made. `followed`: the
    versions from the first to the second differ only in what a calendar or the rules of its zone made of them.
    """

    definition: Definition
    name: str
    planned_until: int
    next_fire_at: int | None
    created_at: int
    updated_at: int
    ending: Ending = ENDLESS
    is_told: bool = field(default=True, compare=False)
    followed: tuple[int, int] = field(default=(0, 0), compare=False)

    @property
    def id(self) -> int:
        """The timer's number, unique in the deployment."""
        return self.definition.timer_id

    @property
    def terms(self) -> tuple[object, ...]:
        """All that its owner sets, and when the schedule last changed."""
        definition = self.definition
        said = (self.name, definition.schedule, self.ending, definition.notify, *map(self.value_of, FIELDS))
        return (*said, definition.edited_at)

    def value_of(self, timer_field: TimerField[Any]) -> Any:
        """Return the timer's value of a field."""
        return getattr(self.definition if timer_field.in_definition else self, timer_field.name)

    def with_values(self, values: Mapping[str, Any]) -> "Timer":
        """Return the timer with these values of all `FIELDS`, by their names."""
        of_definition = {timer_field.name: values[timer_field.name] for timer_field in IN_DEFINITION}
        of_timer = {timer_field.name: values[timer_field.name] for timer_field in IN_TIMER}
        return replace(self, definition=self.definition._replace(**of_definition), **of_timer)

    def is_at(self, version: int) -> bool:
        """Tell whether nobody changed the timer since this version, other than a calendar or the rules of its zone."""
        first, last = self.followed
        at = self.definition.version
        return version == at or (last == at and first <= version < at)

    def is_finished(self, now: int) -> bool:
        """Whether it is enabled and has no moment left after `now` (ms UTC)."""
        return self.definition.is_enabled and self.next_fire_at is None and self.planned_until <= now

    def planned_from(self, moment: int) -> "Timer":
        """Return the timer with planning to start right after `moment` (ms UTC)."""
        return replace(self, planned_until=moment)


# Fields of a call that have another place in `/v1`.
_PLACES = {"target": "name"}


def changed_fields(was: Timer, now: Timer) -> tuple[str, ...]:
    """Return the places of the fields whose values differ; `schedule` stands for its rule."""
    return tuple(
        dict.fromkeys((*_own(was, now), *_of_schedule(was, now), *_of_call(was, now), *_further(was, now)))
    )


def _own(was: Timer, now: Timer) -> Iterator[str]:
    if was.name != now.name:
        yield "key"


def _of_schedule(was: Timer, now: Timer) -> Iterator[str]:
    before, after = as_bounded(was.definition.schedule), as_bounded(now.definition.schedule)
    if before.rule != after.rule:
        yield "schedule"
    for place, old, other in (
        ("startAt", before.start_ms, after.start_ms),
        ("endAt", was.ending.end_ms, now.ending.end_ms),
        ("maxFirings", was.ending.most, now.ending.most),
        ("excludeCalendar", before.excluded, after.excluded),
        ("jitter", before.jitter_ms, after.jitter_ms),
    ):
        if old != other:
            yield f"schedule.{place}"


def _of_call(was: Timer, now: Timer) -> Iterator[str]:
    before, after = was.definition.notify, now.definition.notify
    for place, old, other in zip(before._fields, before, after, strict=True):
        if old != other:
            yield f"target.{_PLACES.get(place, place)}"


def _further(was: Timer, now: Timer) -> Iterator[str]:
    for own in FIELDS:
        before, after = own.shown(was.value_of(own)), own.shown(now.value_of(own))
        for shown in own.asked:
            if before.get(shown.name) != after.get(shown.name):
                yield shown.place
