"""Timers created, edited, enabled, disabled and deleted in any order, at any time: what fires is what a model says."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, precondition, rule

from tests.stages.timeline import TimelineEvent
from tests.stages.timer_model import History, Rhythm
from tests.stages.world import APP, World
from wangtimer.core.timers.timer import Timer

# After a moment it is settled what was called, if everything is on time.
SETTLED_MS = 2_000
LATE_MS = 50
MOST_TIMERS = 5

rhythms = st.one_of(
    st.builds(
        lambda step, shift: ("cron", step * 1_000, shift * 1_000),
        st.sampled_from([1, 2, 5, 10, 30]),
        st.integers(0, 29),
    ),
    st.tuples(st.just("every"), st.sampled_from([1_000, 1_500, 7_000, 45_000]), st.integers(0, 44_999)),
    st.tuples(st.just("once"), st.none(), st.integers(1_100, 90_000)),
)


@dataclass
class Known:
    """A timer of the service beside the model's of it; `rhythm` is what it has, fired or not."""

    timer: Timer
    rhythm: Rhythm
    history: History
    is_enabled: bool = False


class TimerMachine(RuleBasedStateMachine):
    """Each rule does one thing to the service and notes it in the model."""

    timers = Bundle("timers")

    def __init__(self) -> None:
        super().__init__()
        self.patched = pytest.MonkeyPatch()
        self.all: list[Known] = []

    @initialize()
    def start(self) -> None:
        self.world = World(triggers=1, executors=2)
        self.patched.setattr("wangtimer.executor.claim.Event", lambda: TimelineEvent(self.world.time))
        self.world.start()
        self.checked = self.world.now

    @precondition(lambda self: len(self.all) < MOST_TIMERS)
    @rule(target=timers, drawn=rhythms)
    def create(self, drawn: tuple[str, int | None, int]) -> Known:
        rhythm = self._rhythm(drawn)
        history = History(self.world.settings.lead_ms, self.world.settings.turn_ms)
        known = Known(self.world.created(rhythm.schedule), rhythm, history)
        known.history.change(0, None)
        self.all.append(known)
        return known

    @rule(known=timers)
    def enable(self, known: Known) -> None:
        if known not in self.all or (
            known.rhythm.period_ms is None and known.rhythm.first_ms <= self.world.now
        ):
            return
        self.world.registrar.enable(APP, known.timer.id)
        known.is_enabled = True
        known.history.change(self.world.now, known.rhythm)

    @rule(known=timers)
    def disable(self, known: Known) -> None:
        self.world.registrar.disable(APP, known.timer.id)
        known.is_enabled = False
        known.history.change(self.world.now, None)

    @rule(known=timers, drawn=rhythms)
    def edit(self, known: Known, drawn: tuple[str, int | None, int]) -> None:
        known.rhythm = self._rhythm(drawn)
        schedule = known.rhythm.schedule
        self.world.registrar.edit(
            APP,
            known.timer.id,
            lambda timer: replace(timer, definition=timer.definition._replace(schedule=schedule)),
        )
        if known.is_enabled:
            known.history.change(self.world.now, known.rhythm)

    @rule(known=consumes(timers))
    def delete(self, known: Known) -> None:
        self.world.registrar.delete(APP, known.timer.id)
        known.history.change(self.world.now, None)

    @rule(ms=st.integers(1, 3_000) | st.sampled_from([1_000, 20_000, 70_000]))
    def let_time_pass(self, ms: int) -> None:
        self.world.run_for(ms / 1_000)
        self._check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.run_for(2 * SETTLED_MS / 1_000)
            self._check()
            self.world.time.close()
        self.patched.undo()

    def _rhythm(self, drawn: tuple[str, int | None, int]) -> Rhythm:
        kind, period_ms, shift = drawn
        if period_ms is None:
            return Rhythm(self.world.now + shift)
        if kind == "cron":
            return Rhythm(shift % period_ms, period_ms, as_cron=True)
        return Rhythm(self.world.now - shift, period_ms)

    def _check(self) -> None:
        """Compare what was called for the moments that are settled by now."""
        until = self.world.now - SETTLED_MS
        for known in self.all:
            arrived = self.world.target.of(known.timer.id)
            times = Counter(one.fire_at for one in arrived if self.checked < one.fire_at <= until)
            must = known.history.must_fire(self.checked, until)
            may = known.history.may_fire(self.checked, until)
            shown = known.history.changes
            assert must <= times.keys(), f"not called: {sorted(must - times.keys())} of {shown}"
            assert times.keys() <= may, f"called all the same: {sorted(times.keys() - may)} of {shown}"
            assert set(times.values()) <= {1}, f"called twice: {times}"
            assert all(one.late_ms >= 0 for one in arrived)
            assert all(one.late_ms <= LATE_MS for one in arrived if one.fire_at in must), shown
        self.checked = max(self.checked, until)


TestTimers = pytest.mark.test_all(TimerMachine.TestCase)
TestTimers.settings = settings(
    max_examples=150,
    stateful_step_count=30,
    # Explaining a failure runs the machine hundreds of times more.
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
