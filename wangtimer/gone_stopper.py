"""The gone stopper: disables timers whose target answered 410 Gone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog

from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import Conflict, UnknownTimer
from wangtimer.in_turn import do_in_turn
from wangtimer.registrar import Registrar
from wangtimer.store.sql.timer_lists import TimerLists

log = structlog.get_logger()

# As the audit names who did it.
CALLER = Caller(None, "the target answered 410", None, frozenset(), "")


@dataclass(frozen=True, slots=True)
class GoneStopper:
    """Repeatable: who is disabled stays so. A timer that was changed since its call is left alone."""

    lists: TimerLists
    registrar: Registrar

    def stop(self, versions: Mapping[int, int]) -> None:
        """Disable each timer, given by its id with the version whose call was answered. Raises `StoreAway`.

        What fails for one timer holds up no other.
        """
        apps = self.lists.apps_of(versions)
        do_in_turn(
            *(partial(self._stop, app, timer_id, versions[timer_id]) for timer_id, app in apps.items())
        )

    def _stop(self, app: str, timer_id: int, version: int) -> None:
        try:
            with calling(CALLER):
                self.registrar.disable(app, timer_id, version)
        except (Conflict, UnknownTimer) as error:
            log.info("gone_timer_left", app=app, timer=timer_id, reason=str(error))
        else:
            log.warning("gone_timer_disabled", app=app, timer=timer_id)
