"""Timers whose misfire policy leaves firings out after an outage, and whether it did as it says."""

import random
from dataclasses import dataclass

from sqlalchemy import create_engine, select
from sqlalchemy.pool import NullPool

from tests.chaos.load import Cohort, Key, Window, make
from tests.e2e.deployment import Deployment
from wangtimer.store.sql.tables import firings

GRACE_MS = 5_000
# From the judgement, at the claim, to the arrival.
SENDING_MS = 3_000
TIMERS = 20


@dataclass(frozen=True, slots=True)
class PolicyTimers:
    """The moments of every-second timers that skip, and of timers that fire the latest of those missed."""

    skipping: frozenset[Key]
    latest_only: frozenset[Key]

    @classmethod
    def make(cls, deployment: Deployment, window: Window, load: random.Random) -> "PolicyTimers":
        url = deployment.target.url
        skip = Cohort("* * * * * *", "UTC", TIMERS, url, "skip", GRACE_MS)
        latest = Cohort("*/20 * * * * *", "UTC", TIMERS, url, "fire_latest", GRACE_MS)
        return cls(
            frozenset(make(deployment, window, [skip], load)),
            frozenset(make(deployment, window, [latest], load)),
        )

    def may_fire(self) -> frozenset[Key]:
        return self.skipping | self.latest_only

    def broken(self, deployment: Deployment, window: Window) -> list[str]:
        """Return what the policies promise and did not keep: each firing is called in time, or skipped for a reason."""
        calls = {
            (call.timer_id, call.fire_at): call.lateness_ms
            for call in deployment.target.calls()
            if (call.timer_id, call.fire_at) in self.may_fire()
        }
        reasons = _reasons_of_skipped(deployment, window)
        found = []
        for keys, allowed in ((self.skipping, {"missed"}), (self.latest_only, {"coalesced"})):
            silent = {key for key in keys if key[1] < window.end} - calls.keys()
            found += [
                f"{key}: neither called nor skipped as {allowed}, but {reasons.get(key)!r}"
                for key in sorted(silent)
                if reasons.get(key) not in allowed
            ]
        late = {key for key, lateness in calls.items() if lateness > GRACE_MS + SENDING_MS}
        found += [f"{key}: called past its grace" for key in sorted(late & self.skipping)]
        late_timers = [timer_id for timer_id, _ in late & self.latest_only]
        found += [f"timer {one}: several missed firings were made" for one in _repeated(late_timers)]
        if not reasons:
            found.append("no policy had anything to leave out")
        return found[:5]


def _reasons_of_skipped(deployment: Deployment, window: Window) -> dict[Key, str]:
    query = select(firings.c.timer_id, firings.c.fire_at, firings.c.error).where(
        firings.c.fire_at.between(window.start, window.end), firings.c.status == "skipped"
    )
    with create_engine(deployment.database_url, poolclass=NullPool).connect() as sql:
        return {(row.timer_id, row.fire_at): row.error for row in sql.execute(query)}


def _repeated(timer_ids: list[int]) -> set[int]:
    return {one for one in timer_ids if timer_ids.count(one) > 1}
