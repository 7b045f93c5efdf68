"""The rules follower: plans timers anew whose time zone or built-in calendar has other rules than before.

The rules come from the packages `tzdata` and `chinesecalendar`, which grow newer while timers wait.
"""

import re
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version

import structlog

from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import rules_digest, zone_names
from wangtimer.in_turn import over_after
from wangtimer.registrar import Registrar
from wangtimer.store.sql.schedule_rules import PlannedBy, ScheduleRuleStore, followed_from

log = structlog.get_logger()

PACKAGES = ("tzdata", "chinesecalendar")
# Timers looked at in one transaction.
PAGE = 100
# One transaction looks at no further timer after this long: it holds their rows.
LONGEST_HELD_S = 0.2
# One sweep ends after this long, so that what is swept beside it does not wait; the next goes on where it ended.
LONGEST_S = 2.0
# A process says so often that it is there. The rules of another one count after so long without a word, and as long
# again in which it could have come: nobody says a word while SQL is away. Sweeps may come a minute apart.
SAID_EVERY_MS, SILENT_MS = 10_000, 75_000
# A process with other rules may have made timers, or moved their marks, since they were looked at. So all are looked at
# again after a minute, then after twice as long, and so on for a day, also by a process that begins again.
FIRST_REST_S, FOLLOWED_FOR_S = 60.0, 86_400.0


@dataclass(slots=True)
class RulesFollower:
    """Of processes with different rules only those plan whose rules stand in SQL: the newest that are in use.

    Two that follow at once, and one that begins again, change nothing twice: a timer whose moments are right is left
    as it is.
    """

    registrar: Registrar
    store: ScheduleRuleStore
    clock: Clock
    _after_id: int = field(default=0, init=False)
    _changed: int = field(default=0, init=False)
    _rests_until: float = field(default=0.0, init=False)
    _outdated_by: str = field(default="", init=False)
    # The word behind which there was silence, and since when that is known, s of the stop-watch.
    _silence: tuple[int, float] | None = field(default=None, init=False)

    def may_plan(self) -> bool:
        """Tell whether timers are planned by the rules of this process; raises `StoreAway`."""
        return self.store.version() in (None, own_rules().version)

    def sweep(self) -> None:
        """Say by which rules timers are planned, and look at timers of changed ones, for `LONGEST_S`.

        Raises `StoreAway`.
        """
        silence, self._silence = self._silence, None
        held, own, now = self.store.read(), own_rules(), int(self.clock.now_ms())
        if held is None:
            self.store.write(own._replace(seen_at=now), None)
        elif held.version == own.version:
            if now >= held.seen_at + SAID_EVERY_MS:
                self.store.write(held._replace(seen_at=now), held)
        elif is_newer(own, held) or self._has_gone_silent(held.seen_at, now, silence):
            unlike = changed_names(held, own)
            since = followed_from(now)
            digests = {name: since if name in unlike else digest for name, digest in own.digests.items()}
            self.store.write(PlannedBy(own.version, digests, now), held)
            log.warning("rules_changed", version=own.version, planned_by=held.version, rules=len(unlike))
        elif self._outdated_by != held.version:
            self._outdated_by = held.version
            log.error("rules_outdated", own=own.version, planned_by=held.version)
        if held is None or held.version != own.version or not held.to_follow:
            self._after_id, self._changed, self._rests_until = 0, 0, 0.0
        elif self.clock.monotonic() >= self._rests_until:
            self._follow(held, own)

    def _has_gone_silent(self, seen_at: int, now: int, silence: tuple[int, float] | None) -> bool:
        """Tell whether no word comes although it could; `silence` is what the last sweep knew, None if it failed."""
        if now < seen_at + SILENT_MS:
            return False
        if silence is None or silence[0] != seen_at:
            silence = seen_at, self.clock.monotonic()
        self._silence = silence
        return self.clock.monotonic() >= silence[1] + SILENT_MS / 1_000

    def _follow(self, held: PlannedBy, own: PlannedBy) -> None:
        """Plan the timers concerned anew; behind the last one, rest."""
        is_over = over_after(self.clock, LONGEST_S)
        while not is_over():
            now = int(self.clock.now_ms())
            page = self.store.plan_page_anew(
                held.to_follow,
                self._after_id,
                PAGE,
                now,
                partial(self.registrar.planned_anew, now=now),
                self.registrar.firings_of,
                over_after(self.clock, LONGEST_HELD_S),
            )
            if page.changed:
                self.registrar.tell_redis([timer.definition for timer in page.changed], page.pending, now)
            self._changed += len(page.changed)
            self._after_id = page.last_id or 0
            if page.last_id is None:
                passed_s = (now - held.followed_since) / 1_000
                rest_s = max(FIRST_REST_S, min(passed_s, FOLLOWED_FOR_S - passed_s))
                log.info("rules_followed", version=own.version, timers=self._changed, rests_s=rest_s)
                self._changed = 0
                self._rests_until = self.clock.monotonic() + rest_s
                if passed_s >= FOLLOWED_FOR_S:
                    self.store.write(own._replace(seen_at=now), held)
                return


@cache
def own_rules() -> PlannedBy:
    """Return the rules of this process: those of each zone and of each built-in calendar."""
    zones = {name: rules_digest(name) for name in sorted(zone_names())}
    calendars = {name: calendar.digest for name, calendar in built_in().items()}
    return PlannedBy(" ".join(version(package) for package in PACKAGES), zones | calendars)


def is_newer(one: PlannedBy, other: PlannedBy) -> bool:
    """Tell whether a package is newer than it was, and none is older."""
    own, held = _numbers(one.version), _numbers(other.version)
    return own != held and all(a >= b for a, b in zip(own, held, strict=False))


def changed_names(held: PlannedBy, own: PlannedBy) -> frozenset[str]:
    """Return the zones and built-in calendars whose rules differ."""
    return frozenset(name for name, digest in own.digests.items() if held.digests.get(name) != digest)


def _numbers(versions: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, re.findall(r"\d+", one))) for one in versions.split()]
