"""The judge of alerts: sees what happened to firings, and says what is to be told."""

from dataclasses import dataclass, field

import structlog

from wangtimer.core.flow.pace import Pace
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.alert_troubles import FIRST_KEY, AlertTroubles

log = structlog.get_logger()

# Notes that one transaction judges, and troubles that one statement looks at.
PAGE = 500
# After so long a sweep begins no further page of either; the next goes on.
LONGEST_JUDGING_S, LONGEST_LOOK_S = 2.0, 1.0
FORGET_EVERY_S = 60.0
# Of a timer that has failed and never runs again, nothing says that the trouble is over.
REMEMBERED_MS = 7 * DAY_MS
# Whoever asked for a test has its answer within seconds.
TESTS_REMEMBERED_MS = 600_000


@dataclass(slots=True)
class AlertJudge:
    """Two may run at once. While no app has a rule, a sweep is two statements that find nothing."""

    troubles: AlertTroubles
    messages: AlertMessages
    clock: Clock
    pace: Pace
    _behind: tuple[str, str, int, str] = field(default=FIRST_KEY, init=False)

    def sweep(self) -> int:
        """Judge what is noted, and look which troubles are over, each for a while; return how many notes there were.

        Raises `StoreAway`.
        """
        judged = self._judge()
        over = self._look()
        if judged or over:
            log.info("alerts_judged", notes=judged, over=over)
        if self.pace.is_due():
            self.messages.forget_tests(int(self.clock.now_ms()) - TESTS_REMEMBERED_MS)
        return judged

    def _judge(self) -> int:
        ends_at, judged = self.clock.monotonic() + LONGEST_JUDGING_S, 0
        while True:
            number = self.troubles.judge(PAGE, int(self.clock.now_ms()))
            judged += number
            if number < PAGE or self.clock.monotonic() >= ends_at:
                return judged

    def _look(self) -> int:
        ends_at, over = self.clock.monotonic() + LONGEST_LOOK_S, 0
        while True:
            now = int(self.clock.now_ms())
            looked = self.troubles.look(self._behind, PAGE, now, now - REMEMBERED_MS)
            over += looked.over
            self._behind = looked.next_key or FIRST_KEY
            if looked.next_key is None or self.clock.monotonic() >= ends_at:
                return over
