"""Runs one stage as its worker does, in a process with settings in its environment; prints its times.

    python -m benchmarks.inside plan          all that is due to be planned: {"seconds", "cpu_s", "plans"}
    python -m benchmarks.inside purge         all that is past its retention: {"seconds", "cpu_s", "purged", ...}
    python -m benchmarks.inside tick 10       the scheduler's tick, once a second: {"tick_ms": [...]}

A tick beside the deployment's own scheduler is harmless: a slice is locked by one of them.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from wangtimer.api.operations.metrics import purge_lag_ms
from wangtimer.stack.child import inherited_environment
from wangtimer.tasks import wiring


def plan() -> dict[str, float]:
    """Plan until every timer is planned at least a step ahead."""
    migrator = wiring().migrator
    wiring().check_sql()
    wiring().check_store()
    began_at, cpu_s = time.monotonic(), time.process_time()
    plans = migrator.plan_due()
    return {
        "seconds": time.monotonic() - began_at,
        "cpu_s": time.process_time() - cpu_s,
        "plans": plans,
    }


def purge() -> dict[str, float]:
    """Purge firings, as the task does, until none is left; the lag is what `/metrics` says."""
    purger = wiring().purger
    wiring().check_sql()
    before = purge_lag_ms(wiring(), int(time.time() * 1_000))
    began_at, cpu_s = time.monotonic(), time.process_time()
    purged = purger.purge()
    while purger.has_more:
        purged += purger.purge()
    return {
        "seconds": time.monotonic() - began_at,
        "cpu_s": time.process_time() - cpu_s,
        "purged": purged,
        "lag_s_before": before / 1_000,
        "lag_s_after": purge_lag_ms(wiring(), int(time.time() * 1_000)) / 1_000,
    }


def tick(times: int) -> dict[str, list[float]]:
    """Tick once a second. The first tick opens connections and is not reported."""
    scheduler = wiring().scheduler
    scheduler.tick()
    took_ms = []
    for _ in range(times):
        time.sleep(1)
        began_at = time.monotonic()
        scheduler.tick()
        took_ms.append((time.monotonic() - began_at) * 1_000)
    return {"tick_ms": took_ms}


def run_inside(environment: Mapping[str, str], *words: str) -> Any:
    """Run a stage in a child with this `environment`; return what it printed."""
    argv = [sys.executable, "-m", "benchmarks.inside", *words]
    told = inherited_environment() | dict(environment)
    done = subprocess.run(argv, env=told, check=True, stdout=subprocess.PIPE, timeout=1_800)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run what the command line says."""
    stages = {"plan": plan, "purge": purge}
    answer = stages[sys.argv[1]]() if sys.argv[1] in stages else tick(int(sys.argv[2]))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
