"""One run: a seed's scenario and faults, simulated and judged."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import structlog

from tests.simulation.fault import (
    IN_LANES,
    IN_LIMITS,
    IN_PAUSES,
    TYPICAL,
    Fault,
    draw_clock_steps,
    draw_faults,
    draw_losses,
)
from tests.simulation.fleet import Fleet
from tests.simulation.judge import Violation, is_quiet, judge, latenesses_ms, second_sends
from tests.simulation.scenario import (
    ACTIVE_MS,
    Scenario,
    draw_crowded_targets,
    draw_demands,
    draw_limited_app,
    draw_limited_host,
    draw_many_migrators,
    draw_pauses,
    draw_scenario,
)
from tests.simulation.simulated_threads import simulated_threads
from tests.simulation.simulator import Simulation
from wangtimer.testing.doubles.hand_clock import START_MS

# Long enough for any outage, retry and misfire of a run.
LONGEST_S = 900.0
# Faults that have not struck by then are waited for no longer.
PATIENCE_MS = 40_000


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of runs: what is asked of the service, and what strikes meanwhile; None: what fits that."""

    draw: Callable[[Random], Scenario] = draw_scenario
    faults: Callable[[Random], Sequence[Fault]] | None = None


KINDS = {
    "plain": Kind(),
    "demands": Kind(draw_demands),
    "clock": Kind(faults=draw_clock_steps),
    "lanes": Kind(draw_crowded_targets),
    "limits": Kind(draw_limited_app),
    "hosts": Kind(draw_limited_host),
    "pauses": Kind(draw_pauses),
    "migrators": Kind(draw_many_migrators, draw_losses),
}
# In a campaign, three runs of ten are plain ones.
TURNS = ("plain", "demands", "plain", "clock", "plain", "lanes", "limits", "migrators", "pauses", "hosts")


@dataclass(frozen=True, slots=True)
class Run:
    """What a seed led to.

    `struck` are the faults that found their step, `late_ms` the latest first send of an attempt, `all_late_ms` all
    of them together. `wall_clocks_off` are the processes on nodes whose wall clock is an hour off. `took_over`
    is how often one fed that took over from another, which had not given way.
    """

    seed: int
    violations: list[Violation]
    faults: tuple[Fault, ...]
    struck: tuple[Fault, ...]
    steps: int
    sends: int
    second_sends: int
    late_ms: float
    all_late_ms: float
    ended_at_s: float
    wall_clocks_off: int
    took_over: int
    labels: dict[str, int]
    trace: list[str]


def run_seed(
    seed: int,
    is_traced: bool = False,
    faults: Sequence[Fault] | None = None,
    clock_behind_ms: tuple[float, float] = (0.0, 30.0),
    is_slow: bool | None = None,
    draw: Callable[[Random], Scenario] = draw_scenario,
) -> Run:
    """Run one seed; `faults`, `is_slow` and what `draw` returns instead of its own."""
    random = Random(seed)
    scenario = draw(random)
    often = (
        IN_PAUSES
        if scenario.pauses
        else IN_LIMITS
        if scenario.limits
        else IN_LANES
        if scenario.sends_away
        else TYPICAL
    )
    drawn = draw_faults(random, often)
    is_slow = scenario.is_slow if is_slow is None else is_slow
    sim = Simulation(seed, drawn if faults is None else faults, is_traced, clock_behind_ms, is_slow)
    with simulated_threads(), watched_logs(sim):
        fleet = Fleet(sim, scenario)
        sim.at(START_MS + ACTIVE_MS, _end_when_quiet, fleet)
        sim.run(LONGEST_S)
        violations = judge(fleet)
        late = latenesses_ms(fleet.evidence)
        sim.close()
    if sim.trace is not None:
        sim.trace[:0] = [str(scenario), *(f"fault: {fault}" for fault in sim.faults)]
    return Run(
        seed,
        violations,
        sim.faults,
        tuple(sim.struck),
        sim.steps,
        len(fleet.evidence.sends),
        len(list(second_sends(fleet.evidence))),
        max(late.values(), default=0.0),
        sum(late.values()),
        (sim.now_ms - START_MS) / 1_000,
        sum(process.wall_clock_off_ms != 0 for process in sim.processes),
        fleet.feeders.taken_over,
        dict(sim.counts),
        sim.trace or [],
    )


def run_kind(seed: int, is_traced: bool = False) -> Run:
    """Run one seed of a campaign; its kind is its turn's."""
    kind = KINDS[kind_of(seed)]
    faults = kind.faults(Random(seed)) if kind.faults else None
    return run_seed(seed, is_traced, faults, draw=kind.draw)


def kind_of(seed: int) -> str:
    """Return which kind of run a seed of a campaign is."""
    return TURNS[seed % len(TURNS)]


def _end_when_quiet(fleet: Fleet) -> None:
    sim = fleet.sim
    may_strike = len(sim.struck) < len(sim.faults) and sim.now_ms < START_MS + ACTIVE_MS + PATIENCE_MS
    sim.is_over = not may_strike and is_quiet(fleet)
    sim.after(1_000, _end_when_quiet, fleet)


@contextmanager
def watched_logs(sim: Simulation) -> Iterator[None]:
    """Silence the stages' logs; an exception that a thread's loop swallowed is a failure of the run."""

    def note(_logger: Any, name: str, event: dict[str, Any]) -> dict[str, Any]:
        if event.pop("exc_info", None):
            sim.fail(event["event"], event)
        sim.log("log", event.pop("event"), event)
        raise structlog.DropEvent

    before = structlog.get_config()
    level = logging.INFO if sim.trace is not None else logging.ERROR
    structlog.configure([note], wrapper_class=structlog.make_filtering_bound_logger(level))
    try:
        yield
    finally:
        structlog.configure(**before)
