"""The app stopper: stops what a disabled app still makes.

A process believes a key for some seconds. So timers and firings can be made after the app was disabled, and no key of
the app can stop them any more.
"""

from dataclasses import dataclass, field

import structlog

from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.timer_lists import TimerFilter, TimerLists
from wangtimer.timers.batches import Batches

log = structlog.get_logger()

# ms. So long after an app was disabled its keys are refused everywhere.
KEYS_COUNT_MS = 5_000
# ms. So long after it every request that such a key was good for has ended, one whose body came slowly too.
REQUESTS_END_MS = 60_000
# Timers one transaction changes.
PAGE = 500
# s. What is left is left to the next sweep.
LONGEST_S = 10.0


@dataclass(slots=True)
class AppStopper:
    """Two at once waste work, and harm nothing. An app that is done is not looked at again by this process."""

    apps: AppStore
    timer_lists: TimerLists
    batches: Batches
    clock: Clock
    _done: set[tuple[str, int]] = field(default_factory=set, init=False)

    def sweep(self) -> None:
        """Stop what disabled apps have made since they were disabled. Raises `StoreAway`."""
        ends_at = self.clock.monotonic() + LONGEST_S
        disabled = set(self.apps.disabled().items())
        self._done &= disabled
        for app, disabled_at in sorted(disabled - self._done):
            age_ms = int(self.clock.now_ms()) - disabled_at
            if age_ms < KEYS_COUNT_MS:
                continue
            is_settled = age_ms >= REQUESTS_END_MS
            before = disabled_at + (REQUESTS_END_MS if is_settled else KEYS_COUNT_MS)
            self._disable(app, ends_at)
            if self.stop_demands(app, before, ends_at) and is_settled:
                self._done.add((app, disabled_at))

    def stop_demands(self, app: str, before: int, ends_at: float) -> bool:
        """Stop the firings that were asked for of disabled timers, where none was stopped since `before` (ms UTC).

        Return False where `ends_at`, on the stop-watch of this process, came first. Raises `StoreAway`.
        """
        after_id: int | None = 0
        while after_id is not None:
            if self.clock.monotonic() > ends_at:
                return False
            after_id = self.batches.timer_batches.stop_demands(
                app, before, int(self.clock.now_ms()), after_id, PAGE
            )
        return True

    def _disable(self, app: str, ends_at: float) -> None:
        """Disable the app's enabled timers, until `ends_at`."""
        wanted, after_id = TimerFilter(app, is_enabled=True), 0
        while self.clock.monotonic() <= ends_at:
            found = self.timer_lists.chosen(wanted, PAGE, int(self.clock.now_ms()), after_id)
            if not found and not found.bad:
                return
            self.batches.disable(list(found.values()))
            if found.bad:
                self.batches.disable_unread(list(found.bad))
            log.info("timers_of_disabled_app_disabled", app=app, timers=len(found))
            after_id = max((*found, *found.bad))
