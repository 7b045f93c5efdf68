"""A trial of a rule: a message that says that nothing has happened, and what its destination answers."""

from dataclasses import dataclass, field
from threading import Semaphore

import orjson

from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.alert_messages import AlertMessages

# A rule that was just made is known to callback processes after some 5 s; a call takes up to 15.
PATIENCE_S, LOOK_EVERY_S = 20.0, 0.2
# Requests of a process that wait so at once: each holds a thread, and has a message that others wait behind.
MOST_WAITING = 2


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """What became of it. `is_taken` None: nobody knows yet; `error` says why."""

    is_taken: bool | None
    http_status: int | None = None
    answer: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class AlertTrial:
    """The message goes the way of every message: the API itself calls nobody."""

    messages: AlertMessages
    clock: Clock
    waiting: Semaphore = field(default_factory=lambda: Semaphore(MOST_WAITING))

    def run(self, app: str, rule: str) -> TrialAnswer:
        """Ask for a message, and wait for what becomes of it; raises `UnknownAlertRule`, `StoreAway`."""
        if not self.waiting.acquire(blocking=False):
            return TrialAnswer(None, error=f"other tests are under way; ask again in {PATIENCE_S:.0f} s")
        try:
            return self._awaited(self.messages.ask_test(app, rule, int(self.clock.now_ms())))
        finally:
            self.waiting.release()

    def _awaited(self, message_id: int) -> TrialAnswer:
        ends_at = self.clock.monotonic() + PATIENCE_S
        while True:
            if (answer := self.messages.answer_of(message_id)) is not None:
                self.messages.forget(message_id)
                return TrialAnswer(**orjson.loads(answer))
            if self.clock.monotonic() >= ends_at:
                return TrialAnswer(None, error="no callback process has sent it yet; see whether one runs")
            self.clock.sleep(LOOK_EVERY_S)
