"""Runs a row: load, fault, calm, verdict."""

import os
import random
import time
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import create_engine, func, select, true
from sqlalchemy.pool import NullPool

from tests.chaos.bad_targets import BadTargets
from tests.chaos.checker import Lateness, Verdict, judge
from tests.chaos.hiccups import Hiccups
from tests.chaos.load import Cohort, Key, Window, add_pending, cohorts, make
from tests.chaos.policies import PolicyTimers
from tests.chaos.rows import Row
from tests.chaos.trial import ChaosDeployment, Strike, Trial
from wangtimer.core.flow.firing import Member
from wangtimer.store.sql.tables import firings

WARM_S = 6
# After the fault the load goes on for longer than any bound on what it delayed.
AFTER_S = 20
# What a firing may still need once its moment is past, over its bound.
PATIENCE_S = 30.0
CALM_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A row as it was measured; `pending` are the firings past their moment without an outcome, once calm.

    `machine` is how late a process that only sleeps was meanwhile, `load` how many processes wanted a core (the mean
    of the last minute): no lateness beside them means more than that.
    """

    row: Row
    strike: Strike
    verdict: Verdict
    pending: int
    machine: Lateness
    load: float
    broken_policies: tuple[str, ...] = ()

    def misses(self) -> list[str]:
        """Return what the row promises and did not keep."""
        row, verdict = self.row, self.verdict
        found = list(self.broken_policies)
        if not self.strike.bite:
            found.append("the fault met no firing")
        if verdict.lost:
            found.append(f"{len(verdict.lost)} lost, first {verdict.lost[:3]}")
        if verdict.early:
            found.append(f"{len(verdict.early)} early, first {verdict.early[:3]}")
        if verdict.extra:
            found.append(f"{len(verdict.extra)} extra, first {[str(one) for one in verdict.extra[:3]]}")
        if self.pending:
            found.append(f"{self.pending} firings without an outcome")
        if row.most_late_s is not None and verdict.max_ms > row.most_late_s * 1_000:
            found.append(f"{verdict.max_ms / 1_000:.1f} s late at most, over {row.most_late_s:g} s")
        if row.others_p99_ms is not None and verdict.others.p99_ms > row.others_p99_ms:
            found.append(f"p99 of the others {verdict.others.p99_ms:.0f} ms, over {row.others_p99_ms:g}")
        return found


def measure(
    row: Row, directory: Path, rate: int | None = None, after_s: float = AFTER_S, seed: int = 1
) -> Measured:
    """Run a row in a deployment of its own; the load goes on for `after_s` after the fault."""
    rate = row.rate if rate is None else rate
    # As shipped, but that a slice takes some hundred firings a second, so that every trigger has slices.
    settings = {"firings_per_bucket": max(1_000, rate * 10), **row.settings}
    with ExitStack() as stack:
        deployment = stack.enter_context(
            ChaosDeployment(
                directory,
                row.copies,
                row.proxied,
                row.doubles_messages,
                row.is_armable,
                row.shifted,
                row.is_store_clock_movable,
                row.has_standby,
                **settings,
            )
        )
        add_pending(deployment, row.pending)
        machine = stack.enter_context(Hiccups(directory))
        bad = stack.enter_context(BadTargets(directory / "bad")) if row.badly_met else None
        window = Window.of(WARM_S + row.fault_s + after_s, rate)
        load = random.Random(seed)
        wanted = cohorts(rate - row.badly_met, window, deployment.target.url, row.shape)
        promised = make(deployment, window, wanted, load)
        badly_met = _make_badly_met(deployment, window, row, bad, load)
        policies = PolicyTimers.make(deployment, window, load) if row.has_policies else None
        trial = Trial(deployment, window, bad)
        stack.callback(trial.close)
        trial.tend_until_moment(window.start + WARM_S * 1_000)
        strike = row.strike(trial)
        assert time.time() * 1_000 < window.end, "the fault took longer than its row says"
        strike = replace(strike, touched=strike.touched | {Member(*key, 1) for key in badly_met})
        # A fault that was quicker than its row says leaves nothing to wait for.
        trial.window = window.ending_by(int((time.time() + after_s) * 1_000))
        if policies is not None:
            strike = replace(strike, maybe=strike.maybe | policies.may_fire())
        verdict, pending = conclude(trial, row, strike, promised, badly_met)
        broken = policies.broken(deployment, trial.window) if policies is not None else []
        return Measured(row, strike, verdict, pending, machine.lateness(), os.getloadavg()[0], tuple(broken))


def _make_badly_met(
    deployment: ChaosDeployment, window: Window, row: Row, bad: BadTargets | None, load: random.Random
) -> set[Key]:
    """Make timers whose targets misbehave, the same number for each way to do it."""
    if bad is None:
        return set()
    each = row.badly_met // len(bad.urls)
    return make(
        deployment, window, [Cohort("* * * * * *", "UTC", each, url) for url in bad.urls.values()], load
    )


def conclude(
    trial: Trial, row: Row, strike: Strike, promised: set[Key], badly_met: Collection[Key] = ()
) -> tuple[Verdict, int]:
    """Let the window end and the rest come in; return the verdict, and how many firings have no outcome.

    What is for a target that misbehaves (`badly_met`) may wait in its lane for as long as that lasts.
    """
    window = trial.window
    trial.tend_until_moment(window.end)
    waiting = _waiting_in_lanes(trial) if badly_met else set()
    promised = promised | strike.promised | set(badly_met)
    promised = {key for key in promised if key[1] < window.end}

    before = {key for key in promised | strike.maybe if key[1] < strike.others_from}
    touched = strike.touched | {Member(*key, 1) for key in before}

    def verdict() -> Verdict:
        repeatable = strike.may_repeat if row.may_repeat else ()
        # What is due last is noted to wait up to a time-out later.
        waits = waiting | (_waiting_in_lanes(trial) if badly_met else set())
        blamed = _blamed(trial)
        free = blamed if len(blamed) <= row.may_blame else set()
        expected = promised - (set(badly_met) & waits) - free
        return judge(expected, trial.calls(), window, repeatable, touched, strike.maybe | waits | free)

    deadline = time.monotonic() + PATIENCE_S + row.backlog_s
    while verdict().lost and time.monotonic() < deadline:
        trial.tend_for(1)
    pending = _pending_once_calm(trial, but_in_lanes=bool(badly_met))
    return verdict(), pending


def _waiting_in_lanes(trial: Trial) -> set[Key]:
    """Return what SQL says waits in a lane."""
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)
    waiting = select(firings.c.timer_id, firings.c.fire_at).where(
        firings.c.status == "pending", firings.c.lane != ""
    )
    with engine.connect() as sql:
        return {(row.timer_id, row.fire_at) for row in sql.execute(waiting)}


def _blamed(trial: Trial) -> set[Key]:
    """Return what SQL says has failed because its executors died on it."""
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)
    blamed = select(firings.c.timer_id, firings.c.fire_at).where(
        firings.c.status == "failed", firings.c.error.like("each executor that ran it died%")
    )
    with engine.connect() as sql:
        return {(row.timer_id, row.fire_at) for row in sql.execute(blamed)}


def _pending_once_calm(trial: Trial, but_in_lanes: bool) -> int:
    """Wait until every firing of the window has an outcome, `but_in_lanes`: or waits in a lane.

    Returns how many do not after a while.
    """
    window = trial.window
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)
    open_ = select(func.count()).where(
        firings.c.status == "pending",
        firings.c.due_at.between(window.start - 60_000, window.end),
        firings.c.lane == "" if but_in_lanes else true(),
    )

    def pending() -> int:
        with engine.connect() as sql:
            return int(sql.execute(open_).scalar_one())

    deadline = time.monotonic() + CALM_WITHIN_S
    while (left := pending()) and time.monotonic() < deadline:
        trial.tend_for(1)
    return left
