"""The control applier: changes timers as their targets' answers say, and disables those of 410 Gone."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import NamedTuple

import structlog

from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import StoreAway, UnknownTarget, UnknownTimer, VersionChanged, WangTimerError
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.reply_control import (
    CONTROL_HEADER,
    LEAST_AHEAD_MS,
    ControlKind,
    ReplyControl,
    control_from,
)
from wangtimer.core.schedules.schedule import Ending, Once, Schedule, as_bounded, rule_of
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Timer
from wangtimer.store.redis.quotas import ControlPace
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.on_settled import FIRST_KEY, ReplyControlStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_lists import TimerLists
from wangtimer.timers.batches import Batches
from wangtimer.timers.registrar import Registrar

log = structlog.get_logger()

# As the audit names who did it.
CALLER = Caller(None, "the target's answer", None, frozenset(), "")
# Of what answers change of a timer, the first change in so long goes on record.
ON_RECORD_FOR_MS = 60_000
# Controls that are read at once.
PAGE = 500
# s. A round that takes longer is gone on with by the next one.
LONGEST_S = 5.0
# Rounds that the work of one message takes: the second one does what was asked for during the first.
ROUNDS = 2
# Of so many timers the change fails for SQL: then no further one is tried for now, since each would take its time.
MOST_AWAY = 3


class _Applied(NamedTuple):
    """What became of timers, by their ids: why some were not changed, for which SQL is away, which were not tried."""

    faults: dict[int, str]
    away: dict[int, StoreAway]
    left: set[int]


@dataclass(slots=True)
class ControlApplier:
    """Repeatable: a change makes a new version of its timer, and a control is of the version that was called.

    So a timer that its owner changed since its call is left alone. One thread of a process applies, so that the others
    are free for the rest.
    """

    reply_controls: ReplyControlStore
    timer_lists: TimerLists
    registrar: Registrar
    clock: Clock
    pace: ControlPace
    audit: AuditLog
    # Disables an app's timers whose targets are gone, by id with what was called.
    stop_gone: Callable[[str, Mapping[int, ReplyControl]], Mapping[int, StoreAway]]
    _is_asked: bool = field(default=False, init=False)
    # When the round under way ends, s of the stop-watch.
    _ends_at: float = field(default=0.0, init=False)
    _busy: Lock = field(default_factory=Lock, init=False)
    # From behind which control the next page is read: of timers whose targets are gone (True), and of the others. The
    # kind that comes first in a round is the first of these.
    _behind: dict[bool, MemberKey] = field(
        default_factory=lambda: {True: FIRST_KEY, False: FIRST_KEY}, init=False
    )

    def sweep(self) -> None:
        """Apply what is on record and was not applied yet, for one round; then it is forgotten.

        It goes on where the round before it ended, from the first one on again behind the last. Raises `StoreAway`,
        also where SQL is away for a few timers only: those stay on record.
        """
        self._work(1)

    def apply(self) -> None:
        """Do the same since a message asks for it; a thread that is at it already goes on for this one.

        What is asked for during the last round waits for the next message or sweep.
        """
        self._work(ROUNDS)

    def _work(self, rounds: int) -> None:
        self._is_asked = True
        for _ in range(rounds):
            if not self._is_asked or not self._busy.acquire(blocking=False):
                return
            try:
                self._is_asked = False
                self._ends_at = self.clock.monotonic() + LONGEST_S
                self._apply_all()
            finally:
                self._busy.release()

    @property
    def _is_over(self) -> bool:
        return self.clock.monotonic() >= self._ends_at

    def _apply_all(self) -> None:
        """Do a page of each kind in turn until the round is over; timers with gone targets are disabled by app."""
        number = 0
        all_away: dict[int, StoreAway] = {}
        # The other kind comes first in the next round: one page may take all of this one.
        self._behind = dict(reversed(self._behind.items()))
        kinds = list(self._behind)
        while kinds and not self._is_over:
            for are_gone in tuple(kinds):
                page = self.reply_controls.behind(self._behind[are_gone], PAGE, are_gone=are_gone)
                last = _last_of_each(page)
                controls = {timer_id: page[key] for timer_id, key in last.items()}
                applied = self._apply_gone(controls) if are_gone else self._apply(controls)
                faults = [(last[timer_id], fault) for timer_id, fault in applied.faults.items()]
                told = {key: _why_not(page[key], fault) for key, fault in faults}
                stays = applied.away.keys() | applied.left
                done = [key for key in page if key[0] not in stays]
                self.reply_controls.forget(done, told)
                number += len(done)
                all_away |= applied.away
                self._behind[are_gone] = self._next_behind(are_gone, page, applied.left)
                if applied.left or len(page) < PAGE:
                    kinds.remove(are_gone)
        if number:
            log.info("controls_applied", firings=number)
        _raise_one_of(all_away)

    def _next_behind(self, are_gone: bool, page: Mapping[MemberKey, str], left: set[int]) -> MemberKey:
        """Return from behind which control the next page is read: from the first one on again, whoever has the most."""
        if left:
            return max((key for key in page if key[0] < min(left)), default=self._behind[are_gone])
        return max(page) if len(page) == PAGE else FIRST_KEY

    def _apply_gone(self, controls: Mapping[int, str]) -> _Applied:
        """Disable timers whose targets are gone, an app's together, until the round is over."""
        away: dict[int, StoreAway] = {}
        left: set[int] = set()
        apps = self.timer_lists.apps_of(controls) if controls else {}
        for app, called in _of_apps(controls, apps).items():
            if self._is_over:
                left |= called.keys()
            else:
                away |= self._disable(app, called)
        return _Applied({}, away, left)

    def _apply(self, controls: Mapping[int, str]) -> _Applied:
        """Change timers in the order of their ids, until the round is over, or SQL is away for several."""
        faults: dict[int, str] = {}
        away: dict[int, StoreAway] = {}
        apps = self.timer_lists.apps_of(controls) if controls else {}
        left = deque(sorted(apps))
        while left and len(away) < MOST_AWAY:
            timer_id = left.popleft()
            try:
                control = control_from(controls[timer_id])
                with calling(None if self._is_on_record(timer_id, control) else CALLER):
                    self._change(apps[timer_id], timer_id, control)
            except StoreAway as error:
                # It may be this timer alone, such as one whose row is held. Others wait behind it.
                away[timer_id] = error
            except Exception as fault:
                # It would fail each time, and others wait behind it.
                log.error("control_not_applied", timer_id=timer_id, error=repr(fault))
                is_told = isinstance(fault, WangTimerError)
                faults[timer_id] = str(fault) if is_told else "a fault of the service; its log says which"
            if self._is_over:
                break
        return _Applied(faults, away, set(left))

    def _disable(self, app: str, called: Mapping[int, ReplyControl]) -> Mapping[int, StoreAway]:
        """Disable an app's timers whose targets are gone; return those for which SQL is away."""
        try:
            return self.stop_gone(app, called)
        except StoreAway as error:
            return dict.fromkeys(called, error)
        except Exception as fault:
            # Others wait behind them; their next answer asks for it again.
            log.error("gone_timers_not_disabled", app=app, timers=len(called), error=repr(fault))
            return {}

    def _is_on_record(self, timer_id: int, control: ReplyControl) -> bool:
        """Tell whether an answer's change of this timer went on record within a minute: then this one does not.

        A timer that paces itself each second would have 34 million entries in the 400 days for which they are kept.
        """
        if control.kind is ControlKind.STOP:
            return False
        now = int(self.clock.now_ms())
        lately = AuditFilter(subject=str(timer_id), since=now - ON_RECORD_FOR_MS + 1)
        return any(entry.key_name == CALLER.name for entry in self.audit.page(lately, 50))

    def _paced(self, app: str, timer_id: int, control: ReplyControl) -> ReplyControl:
        """Return a control that gives a timer a moment of its own no sooner than its app may have one.

        The planned firings of an app are bounded when its timers are made. These are planned by nobody.
        """
        if not self.pace.is_kept(app):
            return control
        timer = self.registrar.timers.get(app, timer_id)
        # One of another version is not applied.
        if not timer.is_at(control.version) or not _makes_a_moment(timer, control):
            return control
        return control._replace(until=max(control.until, self.pace.next_free(app)))

    def _change(self, app: str, timer_id: int, control: ReplyControl) -> None:
        # Changed since by its owner, or by this control before.
        with suppress(VersionChanged, UnknownTimer):
            if control.kind is ControlKind.STOP:
                self.registrar.disable(app, timer_id, control.version)
            else:
                # It may have waited for this process until its moment was past.
                soonest = int(self.clock.now_ms()) + LEAST_AHEAD_MS
                paced = self._paced(app, timer_id, control)
                still = paced._replace(until=max(paced.until, soonest))
                self.registrar.edit(app, timer_id, lambda timer: put_off(timer, still), control.version)


def _makes_a_moment(timer: Timer, control: ReplyControl) -> bool:
    """Tell whether a control gives a timer a moment that its schedule did not have; most only leave some out."""
    rule = rule_of(timer.definition.schedule)
    if rule.only_moment is not None:
        return True
    return control.kind is ControlKind.NEXT and rule.anchored_at(control.until) != rule


def put_off(timer: Timer, control: ReplyControl) -> Timer:
    """Return a timer that has no moment before the control's.

    A single moment becomes that one. An interval begins anew there, if it is to be the next moment. Any other timer
    goes on with the first moment of its schedule from there on. The number of its firings was counted, and its last one
    stays: it is its end now.
    """
    schedule, until = timer.definition.schedule, control.until
    if schedule.only_moment is not None:
        return _with_schedule(timer, Once(until))
    bounded = as_bounded(schedule)
    ending = timer.ending
    if ending.most is not None and bounded.last_ms is not None:
        ending = Ending(bounded.last_ms)
    rule = bounded.rule
    if control.kind is ControlKind.NEXT:
        rule = rule.anchored_at(until)
    # Moments that were cancelled one by one stay so.
    later = replace(bounded, rule=rule, start_ms=max(until, bounded.start_ms or until))
    return replace(_with_schedule(timer, later), ending=ending)


def _with_schedule(timer: Timer, schedule: Schedule) -> Timer:
    return replace(timer, definition=timer.definition._replace(schedule=schedule))


def _of_apps(controls: Mapping[int, str], apps: Mapping[int, str]) -> dict[str, dict[int, ReplyControl]]:
    """Return controls by app and timer; one that this version cannot read is left out."""
    of_apps: defaultdict[str, dict[int, ReplyControl]] = defaultdict(dict)
    for timer_id, app in apps.items():
        with suppress(ValueError):
            of_apps[app][timer_id] = control_from(controls[timer_id])
    return of_apps


def _raise_one_of(away: Mapping[int, StoreAway]) -> None:
    for error in away.values():
        raise error


def _last_of_each(page: Mapping[MemberKey, str]) -> dict[int, MemberKey]:
    """Return the firing of each timer's control of its newest version, of several the latest one."""
    found: dict[int, MemberKey] = {}
    for key, text in page.items():
        timer_id, _ = key
        if timer_id not in found or _version(text) >= _version(page[found[timer_id]]):
            found[timer_id] = key
    return found


def _why_not(text: str, fault: str) -> str:
    return f"the answer's {CONTROL_HEADER} ({text.partition(' ')[2][:40]}) changed nothing: {fault}"


def _version(text: str) -> int:
    """Return the version that was called; one that cannot be read is the oldest."""
    with suppress(ValueError):
        return control_from(text).version
    return 0


# As the audit names who did it.
GONE = Caller(None, "the target answered 410", None, frozenset(), "")


@dataclass(frozen=True, slots=True)
class GoneStopper:
    """Disables timers whose target answered 410 Gone.

    Repeatable: who is disabled stays so.

    A timer is left alone if it, or the target it names, was changed since its call, or if it has no moment to come:
    that one ends as after any failure.
    """

    timer_lists: TimerLists
    target_store: TargetStore
    batches: Batches

    def stop(self, app: str, called: Mapping[int, ReplyControl]) -> dict[int, StoreAway]:
        """Disable timers of an app, given by id with what was called; return those for which SQL is away.

        Those that cannot be read here are disabled too. Raises `StoreAway` where it is away for all.
        """
        versions: dict[str, int] = {"": 0}
        found = self.timer_lists.of_ids(app, list(called))
        if found.bad:
            self.batches.disable_unread(list(found.bad))
        chosen = [
            timer
            for timer in found.values()
            if timer.definition.is_enabled
            and timer.next_fire_at is not None
            and timer.is_at(called[timer.id].version)
            and called[timer.id].until == self._target_version(timer, versions)
        ]
        if not chosen:
            return {}
        with calling(GONE):
            results = self.batches.disable(chosen, as_read=True)
        disabled = sum(isinstance(result, Timer) for result in results.values())
        log.warning("gone_timers_disabled", app=app, timers=disabled, left=len(chosen) - disabled)
        return {timer_id: result for timer_id, result in results.items() if isinstance(result, StoreAway)}

    def _target_version(self, timer: Timer, versions: dict[str, int]) -> int:
        """Return the version of the target that a timer names, looked up once; 0 where it names none."""
        name = timer.definition.notify.target
        if name not in versions:
            try:
                versions[name] = self.target_store.get(timer.definition.app, name).version
            except UnknownTarget:
                versions[name] = 0
        return versions[name]
