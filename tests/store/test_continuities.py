"""What numbered timers' calls tell of the firings before them, read from real servers."""

import time
from typing import Any

import pytest

from tests.store.worlds import real_sql
from wangtimer.core.flow.continuity import MOST_LOST, Continuity
from wangtimer.core.flow.firing import WITHDRAWN, Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store.sql.continuities import (
    FEW,
    FIRINGS_A_LONG_STATEMENT,
    FIRINGS_A_STATEMENT,
    ContinuityStore,
)
from wangtimer.store.sql.database import Database

TIMER, OTHER = 7, 8
AT = 1_800_000_000_000
PENDING, SUCCEEDED, FAILED, SKIPPED, ACCEPTED = (
    FiringStatus.PENDING,
    FiringStatus.SUCCEEDED,
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
    FiringStatus.ACCEPTED,
)


def at(minute: int) -> int:
    return AT + minute * MINUTE_MS


class Ground:
    """One timer's firings, one a minute."""

    def __init__(self, database: Database) -> None:
        self.sql, self.store = real_sql(database), ContinuityStore(database, time.monotonic)

    def became(
        self,
        *statuses: FiringStatus,
        timer: int = TIMER,
        kind: FiringKind = FiringKind.SCHEDULED,
        error: str = "",
        first: int = 0,
    ) -> None:
        """Insert firings from the first minute on, with these statuses."""
        minutes = list(enumerate(statuses, first))
        rows = [Firing.planned(timer, at(minute), 0)._replace(kind=kind) for minute, _ in minutes]
        self.sql.insert(rows)
        self.sql.firings.settle(
            [
                Outcome(Member(timer, at(minute), 1), 0, status, at(minute), error=error)
                for minute, status in minutes
                if status is not PENDING
            ]
        )

    def before(self, minute: int, timer: int = TIMER, seq: int | None = 9) -> Continuity:
        row = Firing.planned(timer, at(minute), 0, seq)
        return self.store.before([row])[timer, at(minute)]


@pytest.fixture
def ground(database: Database) -> Ground:
    return Ground(database)


def test_before_the_first_there_is_nothing(ground: Ground) -> None:
    assert ground.store.before([]) == {}
    assert ground.before(3) == (9, None, 0)


def test_a_firing_without_a_number_tells_nothing(ground: Ground) -> None:
    assert ground.store.before([Firing.planned(TIMER, at(3), 0)]) == {}


def test_what_failed_or_was_skipped_since_the_last_success_is_lost(ground: Ground) -> None:
    ground.became(FAILED, SUCCEEDED, FAILED, SUCCEEDED, SKIPPED, FAILED, PENDING, ACCEPTED)
    found = [ground.before(minute)[1:] for minute in range(9)]
    assert found == [
        (None, 0),
        (None, 1),
        (at(1), 0),
        (at(1), 1),
        (at(3), 0),
        (at(3), 1),
        (at(3), 2),
        (at(3), 2),
        (at(3), 2),
    ]


@pytest.mark.parametrize("error", WITHDRAWN)
def test_what_the_owner_took_back_is_not_lost(ground: Ground, error: str) -> None:
    ground.became(SUCCEEDED)
    ground.became(SKIPPED, SKIPPED, error=error, first=1)
    assert ground.before(3)[1:] == (at(0), 0)


def test_a_failure_with_such_a_text_is_one(ground: Ground) -> None:
    ground.became(FAILED, error=WITHDRAWN[0])
    assert ground.before(1)[1:] == (None, 1)


@pytest.mark.parametrize("kind", [FiringKind.MANUAL, FiringKind.BACKFILL])
def test_what_somebody_asked_for_does_not_count(ground: Ground, kind: FiringKind) -> None:
    ground.became(SUCCEEDED, FAILED)
    ground.became(SUCCEEDED, FAILED, kind=kind, first=2)
    assert ground.before(9)[1:] == (at(0), 1)


def test_other_timers_and_later_moments_do_not_count(ground: Ground) -> None:
    ground.became(SUCCEEDED, FAILED, SUCCEEDED)
    ground.became(FAILED, FAILED, FAILED, timer=OTHER)
    assert ground.before(2)[1:] == (at(0), 1)
    assert ground.before(3, OTHER)[1:] == (None, 3)


@pytest.mark.parametrize("lost", [FEW - 1, FEW, FEW + 1, 3 * FEW])
def test_it_looks_as_far_back_as_it_needs(ground: Ground, lost: int) -> None:
    ground.became(SUCCEEDED, *[FAILED] * lost)
    assert ground.before(lost + 1)[1:] == (at(0), lost)
    ground.became(*[SKIPPED] * lost, timer=OTHER)
    assert ground.before(lost, OTHER)[1:] == (None, lost)


def test_it_counts_up_to_a_thousand(ground: Ground) -> None:
    ground.became(SUCCEEDED, *[FAILED] * (MOST_LOST + 5))
    assert ground.before(MOST_LOST)[1:] == (at(0), MOST_LOST - 1)
    assert ground.before(MOST_LOST + 6)[1:] == (None, MOST_LOST)


def test_the_deep_look_is_bounded_by_rows_read_and_not_by_rows_that_count(database: Database) -> None:
    """A backfill may stand before the firing, and its owner may have taken back a dense schedule."""
    ground = Ground(database)
    ground.became(SUCCEEDED, FAILED)
    ground.became(*[SUCCEEDED] * MOST_LOST, kind=FiringKind.BACKFILL, first=2)
    assert ground.before(MOST_LOST + 2)[1:] == (None, 0)
    assert ground.before(MOST_LOST)[1:] == (at(0), 1)


@pytest.mark.parametrize(
    ("lost", "told"),
    [(FEW, (("X-WangTimer-Lost-Since", str(FEW)),)), (2, (("X-WangTimer-Lost-Since", "2"),)), (0, ())],
)
def test_where_many_look_far_back_the_rest_tell_what_was_lost_of_the_last_few(
    database: Database, lost: int, told: tuple[tuple[str, str], ...]
) -> None:
    seconds = iter(range(1_000))
    ground = Ground(database)
    ground.store = ContinuityStore(database, lambda: next(seconds) / 10)
    many = 2 * FIRINGS_A_LONG_STATEMENT * 10
    ground.became(SUCCEEDED, *[PENDING] * (FEW - lost), *[FAILED] * lost)
    rows = [Firing.planned(TIMER, at(FEW + 1) + one, 0, one) for one in range(1, many)]
    found = ground.store.before(rows)
    assert len(found) == many - 1
    counted = [one for one in found.values() if one.last_success_at is not None]
    assert {(one.last_success_at, one.lost) for one in counted} == {(at(0), lost)}
    assert len(counted) == 5 * FIRINGS_A_LONG_STATEMENT
    rest = [one for one in found.values() if one.last_success_at is None]
    assert all(one.headers == (("X-WangTimer-Sequence", str(one.seq)), *told) for one in rest)


def test_the_first_look_takes_nothing_from_the_time_of_the_far_one(database: Database) -> None:
    watch = {"s": 0.0}
    ground = Ground(database)
    ground.store = ContinuityStore(database, lambda: watch["s"])
    read = database.read

    def slowly(*arguments: Any) -> Any:
        watch["s"] += 0.4
        return read(*arguments)

    database.read = slowly  # type: ignore[method-assign]
    ground.became(SUCCEEDED, *[FAILED] * FEW)
    rows = [Firing.planned(TIMER, at(FEW + 1) + one, 0, one) for one in range(1, 2 * FIRINGS_A_STATEMENT)]
    found = ground.store.before(rows)
    assert sum(one.last_success_at is not None for one in found.values()) == 2 * FIRINGS_A_LONG_STATEMENT


def test_a_long_row_of_what_is_under_way_is_not_lost(ground: Ground) -> None:
    ground.became(*[PENDING] * (MOST_LOST + 5))
    assert ground.before(MOST_LOST + 5)[1:] == (None, 0)


def test_many_are_asked_about_at_once(ground: Ground) -> None:
    many = 2 * FIRINGS_A_STATEMENT + 3
    ground.became(*[SUCCEEDED, FAILED] * many)
    rows = [Firing.planned(TIMER, at(minute), 0, minute) for minute in range(1, many)]
    found = ground.store.before(rows)
    assert found == {
        (TIMER, at(one)): Continuity(one, at(one - 1 if one % 2 else one - 2), 0 if one % 2 else 1)
        for one in range(1, many)
    }
