"""The main job, end to end: timers made over HTTP call a target back on time (`make e2e`)."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cronsim import CronSim

from tests.e2e.deployment import Deployment
from tests.servers.nginx import ArrivedCall

CRON_TIMERS, ONE_SHOTS = 200, 500
WINDOW_MS = 30_000
# What making 700 timers takes on two cores, with room.
MAKING_MS = 25_000
P99_BOUND_MS = 50.0

pytestmark = pytest.mark.e2e


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


@pytest.mark.parametrize(
    "copies", [{}, {"trigger": 2, "callback": 2}], ids=["one of each", "two triggers, two callbacks"]
)
def test_every_firing_comes_once_and_on_time(tmp_path: Path, copies: dict[str, int]) -> None:
    with Deployment(tmp_path, copies, step_s=150) as deployment:
        start = int(time.time() * 1_000) + MAKING_MS
        expected = _make_timers(deployment, start)
        assert time.time() * 1_000 < start, "making the timers took longer than planned"
        deployment.tend_for((start + WINDOW_MS) / 1_000 - time.time() + 2)
        verdict = _judge(expected, deployment.target.calls(), start)
        print(json.dumps(asdict(verdict)), flush=True)
        _assert_all_took_part(deployment, copies)
    assert (verdict.early, verdict.lost, verdict.duplicates) == (0, 0, 0)
    assert verdict.distinct == verdict.expected
    assert verdict.p99_ms < P99_BOUND_MS


def _make_timers(deployment: Deployment, start: int) -> set[tuple[int, int]]:
    """Make every timer; return the firings expected within the window, from cron text and moments alone."""
    moments = [start + random.randrange(WINDOW_MS) for _ in range(ONE_SHOTS)]
    with ThreadPoolExecutor(4) as pool:
        crons = list(
            pool.map(lambda i: deployment.make_timer(f"cron-{i}", cron="* * * * * *"), range(CRON_TIMERS))
        )
        shots = list(pool.map(lambda i: deployment.make_timer(f"shot-{i}", at=moments[i]), range(ONE_SHOTS)))
    seconds = _each_second(start)
    return {(timer_id, moment) for timer_id in crons for moment in seconds} | set(
        zip(shots, moments, strict=True)
    )


def _each_second(start: int) -> list[int]:
    """Return the window's moments of the cron text, as an independent library reads it (seconds last there)."""
    wanted = []
    for moment in CronSim("* * * * * *", datetime.fromtimestamp(start / 1_000 - 1, UTC)):
        at = int(moment.timestamp() * 1_000)
        if at >= start + WINDOW_MS:
            return wanted
        if at >= start:
            wanted.append(at)
    return wanted


def _judge(expected: set[tuple[int, int]], calls: Iterable[ArrivedCall], start: int) -> Verdict:
    everything = list(calls)
    window = [call for call in everything if start <= call.fire_at < start + WINDOW_MS]
    times = Counter((call.timer_id, call.fire_at) for call in everything)
    lateness = sorted(call.lateness_ms for call in window)
    distinct = {(call.timer_id, call.fire_at) for call in window}
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
