"""A trial of a rule: a message that says that nothing has happened, and what its destination answers."""

from dataclasses import dataclass, field
from threading import Lock, Semaphore

import orjson

from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.alert_messages import BETWEEN_MS, AlertMessages

# A rule that was just made is known to callback processes after some 5 s; a call takes up to 15.
PATIENCE_S, LOOK_EVERY_S = 20.0, 0.2
# Requests of a process that wait so at once, one of an app: each holds a thread.
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

    alert_messages: AlertMessages
    clock: Clock
    waiting: Semaphore = field(default_factory=lambda: Semaphore(MOST_WAITING))
    _apps: set[str] = field(default_factory=set, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def run(self, app: str, rule: str) -> TrialAnswer:
        """Ask for a message, and wait for what becomes of it; raises `UnknownAlertRule`, `StoreAway`."""
        if not self._begin(app):
            reason = f"another test of this app is under way; ask again in {PATIENCE_S:.0f} s"
            return TrialAnswer(None, error=reason)
        try:
            return self._run(app, rule)
        finally:
            with self._lock:
                self._apps.remove(app)

    def _begin(self, app: str) -> bool:
        with self._lock:
            if app in self._apps:
                return False
            self._apps.add(app)
            return True

    def _run(self, app: str, rule: str) -> TrialAnswer:
        if not self.waiting.acquire(blocking=False):
            return TrialAnswer(None, error=f"other tests are under way; ask again in {PATIENCE_S:.0f} s")
        try:
            message_id = self.alert_messages.ask_test(app, rule, int(self.clock.now_ms()))
            if message_id is None:
                seconds = BETWEEN_MS // 1_000
                return TrialAnswer(
                    None, error=f"it was tried less than {seconds} s ago; ask again in {seconds} s"
                )
            return self._awaited(message_id)
        finally:
            self.waiting.release()

    def _awaited(self, message_id: int) -> TrialAnswer:
        ends_at = self.clock.monotonic() + PATIENCE_S
        while True:
            if (answer := self.alert_messages.answer_of(message_id)) is not None:
                return TrialAnswer(**orjson.loads(answer))
            if self.clock.monotonic() >= ends_at:
                return TrialAnswer(None, error="no callback process has sent it yet; see whether one runs")
            self.clock.sleep(LOOK_EVERY_S)
