"""The zone follower: plans timers anew whose zone has other rules than those by which they were planned."""

from dataclasses import dataclass, field
from functools import partial

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import rules_digest, rules_version, zone_names
from wangtimer.core.timers.timer import Timer
from wangtimer.registrar import Registrar
from wangtimer.store.sql.zone_rules import AnewPlanned, PlannedBy, ZoneRuleStore

log = structlog.get_logger()

# Timers looked at in one transaction.
PAGE = 500
# One sweep ends after this long; the next goes on where it ended.
LONGEST_S = 10.0


@dataclass(slots=True)
class ZoneFollower:
    """Two at once do the same. The rules of a process stay as they are, so one that is done looks no more."""

    registrar: Registrar
    store: ZoneRuleStore
    clock: Clock
    _is_done: bool = field(default=False, init=False)

    def sweep(self) -> None:
        """Go on with it, for `LONGEST_S`. Raises `StoreAway`."""
        if self._is_done:
            return
        held, own = self.store.read(), PlannedBy(rules_version(), own_digests())
        if held is None:
            self.store.write(own, None)
        elif held.version < own.version:
            if not self._plan_anew(held, own):
                return
            self.store.write(own, held)
        elif held.version > own.version:
            log.error("zone_rules_outdated", own=own.version, planned_by=held.version)
        self._is_done = True

    def _plan_anew(self, held: PlannedBy, own: PlannedBy) -> bool:
        """Plan timers of zones with other rules anew; False where the time was over first."""
        zones = changed_zones(held, own)
        after_id: int | None = held.done_to if held.following == own.version else 0
        ends_at, number = self.clock.monotonic() + LONGEST_S, 0
        while zones and after_id is not None and self.clock.monotonic() < ends_at:
            now = int(self.clock.now_ms())
            page = self.store.plan_page_anew(
                own.version,
                zones,
                after_id,
                PAGE,
                now,
                partial(self._anew, now=now),
                self.registrar.firings_of,
            )
            self.registrar.tell_redis([timer.definition for timer in page.changed], page.pending, now)
            after_id, number = page.last_id, number + len(page.changed)
        is_done = not zones or after_id is None
        log.info("zone_rules_followed", zones=len(zones), timers=number, version=own.version, is_done=is_done)
        return is_done

    def _anew(self, timer: Timer, now: int) -> AnewPlanned:
        return AnewPlanned(*self.registrar.planned_anew(timer, now))


def own_digests() -> dict[str, str]:
    """Return a digest of the rules of each zone, as this process has them."""
    return {name: rules_digest(name) for name in sorted(zone_names())}


def changed_zones(held: PlannedBy, own: PlannedBy) -> frozenset[str]:
    """Return the zones whose rules differ."""
    return frozenset(name for name, digest in own.digests.items() if held.digests.get(name) != digest)
