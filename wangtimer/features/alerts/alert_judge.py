"""The judge of alerts: sees what happened to firings, and says what is to be told."""

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from wangtimer.base.in_turn import AppTurns
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.alert_troubles import FIRST_KEY, AlertTroubles, JudgedNotes, LookedAt, LookKey

log = structlog.get_logger()

# Notes of an app that one transaction judges, before the next app has its turn; troubles of it that are looked at.
PAGE = 500
# After so long a run begins no further page of either; the next goes on.
LONGEST_JUDGING_S, LONGEST_LOOK_S = 4.0, 1.0
FORGET_EVERY_S = 60.0
# Of a timer that has failed and never runs again, nothing says that the trouble is over.
REMEMBERED_MS = 7 * DAY_MS
# Whoever asked for a test has its answer within seconds; the next one of its rule may be asked for after ten.
TESTS_REMEMBERED_MS = 60_000


@dataclass(slots=True)
class AlertJudge:
    """Two may run at once. While no app has a rule, a run is two statements that find nothing.

    `tell` tells callback processes which hosts are in trouble: they note that those answer.
    """

    troubles: AlertTroubles
    alert_messages: AlertMessages
    clock: Clock
    pace: Pace
    tell: Callable[[], None]
    _with_notes: AppTurns = field(init=False)
    _with_troubles: AppTurns = field(init=False)
    # Where the look goes on, of apps whose troubles are more than were looked at.
    _behind: dict[str, LookKey] = field(default_factory=dict, init=False)
    _away: StoreAway | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin with the first app."""
        self._with_notes = AppTurns(self.troubles.next_app)
        self._with_troubles = AppTurns(self.troubles.next_troubled)

    def run(self) -> int:
        """Judge what is noted, and look which troubles are over, each for a while; return how many notes there were.

        An app whose turn fails holds up neither other apps nor the rest of the run. Raises `StoreAway` at the end,
        where SQL was away in some turn.
        """
        self._away = None
        judged, are_new = self._judge()
        over, are_gone = self._look()
        if are_new or are_gone:
            self._tell()
        if judged or over:
            log.info("alerts_judged", notes=judged, over=over)
        if self.pace.is_due():
            self.alert_messages.forget_tests(int(self.clock.now_ms()) - TESTS_REMEMBERED_MS)
        if self._away is not None:
            raise self._away
        return judged

    def _judge(self) -> tuple[int, bool]:
        """Judge a page of each app in turn, and so on; return how many notes, and whether hosts came into trouble."""
        ends_at, judged, are_new = self.clock.monotonic() + LONGEST_JUDGING_S, 0, False
        while True:
            are_left = False
            for app in self._with_notes:
                found = self._judge_page(app)
                judged, are_new = judged + found.notes, are_new or found.are_hosts_changed
                are_left = are_left or found.are_left
                if found.without_room:
                    log.warning("alert_troubles_without_room", app=app, troubles=found.without_room)
                if self.clock.monotonic() >= ends_at:
                    return judged, are_new
            if not are_left:
                return judged, are_new

    def _judge_page(self, app: str) -> JudgedNotes:
        try:
            return self.troubles.judge(app, PAGE, int(self.clock.now_ms()))
        except StoreAway as error:
            self._away = error
        except Exception:
            log.exception("alerts_not_judged", app=app)
        return JudgedNotes()

    def _look(self) -> tuple[int, bool]:
        """Look at a page of each app in turn, and so on; return how many troubles were over, and whether hosts were."""
        ends_at, over, are_gone = self.clock.monotonic() + LONGEST_LOOK_S, 0, False
        seen: set[str] = set()
        while True:
            are_left = False
            for app in self._with_troubles:
                if app in seen:
                    continue
                looked = self._look_at(app)
                over, are_gone = over + looked.over, are_gone or looked.are_hosts_changed
                if looked.next_key is None:
                    seen.add(app)
                else:
                    are_left = True
                if self.clock.monotonic() >= ends_at:
                    return over, are_gone
            if not are_left:
                return over, are_gone

    def _look_at(self, app: str) -> LookedAt:
        now = int(self.clock.now_ms())
        try:
            after = self._behind.get(app, FIRST_KEY)
            looked = self.troubles.look(app, after, PAGE, now, now - REMEMBERED_MS)
        except StoreAway as error:
            self._away = error  # the next run goes on at this page
            return LookedAt(0, None)
        except Exception:
            log.exception("alerts_of_app_not_looked_at", app=app)
            self._behind.pop(app, None)
            return LookedAt(0, None)
        if looked.next_key is None:
            self._behind.pop(app, None)
        else:
            self._behind[app] = looked.next_key
        return looked

    def _tell(self) -> None:
        try:
            self.tell()
        except StoreAway as error:
            log.info("alerted_apps_left_to_sweep", error=str(error))
