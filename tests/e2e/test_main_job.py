"""The main job, end to end: timers made over HTTP call a target back on time (`make e2e`)."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cronsim import CronSim

from tests.e2e.deployment import Deployment
from tests.servers.nginx import ArrivedCall

P99_BOUND_MS = 50.0


@dataclass(frozen=True, slots=True)
class Job:
    """How many timers, for how long."""

    cron_timers: int
    one_shots: int
    window_ms: int


WHOLE = Job(cron_timers=200, one_shots=500, window_ms=30_000)
SMALL = Job(cron_timers=20, one_shots=50, window_ms=5_000)
# One-shots have so many times as long to be made as timers took that were made just before, and so much more.
ROOM, MORE_MS = 3, 3_000
# So late a call may come on a machine with other work; how late they are is judged by `make e2e`.
LATE_S = 60.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came, held against what cron texts and one-shots' moments promise; lateness in ms at the target."""

    expected: int
    received: int
    distinct: int
    early: int
    lost: int
    duplicates: int
    p50_ms: float
    p99_ms: float
    max_ms: float


@pytest.mark.e2e
@pytest.mark.parametrize(
    "copies", [{}, {"trigger": 2, "callback": 2}], ids=["one of each", "two triggers, two callbacks"]
)
def test_every_firing_comes_once_and_on_time(tmp_path: Path, copies: dict[str, int]) -> None:
    verdict = _run(tmp_path, WHOLE, copies)
    print(json.dumps(asdict(verdict)), flush=True)
    assert (verdict.early, verdict.lost, verdict.duplicates) == (0, 0, 0)
    assert verdict.distinct == verdict.expected
    assert verdict.p99_ms < P99_BOUND_MS


@pytest.mark.processes
@pytest.mark.every_run
def test_every_firing_comes_once_in_small(tmp_path: Path) -> None:
    verdict = _run(tmp_path, SMALL, {"trigger": 2, "callback": 2})
    print(json.dumps(asdict(verdict)), flush=True)
    assert (verdict.early, verdict.lost, verdict.duplicates) == (0, 0, 0)
    assert verdict.distinct == verdict.expected


def _run(directory: Path, job: Job, copies: dict[str, int]) -> Verdict:
    # So many buckets a minute that each trigger process takes slices of it, whichever is the quicker.
    per_bucket = job.cron_timers * 60 // 30
    with Deployment(directory, copies, step_s=150, firings_per_bucket=per_bucket) as deployment:
        start, expected = _make_timers(deployment, job)
        assert _now_ms() < start, "making the one-shots took longer than planned"
        end = start + job.window_ms
        deployment.tend_for((end - _now_ms()) / 1_000 + 2)
        deployment.tend_until(lambda: expected <= set(_keys(deployment.target.calls())), LATE_S)
        _assert_all_took_part(deployment, copies)
        return _judge(expected, deployment.target.calls(), start, end)


def _make_timers(deployment: Deployment, job: Job) -> tuple[int, set[tuple[int, int]]]:
    """Make every timer; return when the window starts, and its firings, from cron text and moments alone."""
    began = _now_ms()
    with ThreadPoolExecutor(4) as pool:
        crons = list(
            pool.map(lambda i: deployment.make_timer(f"cron-{i}", cron="* * * * * *"), range(job.cron_timers))
        )
        taken_ms = _now_ms() - began
        start = _now_ms() + MORE_MS + ROOM * taken_ms * job.one_shots // job.cron_timers
        moments = [start + random.randrange(job.window_ms) for _ in range(job.one_shots)]
        shots = list(
            pool.map(lambda i: deployment.make_timer(f"shot-{i}", at=moments[i]), range(job.one_shots))
        )
    seconds = _each_second(start, start + job.window_ms)
    cron_firings = {(timer_id, moment) for timer_id in crons for moment in seconds}
    return start, cron_firings | set(zip(shots, moments, strict=True))


def _keys(calls: Iterable[ArrivedCall]) -> Iterator[tuple[int, int]]:
    return ((call.timer_id, call.fire_at) for call in calls)


def _now_ms() -> int:
    return int(time.time() * 1_000)


def _each_second(start: int, end: int) -> list[int]:
    """Return the moments of the cron text from `start` to before `end`, as an independent library reads it."""
    wanted = []
    for moment in CronSim("* * * * * *", datetime.fromtimestamp(start / 1_000 - 1, UTC)):
        at = int(moment.timestamp() * 1_000)
        if at >= end:
            break
        if at >= start:
            wanted.append(at)
    return wanted


def _judge(expected: set[tuple[int, int]], calls: Iterable[ArrivedCall], start: int, end: int) -> Verdict:
    everything = list(calls)
    window = [call for call in everything if start <= call.fire_at < end]
    times = Counter(_keys(everything))
    lateness = sorted(call.lateness_ms for call in window)
    distinct = set(_keys(window))
    return Verdict(
        expected=len(expected),
        received=len(window),
        distinct=len(distinct),
        early=sum(call.lateness_ms < 0 for call in everything),
        lost=len(expected - distinct),
        duplicates=sum(count - 1 for count in times.values()),
        p50_ms=round(lateness[len(lateness) // 2], 2),
        p99_ms=round(lateness[int(len(lateness) * 0.99)], 2),
        max_ms=round(lateness[-1], 2),
    )


def _assert_all_took_part(deployment: Deployment, copies: dict[str, int]) -> None:
    done = deployment.tasks_done()
    for kind in ("trigger", "callback"):
        workers = [kind, *(f"{kind}{number}" for number in range(2, copies.get(kind, 1) + 1))]
        counts = {worker: done.get(worker, {}).get(f"wangtimer.{kind}", 0) for worker in workers}
        assert all(counts.values()), f"not every {kind} process took work: {counts}"
