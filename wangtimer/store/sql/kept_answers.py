"""Answers kept for callers who repeat a request under a key of their own."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.statements import delete_oldest
from wangtimer.store.sql.tables import idempotency

# An answer is replayed for a day; then its key is as good as new.
KEPT_MS = 86_400_000
# A request under way for longer has ended without an answer: its process died, or SQL was away.
LONGEST_REQUEST_MS = 60_000
# While a request is under way, this and its claim's id stand in place of the answer. No answer begins so.
_UNDER_WAY = "under way: "

_KEY = (idempotency.c.app, idempotency.c.idempotency_key)
_KEPT = and_(_KEY[0] == bindparam("of_app"), _KEY[1] == bindparam("key"))
_FIND = select(idempotency.c.body_hash, idempotency.c.answer).where(
    _KEPT, idempotency.c.created_at > bindparam("kept_since")
)
_FORGET_OLD = delete(idempotency).where(_KEPT, idempotency.c.created_at <= bindparam("kept_since"))
_INSERT = insert(idempotency)
_HELD = select(idempotency.c.body_hash, idempotency.c.answer).where(_KEPT)
_CLAIMED = and_(_KEPT, idempotency.c.answer == bindparam("of_claim"))
_CLAIM_AGAIN = update(idempotency).where(
    _KEPT,
    idempotency.c.body_hash == bindparam("of_hash"),
    idempotency.c.answer.startswith(_UNDER_WAY),
    idempotency.c.created_at <= bindparam("abandoned_since"),
)
_FINISH = update(idempotency).where(_CLAIMED)
_RELEASE = delete(idempotency).where(_CLAIMED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request under a key of its app; requests with one `body_hash` are the same."""

    app: str
    key: str
    body_hash: str


@dataclass(frozen=True, slots=True)
class ToKeep:
    """What to keep of a request that makes a timer: `answer` returns the answer, kept in the same transaction."""

    asked: Asked
    answer: Callable[[Timer], str]


@dataclass(frozen=True, slots=True)
class FiringToKeep:
    """What to keep of a request that makes a firing, as `ToKeep` for a timer."""

    asked: Asked
    answer: Callable[[Firing], str]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The request under a key, by its hash, and its answer."""

    body_hash: str
    answer: str

    @property
    def is_under_way(self) -> bool:
        """Whether there is no answer yet."""
        return self.answer.startswith(_UNDER_WAY)


class KeptAnswers(SqlStore):
    """Looks answers up, and forgets those older than a day; `keep_answer` writes them."""

    def find(self, app: str, key: str, now: int) -> KeptAnswer | None:
        """Return what is kept under the app's key; None if nothing is."""
        given = {"of_app": app, "key": key, "kept_since": now - KEPT_MS}
        row = self._database.read(lambda sql: sql.execute(_FIND, given).one_or_none())
        return None if row is None else KeptAnswer(row.body_hash, row.answer)

    def claim(self, asked: Asked, claim_id: str, now: int) -> KeptAnswer | None:
        """Note that a request is under way (`now` in ms UTC), and return None; or return what its key has already.

        A claim of the same request that is older than `LONGEST_REQUEST_MS` is taken over. Repeating the same claim does
        nothing. Raises `StoreAway`.
        """
        mine = _UNDER_WAY + claim_id
        given = {"of_app": asked.app, "key": asked.key}
        abandoned = {"of_hash": asked.body_hash, "abandoned_since": now - LONGEST_REQUEST_MS}

        def work(sql: Connection) -> KeptAnswer | None:
            try:
                keep_answer(sql, asked, mine, now)
            except IntegrityError:
                if sql.execute(_CLAIM_AGAIN.values(answer=mine, created_at=now), given | abandoned).rowcount:
                    return None
                row = sql.execute(_HELD, given).one()
                return None if row.answer == mine else KeptAnswer(row.body_hash, row.answer)
            return None

        return self._database.write(work, FailPoint.SQL_CLAIM_KEY)

    def end_claim(self, asked: Asked, claim_id: str, answer: str | None) -> None:
        """Keep the answer of a request, None: forget it, unless another took its claim over. Raises `StoreAway`."""
        end = _RELEASE if answer is None else _FINISH.values(answer=answer)
        given = {"of_app": asked.app, "key": asked.key, "of_claim": _UNDER_WAY + claim_id}
        self._database.write(lambda sql: sql.execute(end, given), FailPoint.SQL_END_CLAIM)

    def purge(self, now: int, limit: int) -> int:
        """Forget answers older than a day, the oldest `limit` at most; return how many."""
        return self._database.write(
            lambda sql: delete_oldest(sql, idempotency, "created_at", now - KEPT_MS + 1, limit),
            FailPoint.SQL_PURGE_ANSWERS,
            waits_for_locks=False,
        )


def keep_answer(sql: Connection, asked: Asked, answer: str, now: int) -> None:
    """Keep an answer within its change's transaction, after others on its key. Raises `IntegrityError` for a second."""
    sql.execute(_FORGET_OLD, {"of_app": asked.app, "key": asked.key, "kept_since": now - KEPT_MS})
    row = {"app": asked.app, "idempotency_key": asked.key, "body_hash": asked.body_hash}
    sql.execute(_INSERT, row | {"answer": answer, "created_at": now})
