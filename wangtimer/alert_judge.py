"""The judge of alerts: sees what happened to firings, and says what is to be told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.alert_troubles import FIRST_KEY, AlertTroubles, JudgedNotes, LookKey

log = structlog.get_logger()

# Notes of an app that one transaction judges, before the next app has its turn; troubles that one statement looks at.
PAGE = 500
# After so long a run begins no further page of either; the next goes on.
LONGEST_JUDGING_S, LONGEST_LOOK_S = 4.0, 1.0
FORGET_EVERY_S = 60.0
# Of a timer that has failed and never runs again, nothing says that the trouble is over.
REMEMBERED_MS = 7 * DAY_MS
# Whoever asked for a test has its answer within seconds.
TESTS_REMEMBERED_MS = 600_000


@dataclass(slots=True)
class AlertJudge:
    """Two may run at once. While no app has a rule, a run is two statements that find nothing.

    `tell` tells callback processes which hosts are in trouble: they note that those answer.
    """

    troubles: AlertTroubles
    messages: AlertMessages
    clock: Clock
    pace: Pace
    tell: Callable[[], None] = lambda: None
    _behind: LookKey = field(default=FIRST_KEY, init=False)
    _last_app: str | None = field(default=None, init=False)

    def run(self) -> int:
        """Judge what is noted, and look which troubles are over, each for a while; return how many notes there were.

        Raises `StoreAway`.
        """
        judged, are_new = self._judge()
        over, are_gone = self._look()
        if are_new or are_gone:
            self._tell()
        if judged or over:
            log.info("alerts_judged", notes=judged, over=over)
        if self.pace.is_due():
            self.messages.forget_tests(int(self.clock.now_ms()) - TESTS_REMEMBERED_MS)
        return judged

    def _judge(self) -> tuple[int, bool]:
        """Judge a page of each app in turn, and so on; return how many notes, and whether hosts came into trouble."""
        ends_at, judged, are_new = self.clock.monotonic() + LONGEST_JUDGING_S, 0, False
        while True:
            are_left = False
            for app in self._apps_in_turn():
                found = self._judge_page(app)
                judged, are_new = judged + found.notes, are_new or found.are_hosts_changed
                are_left = are_left or found.notes == PAGE
                if self.clock.monotonic() >= ends_at:
                    return judged, are_new
            if not are_left:
                return judged, are_new

    def _judge_page(self, app: str) -> JudgedNotes:
        """Judge a page of an app; what nobody foresaw there holds up no other app, and its notes stay."""
        try:
            return self.troubles.judge(app, PAGE, int(self.clock.now_ms()))
        except StoreAway:
            raise
        except Exception:
            log.exception("alerts_not_judged", app=app)
            return JudgedNotes()

    def _apps_in_turn(self) -> Iterator[str]:
        """Yield each app with notes once, from behind the one that was last."""
        first = self._last_app
        while (app := self.troubles.next_app(self._last_app)) is not None:
            self._last_app = app
            yield app
        self._last_app = None
        while first is not None and (app := self.troubles.next_app(self._last_app)) is not None:
            if app > first:
                return
            self._last_app = app
            yield app

    def _look(self) -> tuple[int, bool]:
        ends_at, over, are_gone = self.clock.monotonic() + LONGEST_LOOK_S, 0, False
        while True:
            now = int(self.clock.now_ms())
            looked = self.troubles.look(self._behind, PAGE, now, now - REMEMBERED_MS)
            over, are_gone = over + looked.over, are_gone or looked.are_hosts_changed
            self._behind = looked.next_key or FIRST_KEY
            if looked.next_key is None or self.clock.monotonic() >= ends_at:
                return over, are_gone

    def _tell(self) -> None:
        try:
            self.tell()
        except StoreAway as error:
            log.info("alerted_apps_left_to_sweep", error=str(error))
