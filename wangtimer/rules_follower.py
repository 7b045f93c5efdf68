"""The rules follower: plans timers anew whose time zone or built-in calendar has other rules than before.

The rules come from the packages `tzdata` and `chinesecalendar`, which grow newer while timers wait.
"""

import re
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version

import structlog

from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import rules_digest, zone_names
from wangtimer.core.timers.timer import Timer
from wangtimer.registrar import Registrar
from wangtimer.store.sql.schedule_rules import AnewPlanned, PlannedBy, ScheduleRuleStore

log = structlog.get_logger()

PACKAGES = ("tzdata", "chinesecalendar")
# Timers looked at in one transaction, of which a dense one is planned with a hundred firings.
PAGE = 100
# One sweep ends after this long, so that what is swept beside it does not wait; the next goes on where it ended.
LONGEST_S = 2.0


@dataclass(slots=True)
class RulesFollower:
    """Two at once do the same. The rules of a process stay as they are, so one that is done looks no more."""

    registrar: Registrar
    store: ScheduleRuleStore
    clock: Clock
    _is_done: bool = field(default=False, init=False)

    def sweep(self) -> None:
        """Go on with it, for `LONGEST_S`. Raises `StoreAway`."""
        if self._is_done:
            return
        held, own = self.store.read(), own_rules()
        if held is None:
            self.store.write(own, None)
        elif is_newer(own, held):
            if not self._plan_anew(held, own):
                return
            self.store.write(own, held)
        elif held.version != own.version:
            log.error("rules_outdated", own=own.version, planned_by=held.version)
        self._is_done = True

    def _plan_anew(self, held: PlannedBy, own: PlannedBy) -> bool:
        """Plan the timers concerned anew; False where the time was over first."""
        names = changed_names(held, own)
        after_id: int | None = held.done_to if held.following == own.version else 0
        ends_at, number = self.clock.monotonic() + LONGEST_S, 0
        while names and after_id is not None and self.clock.monotonic() < ends_at:
            now = int(self.clock.now_ms())
            page = self.store.plan_page_anew(
                own.version,
                names,
                after_id,
                PAGE,
                now,
                partial(self._anew, now=now),
                self.registrar.firings_of,
            )
            self.registrar.tell_redis([timer.definition for timer in page.changed], page.pending, now)
            after_id, number = page.last_id, number + len(page.changed)
        is_done = not names or after_id is None
        log.info("rules_followed", rules=len(names), timers=number, version=own.version, is_done=is_done)
        return is_done

    def _anew(self, timer: Timer, now: int) -> AnewPlanned:
        return AnewPlanned(*self.registrar.planned_anew(timer, now))


def own_rules() -> PlannedBy:
    """Return the rules of this process: those of each zone and of each built-in calendar."""
    zones = {name: rules_digest(name) for name in sorted(zone_names())}
    calendars = {name: calendar.digest for name, calendar in built_in().items()}
    return PlannedBy(" ".join(version(package) for package in PACKAGES), zones | calendars)


def is_newer(one: PlannedBy, other: PlannedBy) -> bool:
    """Tell whether one of the packages is newer than it was."""
    return any(
        own > held
        for own, held in zip(
            map(_numbers, one.version.split()), map(_numbers, other.version.split()), strict=False
        )
    )


def changed_names(held: PlannedBy, own: PlannedBy) -> frozenset[str]:
    """Return the zones and built-in calendars whose rules differ."""
    return frozenset(name for name, digest in own.digests.items() if held.digests.get(name) != digest)


def _numbers(package_version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", package_version)))
