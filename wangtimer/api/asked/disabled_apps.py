"""Disabling an app disables its timers: what its keys can no longer stop must not go on."""

from itertools import count

from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.timer_lists import TimerFilter
from wangtimer.wiring import Wiring

TIMERS_AT_ONCE = 500
# s; what is left is left to the next request.
LONGEST_S = 5.0


def disable_timers(wiring: Wiring, app: str) -> int:
    """Disable the app's enabled timers, as many as one request may; return how many are still enabled."""
    wanted, after_id = TimerFilter(app, is_enabled=True), 0
    now, ends_at = int(wiring.clock.now_ms()), wiring.clock.monotonic() + LONGEST_S
    for turn in count():
        if turn and (is_over() or wiring.clock.monotonic() > ends_at):
            break
        found = wiring.timer_lists.chosen(wanted, TIMERS_AT_ONCE, now, after_id)
        if not found and not found.bad:
            break
        wiring.batches.disable(list(found.values()))
        if found.bad:
            wiring.batches.disable_unread(list(found.bad))
        after_id = max((*found, *found.bad))
    return wiring.timer_lists.count(wanted, now)
