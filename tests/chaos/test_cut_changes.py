"""The API answers disable and delete with success while it is cut off from Redis: both count as its answers say."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import create_engine, func, select, text
from sqlalchemy.pool import NullPool

from tests.chaos.cut_changes import Cut, CutChanges, too_late
from tests.chaos.load import Window
from tests.chaos.trial import STORE, ChaosDeployment, Trial
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.store.sql.tables import timers

CUTS = 100
EVERY_SECOND = "* * * * * *"
# Planned so far ahead, the timers go on without the migrator for longer than this takes.
PLANNED_MS = 600_000
# What API processes refuse that are cut off when they answer their first request.
REFUSED = 5
# The target writes its calls down twice a second.
WRITTEN_S = 2


def _await_plans(trial: Trial) -> None:
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)

    def are_planned() -> bool:
        with engine.connect() as sql:
            first, now = sql.execute(
                select(func.min(timers.c.planned_until), func.unix_timestamp() * 1_000)
            ).one()
        return bool(first > now + PLANNED_MS)

    trial.tend_until(are_planned, 60, "every timer is planned far ahead")


def _freeze_right_after_a_sweep(trial: Trial) -> None:
    """So executors believe Redis for as long as they may: by then most of the cuts are over.

    Frozen inside a transaction, the process would hold timers that the API is to change.
    """
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)
    holds_rows = text("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_rows_locked > 0")

    for _ in range(10):
        told = trial.store.get("wt:told")
        trial.tend_until(lambda told=told: trial.store.get("wt:told") != told, 20, "a sweep tells Redis")
        pid = trial.freeze("migrate")
        with engine.connect() as sql:
            if not sql.execute(holds_rows).scalar_one():
                return
        os.kill(pid, signal.SIGCONT)
    raise AssertionError("the process was in a transaction each time that it was frozen")


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("sweeps", ["sweeps tell", "sweeps are frozen"])
def test_in_a_hundred_cuts_of_the_api_a_change_counts_within_what_its_answer_says(
    sweeps: str, tmp_path: Path
) -> None:
    with ChaosDeployment(tmp_path, proxied={"web": (STORE,)}) as deployment:
        trial = Trial(deployment, Window(0, 0))
        ids = [deployment.make_timer(f"cut-{number}", cron=EVERY_SECOND) for number in range(CUTS + REFUSED)]
        _await_plans(trial)
        if sweeps == "sweeps are frozen":
            _freeze_right_after_a_sweep(trial)
        changes = CutChanges(deployment.api_url, deployment.proxies["web", STORE], Random(sweeps))
        stopped = changes.stop_all(ids)
        assert len(stopped) >= CUTS
        trial.tend_for(COUNTS_WITHIN_MS / 1_000 + WRITTEN_S)
        calls = list(trial.calls())
        after_ms = {
            one.timer_id: max(call.fire_at for call in calls if call.timer_id == one.timer_id)
            - one.answered_at
            for one in stopped
        }
        print(
            json.dumps(
                {
                    within_ms: {
                        "answers": Counter(one.cut for one in stopped if one.within_ms == within_ms),
                        "latest_moment_called_ms_after": max(
                            round(after_ms[one.timer_id]) for one in stopped if one.within_ms == within_ms
                        ),
                    }
                    for within_ms in sorted({one.within_ms for one in stopped})
                }
            )
        )
        assert not too_late(stopped, calls)
        untold = [one for one in stopped if one.within_ms == COUNTS_WITHIN_MS]
        assert {Cut.BEFORE, Cut.HANGS} <= {one.cut for one in untold}
        # Else the changes were not seen to be late at all.
        assert max(after_ms[one.timer_id] for one in untold) > COUNTS_WITHIN_MS / 4
