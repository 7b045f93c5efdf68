"""An app whose targets all hang, beside one whose target answers: what the other's calls suffer, and the way back."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from benchmarks.hung_targets import HungTargets
from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, insert_rows, insert_shots, spread, timer_row
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement

HOG_TIMERS, OTHERS_A_SECOND = 500, 50
# Of the recovery: from when on at least half of what the targets can take is sent, and how long until nothing waits.
FIRST_SECONDS, DRAINED_WITHIN_S, LOOK_S = 10, 120, 2.0
ON_TIME_MS = 1_000
# Timers of every second are planned two steps ahead, all of it before the run begins.
STEP_S, MAKING_S = 120, 40
# The last moments' calls, and what the target's log keeps back.
LINGER_S = 3.0


@dataclass(frozen=True, slots=True)
class Hung:
    """So many targets that take connections and never answer, one callback process; `--scale 10` is ten minutes."""

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
        """The other app's lateness, and how the hung app's backlog goes."""
        return (
            Figure("other_p50_ms", "ms"),
            Figure("other_p99_ms", "ms", at_most=50),
            Figure("other_max_ms", "ms"),
            Figure("other_p99_while_hung_ms", "ms", at_most=50),
            Figure("other_uncalled", "firings", at_most=0, is_strict=True),
            Figure("waiting_in_lanes", "firings"),
            Figure("callback_rss_mb", "MB"),
            Figure("share_after_10_s", "of the best rate", at_least=0.5),
            Figure("drained_s", "s"),
            Figure("on_time_after_s", "s"),
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
        others = seconds + DRAINED_WITHIN_S
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
        stand.tend_for(LINGER_S)
        now_ms = time.time() * 1_000
        due = [one for one in dues if one.at_ms < now_ms - LINGER_S * 1_000]
        arrivals = stand.target.arrivals()
        late = Punctuality.of([one.id for one in due], arrivals)
        before = Punctuality.of([one.id for one in due if one.at_ms < back_at * 1_000], arrivals)
        calls = [one for one in hung.calls() if one.arrived_ms >= back_at * 1_000]
        rates = Counter(int(one.arrived_ms / 1_000 - back_at) for one in calls)
        # A full second may have few: the best of two that follow each other.
        after = max(rates[FIRST_SECONDS], rates[FIRST_SECONDS + 1])
        new_late = [
            one
            for one in calls
            if one.fire_at >= back_at * 1_000 and one.arrived_ms - one.fire_at > ON_TIME_MS
        ]
        return {
            "other_p50_ms": late.p50_ms,
            "other_p99_ms": late.p99_ms,
            "other_max_ms": late.max_ms,
            "other_p99_while_hung_ms": before.p99_ms,
            "other_uncalled": len({one.id for one in due} - {one.id for one in arrivals}),
            "waiting_in_lanes": waiting,
            "callback_rss_mb": rss,
            "share_after_10_s": after / max(rates.values(), default=1),
            "drained_s": drained_s,
            "on_time_after_s": max((one.fire_at / 1_000 - back_at for one in new_late), default=0.0),
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


def _drained(stand: Stand, back_at: float) -> float:
    """Return after how many seconds nothing waited in a lane any more; NaN where something did until the end."""
    while time.time() < back_at + DRAINED_WITHIN_S:
        if not _waiting(stand):
            return time.time() - back_at
        stand.tend_for(LOOK_S)
    return float("nan")


HUNG = tuple(Hung(hosts) for hosts in (1, 20, 300))
