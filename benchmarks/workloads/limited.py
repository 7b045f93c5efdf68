"""An app over its limit beside others, and a limited app one of whose targets hangs; a callback process is killed."""

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import insert

from benchmarks.hung_targets import HungCall, HungTargets
from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, insert_rows, insert_shots, spread, timer_row
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.sql.tables import apps

LIMITED = "limited"
OTHERS, OTHERS_A_SECOND = 20, 50
PROCESSES = {"callback": 3}
# Every-second timers are planned two steps ahead, completely before the run begins.
STEP_S, MAKING_S = 120, 40
# The first seconds show that the app is over its limit; a process that is started again is away for some.
LEFT_OUT_S = 5
# Time for lines that a target's log buffers.
LINGER_S = 3.0
# Firings whose moments are nearer than this may come in either order: processes hold some when a lane opens.
IN_ORDER_MS = 1_000


@dataclass(frozen=True, slots=True)
class Limited:
    """`due` firings a second of an app that may be called `limit` times a second, at `hosts`; `hung` of them hang."""

    name: str
    due: int
    limit: int
    hosts: int
    hung: int
    others: int
    seconds: int = 60

    @property
    def measures(self) -> str:
        """What is done."""
        which = f", {self.hung} of them hung" if self.hung else ""
        return (
            f"{self.due}/s of an app limited to {self.limit}/s, to {self.hosts} targets{which}; "
            f"beside it {self.others} apps of {OTHERS_A_SECOND}/s; "
            f"three callback processes, one killed; {self.seconds} s"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """The others' lateness, and what the app gets of its limit."""
        others = (
            Figure("other_p50_ms", "ms"),
            Figure("other_p99_ms", "ms", at_most=50),
            Figure("other_uncalled", "firings", at_most=0, is_strict=True),
        )
        return (
            *(others if self.others else ()),
            Figure("of_its_limit_least", "%", at_least=95),
            Figure("of_its_limit_most", "%", at_most=102),
            Figure("out_of_order", "%", at_most=1),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run each time on a deployment of its own."""
        for _ in range(runs):
            with ExitStack() as stack:
                hung = stack.enter_context(HungTargets(bench.new_directory(), max(1, self.hung)))
                well = stack.enter_context(HungTargets(bench.new_directory(), self.hosts - self.hung))
                well.let_answer()
                stand = stack.enter_context(bench.stand(PROCESSES, step_s=STEP_S))
                urls = [*hung.urls[: self.hung], *well.urls]
                yield self._run(stand, urls, well, bench.scaled(self.seconds, 20), bench.scaled(self.due, 50))

    def _run(
        self, stand: Stand, urls: Sequence[str], well: HungTargets, seconds: int, due: int
    ) -> Measurement:
        stand.target.forget()
        _limit(stand, self.limit)
        rate = self.others * OTHERS_A_SECOND
        start = stand.start_for(due + seconds * rate) + MAKING_S * 1_000
        rows = [
            timer_row(LIMITED, f"{LIMITED}-{start}-{number}", urls[number % len(urls)], start - 1)
            | {"cron": "* * * * * *", "next_fire_at": start}
            for number in range(due)
        ]
        insert_rows(stand.engine, rows)
        dues = dues_at(spread(start, seconds, rate))
        shots = [
            Shot(one, stand.target.url, f"other-{number % max(1, self.others)}")
            for number, one in enumerate(dues)
        ]
        insert_shots(stand.engine, shots)
        stand.await_plans()
        stand.tend_for(start / 1_000 + seconds / 2 - time.time())
        os.kill(stand.deployment.supervisor.children()["callback2"].pid, signal.SIGKILL)
        stand.tend_for(start / 1_000 + seconds - time.time() + LINGER_S)
        arrivals = stand.target.arrivals()
        late = Punctuality.of([one.id for one in dues], arrivals)
        return {
            "other_p50_ms": late.p50_ms,
            "other_p99_ms": late.p99_ms,
            "other_uncalled": late.lost,
        } | of_limit(well.calls(), start, start + seconds * 1_000, self.limit)


def of_limit(calls: Sequence[HungCall], start: int, end: int, limit: int) -> Measurement:
    """Return what the app got of its limit from some seconds after `start` to `end` (ms UTC), and in which order.

    `of_its_limit_most` is over any ten seconds, without the calls that may begin together. Calls count when they come:
    where the first of them are 100 ms late, that is 1 %.
    """
    came = sorted((one for one in calls if start <= one.arrived_ms < end), key=lambda one: one.arrived_ms)
    since = start + LEFT_OUT_S * 1_000
    counted = [one for one in came if one.arrived_ms >= since]
    overtakings = sum(b.fire_at < a.fire_at - IN_ORDER_MS for a, b in pairwise(counted))
    burst = CallLimit(limit).burst
    return {
        "of_its_limit_least": 100 * len(counted) / (limit * (end - since) / 1_000),
        "of_its_limit_most": 100
        * (_most_within([one.arrived_ms for one in came], 10_000) - burst)
        / (10 * limit),
        "out_of_order": 100 * overtakings / max(1, len(counted)),
    }


def _most_within(moments: Sequence[float], window_ms: float) -> int:
    first = most = 0
    for number, moment in enumerate(moments):
        while moments[first] <= moment - window_ms:
            first += 1
        most = max(most, number - first + 1)
    return most


def _limit(stand: Stand, limit: int) -> None:
    """Make the app, with its limit; a sweep tells every callback process before the load begins."""
    now = int(time.time() * 1_000)
    row = {"name": LIMITED, "created_at": now, "updated_at": now}
    with stand.engine.begin() as sql:
        sql.execute(insert(apps).values(row | {"limits": json.dumps({"callsPerSecond": limit})}))


LIMITS = (
    Limited("limited", due=5_000, limit=100, hosts=1, hung=0, others=OTHERS),
    Limited("limited_hung", due=600, limit=450, hosts=10, hung=1, others=0),
)
