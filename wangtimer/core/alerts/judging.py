"""Judges what happened: which troubles there are now, and which of them are to be told."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from typing import NamedTuple

from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertNote, AlertRule, Per
from wangtimer.core.alerts.trouble import Trouble, TroubleKey
from wangtimer.core.retry import number_in_row


class Happened(NamedTuple):
    """A note, and whose it is."""

    note: AlertNote
    app: str
    timer_name: str


class OfTrouble(NamedTuple):
    """The rule that a trouble is of, and what happened there."""

    rule: AlertRule
    happened: list[Happened]


# A rule, and what is to be told by it.
ToTell = tuple[AlertRule, Alert]


@dataclass(slots=True)
class Judgement:
    """The troubles that changed, and what is to be told; `grown`: what goes on of hosts, and was told before."""

    troubles: dict[TroubleKey, Trouble] = field(default_factory=dict)
    to_tell: list[ToTell] = field(default_factory=list)
    grown: list[ToTell] = field(default_factory=list)


def by_trouble(
    happened: Iterable[Happened], rules: Mapping[str, Sequence[AlertRule]], now: int
) -> dict[TroubleKey, OfTrouble]:
    """Return which troubles notes are of, each with its rule and its notes, the first known first."""
    found: dict[TroubleKey, OfTrouble] = {}
    for noted in sorted(happened, key=lambda noted: _known_at(noted.note, now)):
        for rule in rules.get(noted.app, ()):
            for key in keys_of(noted, rule):
                if (of_trouble := found.get(key)) is None:
                    of_trouble = found[key] = OfTrouble(rule, [])
                of_trouble.happened.append(noted)
    return found


def judge(
    of_troubles: Mapping[TroubleKey, OfTrouble],
    held: Mapping[TroubleKey, Trouble],
    failures_now: Callable[[int], int],
    now: int,
) -> Judgement:
    """Return what notes change, as `by_trouble` has them. `held`: the troubles that there are already.

    `failures_now` returns how many attempts of a timer have failed since its last success. It is asked where a success
    may have come between, and once for a timer.
    """
    found = Judgement()
    for key, (rule, of_it) in of_troubles.items():
        was = held.get(key)
        over, grown = _grown(was, key, of_it, rule, failures_now, now)
        found.to_tell.extend((rule, trouble.recovery()) for trouble in over if tells_of_end(rule, trouble))
        if grown is not None:
            trouble = found.troubles[key] = told_if_due(found, grown, rule, failures_now, now)
            told_before = None if was is None else was.told_at
            is_told = told_before is not None and trouble.told_at == told_before
            if key.is_of_host and is_told and not trouble.is_broken:
                found.grown.append((rule, trouble.alert()))
    return found


def keys_of(noted: Happened, rule: AlertRule) -> Iterator[TroubleKey]:
    """Yield the troubles that a note is of, by a rule; a success is of all that its place may have."""
    note = noted.note
    is_by_host = rule.per is Per.HOST
    timer_id, place = (0, note.place.text) if is_by_host else (note.member.timer_id, "")
    events = set(rule.events_of(note, noted.timer_name))
    if is_by_host and note.is_success and noted.timer_name.startswith(rule.key_prefix):
        events |= rule.events - {AlertEvent.RECOVERED}
    for event in sorted(events):
        yield TroubleKey(noted.app, rule.name, timer_id, event, place)


def _known_at(note: AlertNote, now: int) -> int:
    return now if note.known_at is None else note.known_at


def tells_of_end(rule: AlertRule, trouble: Trouble) -> bool:
    """Tell whether a rule tells that a trouble is over."""
    return trouble.told_at is not None and AlertEvent.RECOVERED in rule.events


def _grown(
    was: Trouble | None,
    key: TroubleKey,
    happened: Sequence[Happened],
    rule: AlertRule,
    failures_now: Callable[[int], int],
    now: int,
) -> tuple[list[Trouble], Trouble | None]:
    """Return a trouble as these notes leave it, None where there is none; and those that were over between them."""
    if not key.is_of_host:
        return [], _grown_of_timer(was, key, happened, rule, failures_now, now)
    trouble, counted, over = was, set[int](), list[Trouble]()
    for note, app, timer_name in happened:
        known_at = _known_at(note, now)
        if note.is_success and key.event not in set(rule.events_of(note, timer_name)):
            if trouble is not None and trouble.is_ended_by(note, known_at):
                trouble = trouble.after_success(known_at)
                counted = counted if trouble.times else set()
            continue
        opened_at = now
        if trouble is not None:
            if note.well_at is not None and key.event is not AlertEvent.LATE:
                trouble = trouble.after_success(note.well_at)
                counted = counted if trouble.times else set()
            if trouble.was_over(known_at):
                over.append(_counted(trouble, counted))
                opened_at = trouble.opened_at
                trouble, counted = None, set()
        if trouble is None:
            if key.event is AlertEvent.FIRST_FAILURE and not _begins(note, failures_now):
                continue
            trouble = Trouble(key, timer_name, note.member.fire_at, now, now, 0, opened_at=opened_at)
        trouble = trouble.after(note, app, timer_name, rule.late_ms, known_at, now)
        counted.add(note.member.timer_id)
    return over, None if trouble is None or trouble is was else _counted(trouble, counted)


def _grown_of_timer(
    was: Trouble | None,
    key: TroubleKey,
    happened: Sequence[Happened],
    rule: AlertRule,
    failures_now: Callable[[int], int],
    now: int,
) -> Trouble | None:
    """Return a timer's trouble as these notes leave it, by the last of them: a storm has many of each timer."""
    if was is None and key.event is AlertEvent.FIRST_FAILURE:
        happened = list(dropwhile(lambda noted: not _begins(noted.note, failures_now), happened))
    if not happened:
        return None
    first, last = happened[0], happened[-1]
    fire_at = first.note.member.fire_at
    trouble = was or Trouble(key, first.timer_name, fire_at, now, now, 0, opened_at=now)
    grown = trouble.after(last.note, last.app, last.timer_name, rule.late_ms, _known_at(last.note, now), now)
    if first is last:
        return grown
    first_known_at = _known_at(first.note, now)
    placed = next((each for each in reversed(happened) if each.note.place.text), None)
    return replace(
        grown,
        fire_at=max(trouble.fire_at, *(each.note.member.fire_at for each in happened)),
        times=trouble.times + len(happened),
        began_at=min(trouble.began_at, first_known_at) if trouble.times else first_known_at,
        place=trouble.place if placed is None else placed.note.place._replace(app=placed.app),
    )


def _counted(trouble: Trouble, timer_ids: set[int]) -> Trouble:
    return replace(trouble, timers=trouble.timers.with_timers(timer_ids))


def _begins(note: AlertNote, failures_now: Callable[[int], int]) -> bool:
    """Tell whether a failure begins a trouble; a further attempt does not, where a later firing has succeeded."""
    return number_in_row(note.member.attempt) == 1 or failures_now(note.member.timer_id) > 0


def told_if_due(
    found: Judgement,
    trouble: Trouble,
    rule: AlertRule,
    failures_now: Callable[[int], int],
    now: int,
) -> Trouble:
    """Return a trouble as it is once what is to be told of it has been put among the rest."""
    if not trouble.is_due_again(rule.repeat_ms, now):
        return trouble
    event = trouble.key.event
    if event is AlertEvent.FAILURES_IN_A_ROW and trouble.times >= rule.needed(event):
        if not trouble.is_known(now):
            return trouble
        if not trouble.key.is_of_host:
            trouble = replace(trouble, times=min(trouble.times, failures_now(trouble.key.timer_id)))
    if trouble.times < rule.needed(event) or not trouble.times:
        return trouble
    found.to_tell.append((rule, trouble.alert()))
    return trouble.told(now)


def by_rule(to_tell: Iterable[ToTell]) -> dict[tuple[str, str], list[Alert]]:
    """Return what is to be told by app and name of the rule."""
    found: dict[tuple[str, str], list[Alert]] = defaultdict(list)
    for rule, alert in to_tell:
        found[rule.app, rule.name].append(alert)
    return found
