"""What features write with the outcomes of firings, in the transaction that settles them."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.alert_notes import note_outcomes
from wangtimer.store.sql.dead_letters import keep_dead_letters
from wangtimer.store.sql.reply_controls import keep_controls

# Each is given outcomes that were just written, at most one of a firing where attempts follow some of them. It is
# repeatable, and has no statement for outcomes that are not its own.
ON_SETTLED: tuple[Callable[[Connection, Sequence[Outcome]], None], ...] = (
    keep_dead_letters,
    note_outcomes,
    keep_controls,
)
