"""One app's targets all hang while another app's target answers: the other app's lateness, and the recovery."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan

from sqlalchemy import text

from benchmarks.hung_targets import HungCall, HungTargets
from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, insert_rows, insert_shots, spread, timer_row
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement

HOG_TIMERS, OTHERS_A_SECOND = 500, 50
# Bounds of the recovery: the time until at least half of what the targets can take is sent, until nothing waits, and
# from then until new firings are on time.
FIRST_SECONDS, DRAINED_WITHIN_S, ON_TIME_WITHIN_S, LOOK_S = 10, 120, 30, 2.0
ON_TIME_MS = 1_000
# The deployment's time-out, the default: a firing that was later had no place, or timed out.
TIMEOUT_MS = 10_000
# Every-second timers are planned two steps ahead, completely before the run begins.
STEP_S, MAKING_S = 120, 40
# Time for the calls of the last moments, and for lines that the target's log buffers.
LINGER_S = 3.0


@dataclass(frozen=True, slots=True)
class Hung:
    """`hosts` targets that accept connections and never answer, one callback process; `--scale 10` is ten minutes."""

    hosts: int
    seconds: int = 60

    @property
    def name(self) -> str:
        """`hung1`, `hung20`, `hung300`."""
        return f"hung{self.hosts}"

    @property
    def measures(self) -> str:
        """What is done."""
        return (
            f"{HOG_TIMERS}/s of one app to {self.hosts} targets that never answer, {OTHERS_A_SECOND}/s of another, one "
            f"callback process, {self.seconds} s; then the targets answer"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """The other app's lateness, and how fast the hung app's backlog drains."""
        return (
            Figure("other_p50_ms", "ms"),
            Figure("other_p99_ms", "ms", at_most=50),
            Figure("other_max_ms", "ms"),
            Figure("other_p99_while_hung_ms", "ms", at_most=50),
            Figure("other_uncalled", "firings", at_most=0, is_strict=True),
            Figure("waiting_in_lanes", "firings"),
            Figure("callback_rss_mb", "MB"),
            Figure("half_rate_after_s", "s", at_most=FIRST_SECONDS),
            Figure("first_seconds_calls_per_s", "/s", more_is_better=True),
            Figure("best_calls_per_s", "/s", more_is_better=True),
            Figure("drained_s", "s"),
            Figure("on_time_after_drain_s", "s", at_most=ON_TIME_WITHIN_S),
            Figure("late_for_no_reason_told", "firings", at_most=0, is_strict=True),
            Figure("time_outs_not_recorded", "calls", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run each time on a deployment of its own."""
        for _ in range(runs):
            directory = bench.new_directory()
            with (
                HungTargets(directory, self.hosts) as hung,
                bench.stand({"callback": 1}, step_s=STEP_S) as stand,
            ):
                yield self._run(stand, hung, bench.scaled(self.seconds, 40))

    def _run(self, stand: Stand, hung: HungTargets, seconds: int) -> Measurement:
        stand.target.forget()
        others = seconds + DRAINED_WITHIN_S + ON_TIME_WITHIN_S
        start = stand.start_for(HOG_TIMERS + others * OTHERS_A_SECOND) + MAKING_S * 1_000
        _insert_hog(stand, hung.urls, start)
        dues = dues_at(spread(start, others, OTHERS_A_SECOND))
        insert_shots(stand.engine, [Shot(due, stand.target.url, "other") for due in dues])
        stand.await_plans()
        stand.tend_for(start / 1_000 + seconds - time.time())
        waiting, rss = _waiting(stand), stand.our_rss_mb()["callback"]
        back_at = time.time()
        hung.let_answer()
        drained_s = _drained(stand, back_at)
        stand.tend_for(ON_TIME_WITHIN_S + LINGER_S)
        now_ms = time.time() * 1_000
        due = [one for one in dues if one.at_ms < now_ms - LINGER_S * 1_000]
        arrivals = stand.target.arrivals()
        late = Punctuality.of([one.id for one in due], arrivals)
        before = Punctuality.of([one.id for one in due if one.at_ms < back_at * 1_000], arrivals)
        calls = hung.calls()
        sent_in_vain = sum(one.arrived_ms < back_at * 1_000 for one in calls)
        return {
            "other_p50_ms": late.p50_ms,
            "other_p99_ms": late.p99_ms,
            "other_max_ms": late.max_ms,
            "other_p99_while_hung_ms": before.p99_ms,
            "other_uncalled": len({one.id for one in due} - {one.id for one in arrivals}),
            "waiting_in_lanes": waiting,
            "callback_rss_mb": rss,
            "drained_s": drained_s,
            "late_for_no_reason_told": _late_for_no_reason_told(stand, start, int(back_at * 1_000)),
            "time_outs_not_recorded": max(0, sent_in_vain - _recorded_failures(stand, start)),
        } | recovery(calls, back_at, drained_s)


def recovery(calls: Sequence[HungCall], back_at: float, drained_s: float) -> Measurement:
    """Return how fast the targets were called again from `back_at` (s UTC), and until when new firings were late.

    Their capacity is the most calls in any second of the recovery: while all firings wait for a place, nothing else
    limits it.
    """
    came = [one for one in calls if one.arrived_ms >= back_at * 1_000]
    rates = Counter(int(one.arrived_ms / 1_000 - back_at) for one in came)
    best = max(rates.values(), default=0)
    late_until = max(
        (
            one.fire_at / 1_000 - back_at
            for one in came
            if one.fire_at >= back_at * 1_000 and one.arrived_ms - one.fire_at > ON_TIME_MS
        ),
        default=0.0,
    )
    return {
        "best_calls_per_s": best,
        "first_seconds_calls_per_s": sum(rates[second] for second in range(FIRST_SECONDS)) / FIRST_SECONDS,
        "half_rate_after_s": min((second for second, rate in rates.items() if rate * 2 >= best), default=nan),
        "on_time_after_drain_s": max(0.0, late_until - drained_s) if not isnan(drained_s) else nan,
    }


def _insert_hog(stand: Stand, urls: Sequence[str], start: int) -> None:
    rows = [
        timer_row("hog", f"hog-{start}-{number}", urls[number % len(urls)], start - 1)
        | {"cron": "* * * * * *", "next_fire_at": start}
        for number in range(HOG_TIMERS)
    ]
    insert_rows(stand.engine, rows)


def _waiting(stand: Stand) -> int:
    query = text("SELECT COUNT(*) FROM firing WHERE status = 'pending' AND lane <> '' AND due_at < :now")
    with stand.engine.connect() as sql:
        return int(sql.execute(query, {"now": int(time.time() * 1_000)}).scalar_one())


def _late_for_no_reason_told(stand: Stand, start: int, end: int) -> int:
    """Return how many first attempts were later than a time-out without naming a lane in which they waited."""
    query = text(
        "SELECT COUNT(*) FROM firing JOIN timer ON timer.id = firing.timer_id WHERE app = 'hog' "
        "AND fire_at BETWEEN :start AND :end AND firing.status <> 'pending' AND attempt = 1 AND lane = '' "
        "AND lateness_ms > :timeout_ms"
    )
    with stand.engine.connect() as sql:
        return int(sql.execute(query, {"start": start, "end": end, "timeout_ms": TIMEOUT_MS}).scalar_one())


def _recorded_failures(stand: Stand, start: int) -> int:
    """Return how many attempts are recorded as failed with an error, last attempts or not."""
    followed = "SELECT COUNT(*) FROM attempt JOIN timer ON timer.id = attempt.timer_id"
    last = "SELECT COUNT(*) FROM firing JOIN timer ON timer.id = firing.timer_id"
    failed = " WHERE app = 'hog' AND fire_at >= :start AND error <> '' AND {}.status = 'failed'"
    with stand.engine.connect() as sql:
        return sum(
            int(sql.execute(text(query + failed.format(table)), {"start": start}).scalar_one())
            for query, table in ((followed, "attempt"), (last, "firing"))
        )


def _drained(stand: Stand, back_at: float) -> float:
    """Return the seconds until nothing waited in a lane; NaN where something waited until the end."""
    while time.time() < back_at + DRAINED_WITHIN_S:
        if not _waiting(stand):
            return time.time() - back_at
        stand.tend_for(LOOK_S)
    return float("nan")


HUNG = tuple(Hung(hosts) for hosts in (1, 20, 300))
