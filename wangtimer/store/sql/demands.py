"""Firings that somebody asks for: fire now, replay, cancel, or backfill a range that is past."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action
from wangtimer.core.errors import Conflict, Subject
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import CANCELLED, Firing, FiringKind, FiringStatus
from wangtimer.core.retry import first_of_replay
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.audit import acts_on, note_changes
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.dead_letters import forget_dead_letters
from wangtimer.store.sql.firing_rows import keep_attempts, planned_row, replaying
from wangtimer.store.sql.firings import FiringRecord, insert_missing, locked_rows, record_of
from wangtimer.store.sql.firings_to_cancel import forget_to_cancel
from wangtimer.store.sql.kept_answers import FiringToKeep, keep_answer
from wangtimer.store.sql.statements import by_index
from wangtimer.store.sql.tables import firings
from wangtimer.store.sql.timers import change, locked_timer

# A firing asked for now gets the first free one of so many milliseconds.
TRIED_MS = 1_000
# Firings one transaction replays at most; SQLite takes no statement of more than a thousand conditions.
REPLAYS_A_TRANSACTION = 500


@dataclass(frozen=True, slots=True)
class Replay:
    """A firing as it was read, when it is due again, and when that was asked for (ms UTC).

    `bucket` None: the one that it had. `is_purged`: its row is past its retention, and is made anew.
    """

    was: Firing
    due_at: int
    asked_at: int
    bucket: int | None = None
    is_purged: bool = False

    @property
    def firing(self) -> Firing:
        """The firing as it then stands: asked for, so that its timer's schedule does not matter, nor being enabled."""
        kind = FiringKind.MANUAL if self.was.kind is FiringKind.SCHEDULED else self.was.kind
        attempt = first_of_replay(self.was.attempt)
        asked = self.was._replace(kind=kind, status=FiringStatus.PENDING, due_at=self.due_at, attempt=attempt)
        bucket = self.was.bucket if self.bucket is None else self.bucket
        return asked._replace(asked_at=self.asked_at, bucket=bucket, lane="")


class DemandStore(SqlStore):
    """Rows that no plan makes; each insert locks the row of its timer."""

    def fire_now(
        self, app: str, timer_id: int, now: int, bucket: int, keep: FiringToKeep | None = None
    ) -> tuple[Timer, Firing]:
        """Insert a firing at the timer's first free millisecond from `now` (ms UTC) on, and keep its answer.

        Repeating it makes no second one. Raises `UnknownTimer`, `StoreAway`, and `Conflict` after `TRIED_MS` firings in
        one second, or if the answer's key is used.
        """
        made: Firing | None = None

        def work(sql: Connection) -> tuple[Timer, Firing]:
            nonlocal made
            timer = locked_timer(sql, app, timer_id)
            taken = _moments_held(sql, timer_id, range(now, now + TRIED_MS))
            if made is None or made.fire_at not in taken:
                at = free_moment(timer, taken, now)
                asked = Firing(timer_id, at, bucket, FiringKind.MANUAL, due_at=at, asked_at=now)
                insert_missing(sql, [asked])
                note_changes(sql, now, acts_on(Action.FIRE, app, [asked], [None], timer.name))
                if keep is not None:
                    keep_answer(sql, keep.asked, keep.answer(asked), now)
                # A repeat may find this firing applied, if the answer to its commit was lost.
                made = asked
            return timer, made

        try:
            return self._database.write(work, FailPoint.SQL_FIRE_NOW)
        except IntegrityError:
            # Only the answer's key can clash: the insert ignores firings that exist.
            raise Conflict("", "its key has an answer by now", "repeat the request") from None

    def replay(self, app: str, replays: Sequence[Replay]) -> list[Firing]:
        """Let firings of an app wait for one more attempt, in one transaction; return those that do.

        Firings that changed since they were read are left out. At most `REPLAYS_A_TRANSACTION`, sorted by key.
        Repeating it is harmless. Raises `StoreAway`.
        """

        def work(sql: Connection) -> list[Firing]:
            held = locked_rows(sql, [replay.was.member for replay in replays])
            # A firing that already stands as wanted is of a first try, whose answer was lost.
            found = {
                replay: held.get(replay.was.member.key, replay.was if replay.is_purged else None)
                for replay in replays
            }
            standing = [replay for replay in replays if found[replay] in (replay.was, replay.firing)]
            to_do = [replay for replay in standing if found[replay] == replay.was]
            to_write = [replay.firing for replay in to_do]
            keep_attempts(sql, [firing.member.key for firing in to_write])
            replaying(sql.dialect).run(sql, to_write, planned_row)
            forget_dead_letters(sql, [firing.member.key for firing in to_write])
            forget_to_cancel(sql, [firing.member.key for firing in to_write])
            old = [replay.was.status.value for replay in to_do]
            note_changes(sql, replays[0].asked_at, acts_on(Action.REPLAY, app, to_write, old))
            return [replay.firing for replay in standing]

        return self._database.write(work, FailPoint.SQL_REPLAY) if replays else []

    def cancel(
        self, app: str, timer_id: int, fire_at: int, now: int, leave_out: Callable[[Timer], Timer]
    ) -> tuple[Timer, FiringRecord]:
        """Skip one coming firing, planned or not, and let its timer's schedule leave it out.

        `leave_out` gets the timer as it stands and may raise to refuse. Cancelling again changes nothing. Raises
        `Conflict` if the firing has its outcome or is being retried, `UnknownTimer`, `StoreAway`, and what `leave_out`
        raises.
        """
        key = and_(firings.c.fire_at == fire_at, firings.c.timer_id == timer_id)
        query = select(firings).where(key)

        def work(sql: Connection) -> tuple[Timer, FiringRecord]:
            timer = locked_timer(sql, app, timer_id)
            row = sql.execute(query.with_for_update()).mappings().one_or_none()
            held = None if row is None else record_of(row)
            if held is not None and held.is_cancelled:
                return timer, held
            refuse_begun(held)
            revised = leave_out(timer)
            if revised != timer:
                timer = change(sql, revised, now, timer.definition.status, was=timer)
            skipped = {"status": FiringStatus.SKIPPED.value, "attempt": 0, "error": CANCELLED}
            if held is not None:
                sql.execute(update(firings).where(key).values(skipped))
            else:
                place = {"fire_at": fire_at, "timer_id": timer_id, "bucket": 0, "due_at": fire_at}
                sql.execute(insert(firings), place | {"kind": FiringKind.SCHEDULED.value} | skipped)
            record = record_of(sql.execute(query).mappings().one())
            old = None if held is None else held.firing.status.value
            note_changes(sql, now, acts_on(Action.CANCEL, app, [record.firing], [old], timer.name))
            return timer, record

        return self._database.write(work, FailPoint.SQL_CANCEL)

    def missing(self, timer_id: int, moments: Sequence[int]) -> int:
        """Return how many of these moments (ms UTC, ascending) have no row. Raises `StoreAway`."""
        if not moments:
            return 0
        within = range(moments[0], moments[-1] + 1)
        held = self._database.read(lambda sql: _moments_held(sql, timer_id, within))
        return sum(moment not in held for moment in moments)

    def backfill(
        self,
        app: str,
        timer_id: int,
        moments: Sequence[int],
        now: int,
        arrange: Callable[[list[int]], list[Firing]],
    ) -> tuple[list[Firing], list[Firing]]:
        """Insert firings for the moments (ms UTC, ascending) that have no row; return them, and which of them wait.

        `arrange` gets those moments and returns their firings, each with due moment and bucket. Repeating it is
        harmless. Raises `UnknownTimer`, `StoreAway`.
        """
        made: list[Firing] | None = None

        def work(sql: Connection) -> tuple[list[Firing], list[Firing]]:
            nonlocal made
            timer = locked_timer(sql, app, timer_id)
            held = _moments_held(sql, timer_id, range(moments[0], moments[-1] + 1))
            if made is None:
                made = arrange([moment for moment in moments if moment not in held])
            # A first try, whose answer was lost, may have inserted them.
            new = [firing for firing in made if firing.fire_at not in held]
            pending = insert_missing(sql, made)
            note_changes(sql, now, acts_on(Action.BACKFILL, app, new, [None] * len(new), timer.name))
            return made, pending

        return self._database.write(work, FailPoint.SQL_BACKFILL) if moments else ([], [])


def free_moment(timer: Timer, taken: set[int], now: int) -> int:
    """Return the first ms from `now` on that is neither taken nor a moment of the schedule."""
    schedule = timer.definition.schedule
    for moment in range(now, now + TRIED_MS):
        if moment not in taken and not schedule.matches(moment):
            return moment
    raise Conflict(
        "id",
        f"this timer was fired {TRIED_MS} times within a second",
        "try again in a second",
        about=Subject.TIMER,
    )


def _moments_held(sql: Connection, timer_id: int, within: range) -> set[int]:
    between = firings.c.fire_at.between(within.start, within.stop - 1)
    query = select(firings.c.fire_at).where(firings.c.timer_id == timer_id, between)
    return set(sql.execute(by_index(query, "firing_of_timer")).scalars())


def refuse_begun(held: FiringRecord | None) -> None:
    """Raise `Conflict` for a firing that has its outcome, is accepted, or waits for another attempt."""
    if held is None:
        return
    if held.firing.status is FiringStatus.ACCEPTED:
        raise Conflict(
            "fireAt",
            "its target has accepted this firing, and works on it",
            "its :ack or :nack ends it, or the end of its ackTimeout",
            about=Subject.FIRING,
        )
    if held.firing.status is not FiringStatus.PENDING:
        outcome = held.firing.status.value
        raise Conflict(
            "fireAt",
            f"this firing has its outcome already: {outcome}",
            "see its record",
            about=Subject.FIRING,
        )
    if held.firing.attempt > 1:
        raise Conflict(
            "fireAt",
            "this firing has begun, and waits for another attempt",
            "disable the timer to stop it",
            about=Subject.FIRING,
        )
