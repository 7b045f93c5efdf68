"""Judges what happened: which troubles there are now, and which of them are to be told."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertNote, AlertRule
from wangtimer.core.retry import number_in_row

_COUNT_ATTEMPTS = frozenset({AlertEvent.FIRST_FAILURE, AlertEvent.FAILURES_IN_A_ROW})


class TroubleKey(NamedTuple):
    """One of a rule, a timer and an event, and no other while it lasts."""

    app: str
    rule: str
    timer_id: int
    event: AlertEvent


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is not normal, until it is over. Moments in ms UTC; `told_at` None: it was not told yet.

    It is over when a firing at `fire_at` or later has succeeded, and was not later than `late_ms` (None: however late).
    """

    key: TroubleKey
    timer_name: str
    fire_at: int
    since: int
    last_at: int
    times: int
    told_at: int | None = None
    late_ms: int | None = None


class Happened(NamedTuple):
    """A note, and whose it is."""

    note: AlertNote
    app: str
    timer_name: str


# A rule, and what is to be told by it.
ToTell = tuple[AlertRule, Alert]


@dataclass(slots=True)
class Judgement:
    """The troubles that changed, and what is to be told."""

    troubles: dict[TroubleKey, Trouble] = field(default_factory=dict)
    to_tell: list[ToTell] = field(default_factory=list)


def judge(
    happened: Iterable[Happened],
    rules: Mapping[str, Sequence[AlertRule]],
    held: Mapping[TroubleKey, Trouble],
    failures_now: Callable[[int], int],
    now: int,
) -> Judgement:
    """Return what these notes change. `held`: the troubles that their timers have already.

    `failures_now` returns how many attempts of a timer have failed since its last success. It is asked where a success
    may have come between, and once for a timer.
    """
    found = Judgement()
    last: dict[TroubleKey, tuple[AlertRule, AlertNote]] = {}
    for note, app, timer_name in happened:
        for rule in rules.get(app, ()):
            for event in rule.events_of(note, timer_name):
                key = TroubleKey(app, rule.name, note.member.timer_id, event)
                was = found.troubles.get(key) or held.get(key)
                if was is None and event is AlertEvent.FIRST_FAILURE and not _begins(note, failures_now):
                    continue
                found.troubles[key] = _grown(was, key, note, timer_name, rule, now)
                last[key] = rule, note
    for key, (rule, note) in last.items():
        found.troubles[key] = _told(found, found.troubles[key], rule, note, failures_now, now)
    return found


def _begins(note: AlertNote, failures_now: Callable[[int], int]) -> bool:
    """Tell whether a failure begins a trouble; a further attempt does not, where a later firing has succeeded."""
    return number_in_row(note.member.attempt) == 1 or failures_now(note.member.timer_id) > 0


def _grown(
    was: Trouble | None, key: TroubleKey, note: AlertNote, timer_name: str, rule: AlertRule, now: int
) -> Trouble:
    late_ms = rule.late_ms if key.event is AlertEvent.LATE else None
    fire_at = note.member.fire_at
    if was is None:
        return Trouble(key, timer_name, fire_at, now, now, 1, None, late_ms)
    return replace(was, fire_at=max(was.fire_at, fire_at), last_at=now, times=was.times + 1, late_ms=late_ms)


def _told(
    found: Judgement,
    one: Trouble,
    rule: AlertRule,
    note: AlertNote,
    failures_now: Callable[[int], int],
    now: int,
) -> Trouble:
    """Return a trouble as it is once what is to be told of it has been put among the rest."""
    if one.told_at is not None and (rule.repeat_ms is None or now - one.told_at < rule.repeat_ms):
        return one
    event = one.key.event
    if event is AlertEvent.FAILURES_IN_A_ROW and one.times >= rule.needed(event):
        one = replace(one, times=min(one.times, failures_now(one.key.timer_id)))
    if one.times < rule.needed(event):
        return one
    found.to_tell.append((rule, _alert(one, note)))
    return replace(one, told_at=now)


def _alert(one: Trouble, note: AlertNote) -> Alert:
    return Alert(
        one.key.event,
        one.key.timer_id,
        one.timer_name,
        note.member.fire_at,
        one.since,
        one.times,
        note.error,
        note.http_status,
        note.lateness_ms,
    )


def recovery(one: Trouble) -> Alert:
    """Return what is told of a trouble that is over."""
    key = one.key
    return Alert(
        AlertEvent.RECOVERED, key.timer_id, one.timer_name, one.fire_at, one.since, one.times, about=key.event
    )


def by_rule(to_tell: Iterable[ToTell]) -> dict[tuple[str, str], list[Alert]]:
    """Return what is to be told by app and name of the rule."""
    found: dict[tuple[str, str], list[Alert]] = defaultdict(list)
    for rule, alert in to_tell:
        found[rule.app, rule.name].append(alert)
    return found
