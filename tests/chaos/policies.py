"""Timers whose misfire policy leaves firings out after an outage, and whether it did as it says."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import create_engine, select
from sqlalchemy.pool import NullPool

from tests.chaos.load import Cohort, Key, Window, make
from tests.e2e.deployment import Deployment
from wangtimer.core.timers.misfire import COALESCED, MISSED
from wangtimer.store.sql.tables import firings

GRACE_MS = 5_000
CATCHUP_MS = 60_000
# From the judgement, at the claim, to the arrival.
SENDING_MS = 3_000
TIMERS = 20


@dataclass(frozen=True, slots=True)
class PolicyTimers:
    """The moments of every-second timers that skip what they missed, and of those that catch up for a minute; of
    timers that fire the latest of those missed.
    """

    skipping: frozenset[Key]
    latest_only: frozenset[Key]
    catching_up: frozenset[Key]

    @classmethod
    def make(cls, deployment: Deployment, window: Window, load: random.Random) -> "PolicyTimers":
        url = deployment.target.url
        skip = Cohort("* * * * * *", "UTC", TIMERS, url, "skip", GRACE_MS)
        latest = Cohort("*/20 * * * * *", "UTC", TIMERS, url, "fire_latest", GRACE_MS)
        catch_up = Cohort("* * * * * *", "UTC", TIMERS, url, "fire_all", GRACE_MS, CATCHUP_MS)
        return cls(*(frozenset(make(deployment, window, [one], load)) for one in (skip, latest, catch_up)))

    def may_fire(self) -> frozenset[Key]:
        return self.skipping | self.latest_only | self.catching_up

    def broken(self, deployment: Deployment, window: Window) -> list[str]:
        """Return what the policies promise and did not keep: each firing is called in time, or skipped for a reason."""
        mine = self.may_fire()
        lateness = {
            (call.timer_id, call.fire_at): call.lateness_ms
            for call in deployment.target.calls()
            if (call.timer_id, call.fire_at) in mine
        }
        reasons = _reasons_of_skipped(deployment, window)
        found: list[str] = []
        for keys, reason in (
            (self.skipping, MISSED),
            (self.latest_only, COALESCED),
            (self.catching_up, MISSED),
        ):
            silent = {key for key in keys if key[1] < window.end} - lateness.keys()
            found += _without_reason(silent, reasons, reason)
            if not silent:
                found.append(f"nothing of this policy was {reason}")
        found += [f"{key}: called past its grace" for key in _later_than(GRACE_MS, lateness, self.skipping)]
        found += [
            f"{key}: called past its window" for key in _later_than(CATCHUP_MS, lateness, self.catching_up)
        ]
        late_timers = Counter(timer_id for timer_id, _ in _later_than(GRACE_MS, lateness, self.latest_only))
        found += [
            f"timer {one}: {many} missed firings were made" for one, many in late_timers.items() if many > 1
        ]
        return found[:5]


def _without_reason(silent: Iterable[Key], reasons: dict[Key, str], reason: str) -> list[str]:
    return [
        f"{key}: neither called nor {reason}, but {reasons.get(key)!r}"
        for key in sorted(silent)
        if reasons.get(key) != reason
    ]


def _later_than(ms: int, lateness: dict[Key, float], keys: frozenset[Key]) -> list[Key]:
    """Return which of these were judged later than so many ms after their moment, and called."""
    return sorted(key for key in keys & lateness.keys() if lateness[key] > ms + SENDING_MS)


def _reasons_of_skipped(deployment: Deployment, window: Window) -> dict[Key, str]:
    query = select(firings.c.timer_id, firings.c.fire_at, firings.c.error).where(
        firings.c.fire_at.between(window.start, window.end), firings.c.status == "skipped"
    )
    with create_engine(deployment.database_url, poolclass=NullPool).connect() as sql:
        return {(row.timer_id, row.fire_at): row.error for row in sql.execute(query)}
