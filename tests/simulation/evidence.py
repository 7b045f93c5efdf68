"""What really happened in a run, noted at every step as it takes effect; the judge reads it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from tests.simulation.simulated_engine import Answer
from tests.simulation.simulator import Process, Simulation
from wangtimer.core.flow.firing import CANCELLED, Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Timer, TimerStatus

Key = tuple[int, int]

# Nearer to a change than this, either is right.
OFF_MS = 3_000


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as it left a process, and what its target answers; `by_redis` is when, by Redis' clock."""

    member: Member
    moment: float
    by_redis: float
    process: Process
    incarnation: int
    claimed_at: float
    answer: Answer

    @property
    def is_told(self) -> bool:
        """Whether its engine tells what came of it."""
        return self.answer.after_ms != inf


@dataclass(frozen=True, slots=True)
class Change:
    """A timer's status from a moment on (`by_redis` by Redis' clock), and the version that brought it.

    `disabled_at` is what its row says, ms UTC: what was asked for before it is stopped.
    """

    moment: float
    by_redis: float
    status: TimerStatus
    version: int
    disabled_at: int


class Evidence:
    """Moments are true ones, ms UTC."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.sends: list[Sent] = []
        self.violations: list[tuple[str, str]] = []
        self.history: dict[int, list[Change]] = {}
        self.settled: dict[Member, float] = {}
        self.parked: dict[Member, float] = {}
        self.due_at: dict[Member, int] = {}
        self.armed: Counter[Member] = Counter()
        self.triggers = 0
        # When it was committed, and the version of its timer that leaves it out.
        self.cancelled: dict[Key, tuple[float, int]] = {}
        self.told: dict[int, list[tuple[float, int]]] = {}
        self.has_lanes = False
        # What operators paused, each from a moment on.
        self.pauses: list[tuple[float, Pauses]] = []
        # Calls as their target counts them: when each began, and ended, and which process made it.
        self.under_way: list[tuple[float, float, Process]] = []
        self._claimed: dict[tuple[str, int, Member], float] = {}
        self._watchers: dict[str, Callable[[Process, tuple[Any, ...], Callable[[], Any]], Any]] = {
            "firings.settle": self._see_settle,
            "outbox.park": self._see_park,
            "slices.claim": self._see_claim,
            "lanes.pull_all": self._see_pull,
            "slices.turn": self._see_turn,
            "slices.lock": self._see_lock,
            "timers.commit_plans": self._see_plans,
            "timers.enable": self._see_enable,
            "timers.disable": self._see_change,
            "timers.delete": self._see_change,
            "demands.cancel": self._see_cancel,
            "definitions.put": self._see_definitions,
        }
        sim.observed = frozenset(self._watchers)
        sim.observe = lambda label, process, arguments, call: self._watchers[label](process, arguments, call)

    @property
    def rows(self) -> dict[Key, Any]:
        """The firing table."""
        return self.sim.sql.server.table("firings")

    @property
    def redis_ms(self) -> float:
        """Now by Redis' clock: timers' moments are by it."""
        return self.sim.redis.server.now_ms()

    @property
    def timers(self) -> dict[int, Timer]:
        """The timer table."""
        return self.sim.sql.server.table("timers")

    def accuse(self, what: str, detail: str) -> None:
        """Note a broken promise."""
        self.sim.log("judge", f"!!! {what}", detail)
        self.violations.append((what, detail))

    def note_send(self, headers: dict[str, str], process: Process, answer: Answer) -> None:
        """Note a request at the moment it leaves, and how it will be answered."""
        member = Member(
            int(headers["X-WangTimer-Timer"]),
            int(headers["X-WangTimer-Fire-At"]),
            int(headers["X-WangTimer-Attempt"]),
        )
        claimed_at = self._claimed.get((process.name, process.incarnation, member), self.sim.now_ms)
        self.sends.append(
            Sent(member, self.sim.now_ms, self.redis_ms, process, process.incarnation, claimed_at, answer)
        )
        self.sim.log(process.name, "SEND", str(member))

    def note_under_way(self, process: Process, takes_ms: float) -> None:
        """Note how long a target has a call, whatever becomes of the process that made it."""
        self.under_way.append((self.sim.now_ms, self.sim.now_ms + takes_ms, process))

    def note_pauses(self, pauses: Pauses) -> None:
        """Note what operators pause from now on."""
        self.pauses.append((self.sim.now_ms, pauses))

    def status_at(self, timer_id: int, moment: float) -> TimerStatus:
        """Return a timer's status at a moment by Redis' clock."""
        status = TimerStatus.DISABLED
        for change in self.history.get(timer_id, ()):
            if change.by_redis <= moment:
                status = change.status
        return status

    def _see_settle(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        outcomes = arguments[0]
        before = {_key(outcome.member): self.rows.get(_key(outcome.member)) for outcome in outcomes}
        answer = call()
        for outcome in outcomes:
            key = _key(outcome.member)
            was, now = before[key], self.rows[key]
            if was is None:
                self.accuse("SETTLED-UNPLANNED", str(outcome.member))
                continue
            if was is now:
                continue
            if was.firing.status is not FiringStatus.PENDING and not was.is_cancelled:
                self.accuse("OVERWRITTEN", f"{outcome.member}: {was.firing.status} by {now.firing.status}")
            self._note_outcome(outcome, self.settled)
            if now.firing.status is FiringStatus.SKIPPED:
                self._judge_skip(outcome.member, outcome.error)
        return answer

    def _see_park(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        answer = call()
        for outcome in arguments[0]:
            self._note_outcome(outcome, self.parked)
        return answer

    def _note_outcome(self, outcome: Any, where: dict[Member, float]) -> None:
        where.setdefault(outcome.member, self.sim.now_ms)
        if outcome.is_retry:
            member = outcome.retry_firing().member
            self.due_at[member] = min(outcome.due_at, self.due_at.get(member, outcome.due_at))

    def _see_claim(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        taken = call()
        for one in taken:
            self._claimed[process.name, process.incarnation, one.member] = self.sim.now_ms
        return taken

    def _see_pull(self, process: Process, _arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        pulled = call()
        self.has_lanes = True
        for one in (one for found in pulled for one in found.taken):
            self._claimed[process.name, process.incarnation, one.member] = self.sim.now_ms
        return pulled

    def _see_turn(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        turn = call()
        if turn is not None:
            self.armed.update(due.member for due in turn.now_armed)
        return turn

    def _see_lock(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        locked = call()
        self.triggers += len(locked)
        return locked

    def _see_plans(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        """A change counts from when it was asked for, however long it is held up after that."""
        asked_at = arguments[2] if len(arguments) > 2 else self.redis_ms
        before = set(self.rows)
        answer = call()
        for key in self.rows.keys() - before:
            self._judge_plan(*key, asked_at)
        return answer

    def _see_enable(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        timer, firings = self._see_plans(process, arguments, call)
        self._note_change(timer)
        return timer, firings

    def _see_change(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        timer = call()
        self._note_change(timer)
        return timer

    def _see_cancel(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        timer, record = call()
        self._note_change(timer)
        key = record.firing.member.key
        self.cancelled.setdefault(key, (self.sim.now_ms, timer.definition.version))
        return timer, record

    def _note_change(self, timer: Timer) -> None:
        changes = self.history.setdefault(timer.id, [])
        version = timer.definition.version
        if not changes or changes[-1].version < version:
            definition = timer.definition
            changes.append(
                Change(self.sim.now_ms, self.redis_ms, definition.status, version, definition.disabled_at)
            )

    def _see_definitions(self, process: Process, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        answer = call()
        for definition in arguments[0]:
            self.told.setdefault(definition.timer_id, []).append((self.sim.now_ms, definition.version))
        return answer

    def _judge_plan(self, timer_id: int, moment: int, asked_at: float) -> None:
        """No moment that passed while its timer was off becomes a firing; a one-shot may be a minute late."""
        is_past = moment < asked_at - OFF_MS
        if not is_past or isinstance(self.timers[timer_id].definition.schedule, Once):
            return
        changes = [one.by_redis for one in self.history.get(timer_id, ())]
        is_near = any(abs(moment - changed_at) <= OFF_MS for changed_at in changes)
        if not is_near and self.status_at(timer_id, moment) is not TimerStatus.ENABLED:
            self.accuse("MADE-UP-FOR", f"timer {timer_id} at {moment}: it was off")

    def _judge_skip(self, member: Member, reason: str) -> None:
        """A firing may be skipped if its timer was off at some time since shortly before it, or it misfired."""
        now = self.redis_ms
        timer = self.timers[member.timer_id]
        rule = timer.definition.misfire
        if reason == CANCELLED:
            is_right = _key(member) in self.cancelled
        elif reason == "disabled" and self.rows[_key(member)].firing.kind is FiringKind.MANUAL:
            is_right = self._was_switched_off(timer.id, self.rows[_key(member)].firing.asked_at, now)
        elif reason in ("disabled", "deleted"):
            since = min(member.fire_at, now) - 3_000
            changes = [one.by_redis for one in self.history[timer.id]]
            moments = [since, *(at for at in changes if since <= at <= now)]
            # By a clock that was put back meanwhile it may not have been switched off yet.
            is_off = timer.definition.status is not TimerStatus.ENABLED
            is_right = is_off or any(
                self.status_at(timer.id, at) is not TimerStatus.ENABLED for at in moments
            )
        else:
            is_right = bool(rule.why_not(timer.definition.schedule, member.fire_at, now))
            is_right = is_right and member.attempt == 1
        if not is_right:
            self.accuse("SKIPPED-WRONGLY", f"{member}: {reason}")

    def _was_switched_off(self, timer_id: int, since: float | None, now: float) -> bool:
        """Tell whether it was switched off since somebody asked for a firing: that stops what was asked for before."""
        changes = self.history[timer_id]
        return since is not None and any(
            since <= one.by_redis <= now and one.status is not TimerStatus.ENABLED for one in changes
        )


def _key(member: Member) -> Key:
    return member.timer_id, member.fire_at


def pending(rows: dict[Key, Any]) -> list[Firing]:
    """Return the firings without an outcome."""
    return [row.firing for row in rows.values() if row.firing.status is FiringStatus.PENDING]
