"""What answers make of timers, put on record by hand and done."""

from collections.abc import Mapping

from sqlalchemy import insert

from wangtimer.core.flow.reply_control import ControlKind, ReplyControl
from wangtimer.store.sql.tables import reply_controls
from wangtimer.wiring import Wiring


def apply_controls(wiring: Wiring, controls: Mapping[int, str]) -> None:
    """Do what answers make of timers, by their ids."""
    rows = [{"timer_id": timer_id, "fire_at": 1, "control": text} for timer_id, text in controls.items()]
    wiring.database.write(lambda sql: sql.execute(insert(reply_controls), rows))
    wiring.control_applier.apply()


def stop_gone(wiring: Wiring, called: Mapping[int, tuple[int, int]]) -> None:
    """Do what an answer 410 makes of timers, by their ids with the versions of timer and target that were called."""
    apply_controls(
        wiring,
        {
            timer_id: ReplyControl(own, ControlKind.GONE, target).text
            for timer_id, (own, target) in called.items()
        },
    )
