"""The follower of calendars: gives timers the new days of the uploaded calendar they name, many at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from wangtimer.core.errors import StoreAway, UnknownTimer
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.timer import Timer
from wangtimer.in_turn import over_after
from wangtimer.registrar import Registrar, following
from wangtimer.store.sql.calendar_followers import CalendarFollowers, Following, Upload

log = structlog.get_logger()

# Timers one transaction changes at most: so many ordinary ones take some 0.2 s.
PAGE = 500
# One transaction looks at no further timer after this long: it holds their rows.
LONGEST_HELD_S = 0.2
# Uploads looked up at once.
UPLOADS = 10
# One run ends after this long, however much is left; the next sweep asks for another.
LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class CalendarFollower:
    """Goes on where the last run stopped: the timers' rows say what is left. Two at once waste a little work."""

    registrar: Registrar
    followers: CalendarFollowers
    clock: Clock
    send_follow: Callable[[], None]

    def ask(self) -> None:
        """Ask for a run if some calendar is to be followed; raises `StoreAway`."""
        if self.followers.uploads_to_follow(1):
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
        found = self.followers.uploads_to_follow(UPLOADS + len(left_out))
        return [upload for upload in found if upload not in left_out]

    def _follow(self, upload: Upload, is_over: Callable[[], bool]) -> tuple[int, bool]:
        """Return how many timers follow, and whether somebody else holds the rest."""
        changed = refused = 0
        is_done = is_held = False
        refused_apart: dict[int, str] = {}
        while not is_done and not is_held and not is_over():
            now = int(self.clock.now_ms())
            page = self.followers.follow(
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
        """Edit timers with moments that came due unplanned: those are planned first, by the old days.

        Return the timers that cannot follow, and why not.
        """
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
        calendar = self.followers.calendar(upload)
        if calendar is not None:
            self.registrar.edit(upload.app, timer.id, lambda one: following(one, calendar))
