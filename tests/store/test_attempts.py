"""Every attempt of a firing stays on record, once, and only as it counted."""

from typing import Any

import pytest
from sqlalchemy import event, func, select, text, update

from tests.store.members import outcome_of, row_at
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_lists import AttemptRecord, AttemptStore
from wangtimer.store.sql.firing_rows import keep_attempts
from wangtimer.store.sql.tables import attempts, firings

AT = 1_800_000_000_000
SUCCEEDED, FAILED, SKIPPED, PENDING = (
    FiringStatus.SUCCEEDED,
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
    FiringStatus.PENDING,
)


def attempted(number: int, status: FiringStatus, **fields: Any) -> Outcome:
    """Return the outcome of an attempt sent `number` seconds late; `pending`: another one follows."""
    sent_at = AT + number * 1_000
    measured = {"first_sent_at": sent_at, "lateness_ms": sent_at - AT, "cost_ms": number * 10}
    split = {"connect_ms": number, "first_byte_ms": number * 9, "http_status": 500 + number}
    said = {"output": f"answer {number}", "error": f"error {number}"}
    return outcome_of(Member(1, AT, number), status, sent_at + 500, **(measured | split | said | fields))


def recorded(number: int, status: FiringStatus) -> AttemptRecord:
    """Return what `attempted` leaves on record."""
    return AttemptRecord(
        number,
        status,
        AT + number * 1_000,
        number * 10,
        number,
        number * 9,
        500 + number,
        f"answer {number}",
        f"error {number}",
        AT + number * 1_000,
    )


RETRY_1, RETRY_2 = attempted(1, PENDING), attempted(2, PENDING)
FIRST, SECOND = recorded(1, FAILED), recorded(2, FAILED)


@pytest.fixture
def sql(database: Database) -> SqlWorld:
    world = real_sql(database)
    world.insert([row_at(AT)])
    return world


def found(database: Database) -> list[AttemptRecord]:
    history = AttemptStore(database).history(1, AT)
    assert history is not None
    return history.attempts


def kept(database: Database) -> int:
    """Return how many attempts have a row of their own."""
    return database.read(lambda sql: sql.execute(select(func.count()).select_from(attempts)).scalar_one())


def settle_each(sql: SqlWorld, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        sql.firings.settle([outcome])


def test_a_firing_that_was_not_attempted_has_no_attempts(sql: SqlWorld, database: Database) -> None:
    assert found(database) == []
    assert AttemptStore(database).history(2, AT) is None


@pytest.mark.parametrize("status", [SUCCEEDED, FAILED, SKIPPED])
def test_the_only_attempt_is_in_the_firings_own_row(
    sql: SqlWorld, database: Database, status: FiringStatus
) -> None:
    settle_each(sql, attempted(1, status))
    assert found(database) == [recorded(1, status)]
    assert kept(database) == 0


def test_each_attempt_stays_on_record_and_the_row_has_the_last(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1, RETRY_2, attempted(3, SUCCEEDED))
    assert found(database) == [FIRST, SECOND, recorded(3, SUCCEEDED)]
    assert kept(database) == 2
    history = AttemptStore(database).history(1, AT)
    assert (history.record.first_sent_at, history.record.lateness_ms) == (AT + 1_000, 1_000)


def test_while_a_retry_waits_the_attempt_before_it_is_shown_once(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1)
    assert found(database) == [FIRST]
    settle_each(sql, RETRY_2)
    assert found(database) == [FIRST, SECOND]


def test_what_was_not_sent_says_when_it_was_made(sql: SqlWorld, database: Database) -> None:
    of_none = {"cost_ms": 3, "error": "no connection"}
    unsent = outcome_of(Member(1, AT, 1), PENDING, AT + 5, made_at=AT + 2, **of_none)
    settle_each(sql, unsent)
    nothing = AttemptRecord(1, FAILED, None, 3, None, None, None, "", "no connection", AT + 2)
    assert found(database) == [nothing]
    settle_each(sql, attempted(2, SUCCEEDED))
    assert found(database) == [nothing, recorded(2, SUCCEEDED)]
    history = AttemptStore(database).history(1, AT)
    assert history is not None
    assert (history.record.first_sent_at, history.record.lateness_ms) == (AT + 2_000, 2_000)


def test_a_failure_without_an_attempt_has_no_moment(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, outcome_of(Member(1, AT, 1), FAILED, cost_ms=3, error="no connection"))
    assert found(database) == [AttemptRecord(1, FAILED, None, 3, None, None, None, "", "no connection", None)]


def test_an_attempt_that_is_not_made_any_more_says_why(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1, outcome_of(Member(1, AT, 2), SKIPPED, error="disabled"))
    assert found(database) == [
        FIRST,
        AttemptRecord(2, SKIPPED, None, None, None, None, None, "", "disabled", None),
    ]


def test_settling_again_keeps_nothing_twice(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1, RETRY_1, RETRY_2, RETRY_1, RETRY_2)
    assert found(database) == [FIRST, SECOND]


@pytest.mark.parametrize("first", [attempted(1, SUCCEEDED), attempted(1, FAILED), attempted(1, SKIPPED)])
def test_a_retry_that_comes_after_the_outcome_leaves_nothing(
    sql: SqlWorld, database: Database, first: Outcome
) -> None:
    settle_each(sql, first, RETRY_1._replace(cost_ms=99))
    assert found(database) == [recorded(1, first.status)]
    assert kept(database) == 0


def test_of_two_failures_of_one_attempt_the_first_stays(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1, RETRY_1._replace(cost_ms=99, due_at=AT + 99_000))
    assert found(database) == [FIRST]


def test_an_attempt_the_row_has_not_come_to_leaves_nothing(sql: SqlWorld, database: Database) -> None:
    """SQL went back in time: the attempts are made again, and those count."""
    settle_each(sql, RETRY_2._replace(cost_ms=99))
    assert found(database) == []
    settle_each(sql, RETRY_1, RETRY_2)
    assert found(database) == [FIRST, SECOND]


def test_the_late_success_of_an_overtaken_attempt_comes_after_its_failure(
    sql: SqlWorld, database: Database
) -> None:
    settle_each(sql, RETRY_1, attempted(1, SUCCEEDED))
    first, last = found(database)
    assert first == FIRST
    assert (last.number, last.status, last.output) == (2, SUCCEEDED, "answer 1")


@pytest.mark.parametrize("last", [[], [attempted(3, FAILED)]])
def test_attempts_settled_together_are_all_kept(
    sql: SqlWorld, database: Database, last: list[Outcome]
) -> None:
    sql.firings.settle([RETRY_1, RETRY_2, *last])
    assert found(database) == [FIRST, SECOND, *(recorded(3, FAILED) for _ in last)]


def test_a_retry_whose_row_sql_lost_is_kept(database: Database) -> None:
    real_sql(database).firings.settle([RETRY_1])
    assert found(database) == [FIRST]


def test_what_is_no_longer_waiting_is_not_taken_for_an_attempt_before(database: Database) -> None:
    """SQL lost the row, and with it the first attempt."""
    settle_each(real_sql(database), attempted(2, SUCCEEDED), RETRY_2)
    assert found(database) == [recorded(2, SUCCEEDED)]


def test_many_retries_of_one_batch_are_all_kept(database: Database) -> None:
    sql = real_sql(database)
    rows = [row_at(AT + number % 7, number) for number in range(1, 1_002)]
    sql.insert(sorted(rows, key=lambda row: (row.fire_at, row.timer_id)))
    sql.firings.settle([outcome_of(row.member, PENDING, AT + 9_000) for row in rows])
    assert kept(database) == 1_001


def test_long_and_strange_texts_are_kept_as_the_row_has_them(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, RETRY_1._replace(output="🙂%s\x00'" * 1_000, error="钟" * 300))
    (first,) = found(database)
    assert first.output == ("🙂%s\x00'" * 1_000)[:1_024]
    assert first.error == "钟" * 255


def test_a_batch_without_retries_is_one_statement(sql: SqlWorld, database: Database) -> None:
    seen: list[str] = []

    def see(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.extend([statement] if statement.startswith("INSERT") else [])

    event.listen(database.engine, "before_cursor_execute", see)
    settle_each(sql, attempted(1, SUCCEEDED))
    assert len(seen) == 1
    settle_each(sql, RETRY_1)
    assert len(seen) == 3


# what a replay keeps


def replay(database: Database, attempt: int) -> None:
    """Keep the last attempt, and let the firing wait for another one."""

    def work(sql: Any) -> None:
        keep_attempts(sql, [(1, AT), (2, AT)])
        sql.execute(update(firings).values(status="pending", attempt=attempt))

    database.write(work)


@pytest.mark.parametrize("status", [SUCCEEDED, FAILED, SKIPPED])
def test_a_replayed_firings_last_attempt_is_kept_as_it_ended(
    sql: SqlWorld, database: Database, status: FiringStatus
) -> None:
    settle_each(sql, RETRY_1, attempted(2, status))
    replay(database, 3)
    assert found(database) == [FIRST, recorded(2, status)]
    settle_each(sql, attempted(3, PENDING), attempted(4, FAILED))
    assert found(database) == [FIRST, recorded(2, status), recorded(3, FAILED), recorded(4, FAILED)]


def test_keeping_twice_is_keeping_once(sql: SqlWorld, database: Database) -> None:
    settle_each(sql, attempted(1, FAILED))
    database.write(lambda connection: [keep_attempts(connection, [(1, AT)]) for _ in range(2)])
    # As whoever reads between a replay's two writes may see it.
    assert found(database) == [recorded(1, FAILED)]
    replay(database, 2)
    assert found(database) == [recorded(1, FAILED)]


def test_a_firing_that_waits_or_was_cancelled_has_no_last_attempt_to_keep(
    sql: SqlWorld, database: Database
) -> None:
    sql.insert([row_at(AT, 2)])
    database.write(
        lambda connection: connection.execute(
            update(firings).where(firings.c.timer_id == 2).values(status="skipped", attempt=0)
        )
    )
    history = AttemptStore(database).history(2, AT)
    assert history is not None
    assert history.attempts == []
    database.write(lambda connection: keep_attempts(connection, [(1, AT), (2, AT)]))
    database.write(lambda connection: keep_attempts(connection, []))
    assert kept(database) == 0


# purge


def test_a_purged_firings_attempts_go_with_it_and_others_stay(sql: SqlWorld, database: Database) -> None:
    later = [row_at(AT + 1, 1), row_at(AT + 1, 2), row_at(AT + 2, 1)]
    sql.insert(later)
    retries = [outcome_of(row.member, PENDING, AT + 9_000) for row in later]
    settle_each(sql, RETRY_1, attempted(2, SUCCEEDED), *retries)
    settle_each(sql, outcome_of(Member(2, AT + 1, 2)), outcome_of(Member(1, AT + 2, 2)))
    assert kept(database) == 4
    assert sql.firings.purge(AT + 2, 9).rows == 2
    remaining = select(attempts.c.fire_at, attempts.c.timer_id).order_by(attempts.c.fire_at)
    rows = database.read(lambda connection: connection.execute(remaining).all())
    assert [tuple(row) for row in rows] == [(AT + 1, 1), (AT + 2, 1)]


# rows as planned


def test_outcomes_are_written_in_place(mariadb: Database) -> None:
    """A page that planning filled is not split for each outcome written into it."""
    world = real_sql(mariadb)
    planned = [row_at(AT, timer_id) for timer_id in range(1, 8_001)]
    mariadb.write(lambda it: it.exec_driver_sql("SET GLOBAL innodb_monitor_enable = 'index_page_splits'"))
    before = page_splits(mariadb)
    world.insert(planned)
    by_planning = page_splits(mariadb) - before
    sent = {"first_sent_at": AT + 3, "lateness_ms": 3, "connect_ms": 0, "first_byte_ms": 1, "cost_ms": 1}
    world.firings.settle([outcome_of(row.member, http_status=200, **sent) for row in planned])
    by_settling = page_splits(mariadb) - before - by_planning
    # The index over the status grows at another place all the same.
    assert by_settling < by_planning / 3, (by_settling, by_planning)


def page_splits(mariadb: Database) -> int:
    query = text("SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'index_page_splits'")
    return mariadb.read(lambda it: int(it.execute(query).scalar_one()))
