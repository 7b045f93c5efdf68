"""Followers: plan timers anew whose calendar, time zone or built-in calendar has other days or rules than before.

The rules come from the packages `tzdata` and `chinesecalendar`, which grow newer while timers wait."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version

import structlog

from wangtimer.base.in_turn import over_after
from wangtimer.core.errors import StoreAway, UnknownTimer
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import rules_digest, zone_names
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.calendar_followers import CalendarFollowers, Following, Upload
from wangtimer.store.sql.schedule_rules import PlannedBy, ScheduleRuleStore, followed_from
from wangtimer.timers.registrar import Registrar, following

log = structlog.get_logger()

PACKAGES = ("tzdata", "chinesecalendar")
# Timers looked at in one transaction.
RULES_PAGE = 100
# One transaction looks at no further timer after this long: it holds their rows.
LONGEST_HELD_S = 0.2
# One sweep ends after this long, so that what is swept beside it does not wait; the next goes on where it ended.
LONGEST_SWEEP_S = 2.0
# A process says so often that it is there. The rules of another one count after so long without a word, and as long
# again in which it could have come: nobody says a word while SQL is away. Sweeps may come a minute apart.
SAID_EVERY_MS, SILENT_MS = 30_000, 75_000
# A process with other rules may have made timers, or moved their marks, since they were looked at. So all are looked at
# again after a minute, then after twice as long, and so on for a day, also by a process that begins again.
FIRST_REST_S, FOLLOWED_FOR_S = 60.0, 86_400.0


@dataclass(slots=True)
class RulesFollower:
    """Plans timers anew whose time zone or built-in calendar has other rules than before.

    Of processes with different rules only those plan whose rules stand in SQL: the newest that are in use.

    Two that follow at once, and one that begins again, change nothing twice: a timer whose moments are right is left
    as it is.
    """

    registrar: Registrar
    schedule_rules: ScheduleRuleStore
    clock: Clock
    _after_id: int = field(default=0, init=False)
    _changed: int = field(default=0, init=False)
    _rests_until: float = field(default=0.0, init=False)
    _outdated_by: str = field(default="", init=False)
    # The word behind which there was silence, and since when that is known, s of the stop-watch.
    _silence: tuple[int, float] | None = field(default=None, init=False)

    def may_plan(self) -> bool:
        """Tell whether timers are planned by the rules of this process; raises `StoreAway`."""
        return self.schedule_rules.version() in (None, own_rules().version)

    def sweep(self) -> None:
        """Note the present rules, and follow changed ones for up to `LONGEST_SWEEP_S`. Raises `StoreAway`."""
        silence, self._silence = self._silence, None
        held, own, now = self.schedule_rules.read(), own_rules(), int(self.clock.now_ms())
        if held is None:
            self.schedule_rules.write(own._replace(seen_at=now), None)
        elif held.version == own.version:
            if now >= held.seen_at + SAID_EVERY_MS:
                self.schedule_rules.write(held._replace(seen_at=now), held)
        elif is_newer(own, held) or self._has_gone_silent(held.seen_at, now, silence):
            unlike = changed_names(held, own)
            since = followed_from(now)
            digests = {name: since if name in unlike else digest for name, digest in own.digests.items()}
            self.schedule_rules.write(PlannedBy(own.version, digests, now), held)
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
        is_over = over_after(self.clock, LONGEST_SWEEP_S)
        while not is_over():
            now = int(self.clock.now_ms())
            page = self.schedule_rules.plan_page_anew(
                held.to_follow,
                self._after_id,
                RULES_PAGE,
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
                    self.schedule_rules.write(own._replace(seen_at=now), held)
                return


@cache
def own_rules() -> PlannedBy:
    """Return the rules of this process: those of each zone and of each built-in calendar."""
    zones = {name: rules_digest(name) for name in sorted(zone_names())}
    calendars = {name: calendar.digest for name, calendar in built_in().items()}
    return PlannedBy(" ".join(version(package) for package in PACKAGES), zones | calendars)


def is_newer(own: PlannedBy, held: PlannedBy) -> bool:
    """Tell whether a package is newer than it was, and none is older."""
    now, before = _numbers(own.version), _numbers(held.version)
    return now != before and all(a >= b for a, b in zip(now, before, strict=False))


def changed_names(held: PlannedBy, own: PlannedBy) -> frozenset[str]:
    """Return the zones and built-in calendars whose rules differ."""
    return frozenset(name for name, digest in own.digests.items() if held.digests.get(name) != digest)


def _numbers(versions: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, re.findall(r"\d+", text))) for text in versions.split()]


# Timers one transaction changes at most: so many ordinary ones take some 0.2 s.
PAGE = 500
# Uploads looked up at once.
UPLOADS = 10
# One run ends after this long, however much is left; the next sweep asks for another.
LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class CalendarFollower:
    """Gives timers the new days of the uploaded calendar they name, many at a time.

    Goes on where the last run stopped. Two at once waste a little work, and harm nothing.
    """

    registrar: Registrar
    calendar_followers: CalendarFollowers
    clock: Clock
    send_follow: Callable[[], None]

    def ask(self) -> None:
        """Ask for a run if some calendar is to be followed; raises `StoreAway`."""
        if self.calendar_followers.uploads_to_follow(1):
            self.send_follow()

    def follow_all(self) -> int:
        """Let timers follow the uploaded calendars, until none is left or `LONGEST_S` is over; return how many did.

        A timer that cannot follow is noted, and skipped until the calendar is uploaded again. One that somebody else
        holds, and an upload for which SQL is away, are left to the next run, and hold up no other. Raises `StoreAway`.
        """
        is_over = over_after(self.clock, LONGEST_S)
        changed = 0
        left_out: set[Upload] = set()
        away: StoreAway | None = None
        while uploads := self._uploads_but(left_out):
            for upload in uploads:
                try:
                    now_changed, is_held = self._follow(upload, is_over)
                    changed += now_changed
                    if is_held:
                        left_out.add(upload)
                except StoreAway as error:
                    away = error
                    left_out.add(upload)
                except Exception as error:
                    # Say, another version wrote its content; that version will follow it.
                    log.error("calendar_not_followed", **upload._asdict(), error=repr(error))
                    left_out.add(upload)
                if is_over():
                    return changed
        if away is not None:
            raise away
        return changed

    def _uploads_but(self, left_out: set[Upload]) -> list[Upload]:
        found = self.calendar_followers.uploads_to_follow(UPLOADS + len(left_out))
        return [upload for upload in found if upload not in left_out]

    def _follow(self, upload: Upload, is_over: Callable[[], bool]) -> tuple[int, bool]:
        """Return how many timers follow, and whether somebody else holds the rest."""
        changed = refused = 0
        is_done = is_held = False
        refused_apart: dict[int, str] = {}
        while not is_done and not is_held and not is_over():
            now = int(self.clock.now_ms())
            page = self.calendar_followers.follow(
                upload,
                PAGE,
                now,
                partial(self._following, now=now),
                self.registrar.firings_of,
                refused_apart,
                over_after(self.clock, LONGEST_HELD_S),
            )
            self.registrar.tell_redis([timer.definition for timer in page.changed], page.pending, now)
            refused_apart = self._one_by_one(upload, page.apart)
            changed += len(page.changed) + len(page.apart) - len(refused_apart)
            refused += len(page.refused)
            is_done, is_held = page.is_done, page.is_held
        log.info(
            "calendar_followed",
            app=upload.app,
            calendar=upload.name,
            timers=changed,
            refused=refused,
            is_done=is_done,
            is_held=is_held,
        )
        return changed, is_held

    def _following(self, timer: Timer, calendar: Calendar, now: int) -> Following | None:
        return self.registrar.replanned(timer, following(timer, calendar), now)

    def _one_by_one(self, upload: Upload, apart: list[Timer]) -> dict[int, str]:
        """Edit timers with unplanned past moments, planning these first. Return those that cannot follow, and why."""
        refused: dict[int, str] = {}
        for timer in apart:
            try:
                self._edit(upload, timer)
            except StoreAway:
                raise
            except UnknownTimer:
                continue
            except Exception as error:
                refused[timer.id] = reason_of(f"it cannot follow calendar {upload.name!r}", error)
        return refused

    def _edit(self, upload: Upload, timer: Timer) -> None:
        calendar = self.calendar_followers.calendar(upload)
        if calendar is not None:
            self.registrar.edit(upload.app, timer.id, lambda timer: following(timer, calendar))
