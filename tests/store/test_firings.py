"""Firings in SQL: what an outcome may change, what is pending, and in what pages it is read."""

import pytest

from tests.store.members import outcome_of, row_at
from tests.store.worlds import SqlWorld
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import MINUTE_MS, Slice
from wangtimer.core.flow.tally import ID_MODULUS, Tally
from wangtimer.store.sql.firings import FiringRecord

AT = 1_800_000_000_000
ROW = row_at(AT)
FIRST, SECOND, THIRD = (Member(1, AT, attempt) for attempt in (1, 2, 3))
SUCCEEDED, FAILED, SKIPPED, PENDING = (
    FiringStatus.SUCCEEDED,
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
    FiringStatus.PENDING,
)
SUCCESS = outcome_of(
    FIRST, first_sent_at=AT + 3, lateness_ms=3, cost_ms=12, http_status=200, output="ok", error=""
)
FAILURE = outcome_of(
    FIRST, FAILED, first_sent_at=AT + 4, lateness_ms=4, cost_ms=90, http_status=500, error="HTTP 500"
)
RETRY = FAILURE._replace(status=PENDING, due_at=AT + 5_000)


def record(sql: SqlWorld, timer_id: int = 1) -> FiringRecord:
    (only,) = sql.firings.records(timer_id, 9)
    return only


def settled(sql: SqlWorld, *outcomes: Outcome) -> FiringRecord:
    """Insert the firing unless it stands, settle each outcome by itself, return its record."""
    sql.insert([ROW])
    for outcome in outcomes:
        sql.firings.settle([outcome])
    return record(sql)


# planned rows


def test_inserted_firings_wait(sql: SqlWorld) -> None:
    planned = [row_at(AT + number * 1_000, timer_id) for number in range(3) for timer_id in (1, 2)]
    assert sorted(sql.insert(planned), key=str) == sorted(planned, key=str)
    assert sql.firings.pending_between(0, AT * 2, 99) == planned
    assert sql.insert([]) == []


def test_a_planned_firing_was_never_sent_and_measured_nothing(sql: SqlWorld) -> None:
    assert settled(sql) == FiringRecord(ROW, None, None, None, None, "", "")


def test_inserting_again_changes_nothing_and_tells_what_waits(sql: SqlWorld) -> None:
    sql.insert([ROW])
    assert sql.insert([ROW]) == [ROW]
    assert sql.firings.pending_between(0, AT, 9) == [ROW]


def test_the_bucket_a_row_has_wins(sql: SqlWorld) -> None:
    sql.insert([ROW._replace(bucket=3)])
    assert sql.insert([ROW._replace(bucket=5)]) == [ROW._replace(bucket=3)]


def test_a_row_with_an_outcome_does_not_wait_again(sql: SqlWorld) -> None:
    settled(sql, SUCCESS)
    other = row_at(AT, 2)
    assert sql.insert([ROW, other]) == [other]


def test_a_row_that_went_on_waits_where_it_stands(sql: SqlWorld) -> None:
    settled(sql, RETRY)
    assert sql.insert([ROW]) == [ROW._replace(attempt=2, due_at=AT + 5_000)]


def test_only_what_was_planned_is_returned_not_what_lies_between(sql: SqlWorld) -> None:
    sql.insert([row_at(AT, 1), row_at(AT + 1, 1), row_at(AT + 2, 2)])
    planned = [row_at(AT, 1), row_at(AT + 1, 2), row_at(AT + 2, 2)]
    assert sql.insert(planned) == planned


@pytest.mark.parametrize("kind", FiringKind)
def test_the_kind_of_a_firing_is_kept(sql: SqlWorld, kind: FiringKind) -> None:
    row = ROW._replace(kind=kind)
    sql.insert([row])
    sql.firings.settle([RETRY])
    assert record(sql).firing == row._replace(attempt=2, due_at=AT + 5_000)


def test_more_rows_than_a_statement_takes_are_all_inserted_and_settled(sql: SqlWorld) -> None:
    planned = [row_at(AT, timer_id) for timer_id in range(1, 4_502)]
    sql.insert(planned[::7])
    assert len(sql.insert(planned)) == 4_501
    sql.firings.settle([outcome_of(row.member) for row in planned])
    assert sql.firings.pending_between(0, AT, 9) == []


# settle: which outcome counts


def test_an_outcome_is_recorded(sql: SqlWorld) -> None:
    after = ROW._replace(status=SUCCEEDED)
    assert settled(sql, SUCCESS) == FiringRecord(after, AT + 3, 3, 12, 200, "ok", "")


def test_how_long_its_host_was_failing_is_recorded_with_each_outcome(sql: SqlWorld) -> None:
    assert settled(sql, RETRY._replace(host_failing_ms=4_000)).host_failing_ms == 4_000
    again = outcome_of(RETRY.member._replace(attempt=2), SUCCEEDED)
    assert settled(sql, again).host_failing_ms is None


def test_a_skipped_firing_says_why_and_was_never_sent(sql: SqlWorld) -> None:
    after = ROW._replace(status=SKIPPED)
    skipped = outcome_of(FIRST, SKIPPED, error="disabled")
    assert settled(sql, skipped) == FiringRecord(after, None, None, None, None, "", "disabled")


@pytest.mark.parametrize("outcome", [SUCCESS, FAILURE, RETRY, outcome_of(FIRST, SKIPPED, error="x")])
def test_settling_twice_is_harmless(sql: SqlWorld, outcome: Outcome) -> None:
    standing = settled(sql, outcome)
    assert settled(sql, outcome) == standing


@pytest.mark.parametrize(
    "late", [FAILURE, RETRY, outcome_of(FIRST, SKIPPED), outcome_of(SECOND, FAILED), outcome_of(THIRD)]
)
def test_nothing_overwrites_a_success(sql: SqlWorld, late: Outcome) -> None:
    standing = settled(sql, SUCCESS)
    assert settled(sql, late) == standing


@pytest.mark.parametrize("late", [SUCCESS, RETRY, outcome_of(SECOND)])
def test_the_first_outcome_stays(sql: SqlWorld, late: Outcome) -> None:
    standing = settled(sql, FAILURE)
    assert settled(sql, late) == standing


def test_a_retry_moves_the_moment_and_the_attempt(sql: SqlWorld) -> None:
    after = settled(sql, RETRY)
    assert after.firing == ROW._replace(attempt=2, due_at=AT + 5_000)
    assert (after.http_status, after.error, after.cost_ms) == (500, "HTTP 500", 90)
    assert RETRY.retry_firing() == after.firing


@pytest.mark.parametrize(
    "late", [FAILURE, RETRY, RETRY._replace(due_at=AT + 9_000), outcome_of(FIRST, SKIPPED)]
)
def test_an_overtaken_attempt_that_did_not_succeed_changes_nothing(sql: SqlWorld, late: Outcome) -> None:
    standing = settled(sql, RETRY)
    assert settled(sql, late) == standing


def test_the_success_of_an_overtaken_attempt_counts_while_the_next_one_waits(sql: SqlWorld) -> None:
    after = settled(sql, RETRY, SUCCESS._replace(cost_ms=7))
    assert after.firing == ROW._replace(status=SUCCEEDED, attempt=2, due_at=SUCCESS.due_at)
    assert (after.http_status, after.output, after.cost_ms) == (200, "ok", 7)


@pytest.mark.parametrize("early", [outcome_of(SECOND), outcome_of(SECOND, FAILED)])
def test_an_attempt_the_row_has_not_come_to_changes_nothing(sql: SqlWorld, early: Outcome) -> None:
    """SQL went back in time: the sweep starts over from where the row stands."""
    standing = settled(sql)
    assert settled(sql, early) == standing


def test_a_firing_goes_through_its_attempts_to_its_end(sql: SqlWorld) -> None:
    again = RETRY._replace(member=SECOND, due_at=AT + 9_000, first_sent_at=AT + 5_001, lateness_ms=5_001)
    last = outcome_of(THIRD, FAILED, first_sent_at=AT + 9_001, lateness_ms=9_001, http_status=503, cost_ms=1)
    after = settled(sql, RETRY, again, last)
    assert (after.firing.status, after.firing.attempt) == (FAILED, 3)
    assert (after.first_sent_at, after.lateness_ms) == (AT + 4, 4)
    assert (after.http_status, after.cost_ms) == (503, 1)


def test_the_first_send_of_a_retried_firing_may_be_the_second_attempts(sql: SqlWorld) -> None:
    unsent = outcome_of(FIRST, PENDING, AT + 1_000)
    second = outcome_of(SECOND, first_sent_at=AT + 1_001, lateness_ms=1_001)
    after = settled(sql, unsent, second)
    assert (after.first_sent_at, after.lateness_ms) == (AT + 1_001, 1_001)


def test_two_attempts_settled_together_count_in_their_order(sql: SqlWorld) -> None:
    sql.insert([ROW])
    sql.firings.settle([RETRY, outcome_of(SECOND, http_status=204)])
    after = record(sql)
    assert (after.firing.status, after.firing.attempt, after.http_status) == (SUCCEEDED, 2, 204)


def test_many_outcomes_are_settled_each_by_its_own_rule(sql: SqlWorld) -> None:
    sql.insert([row_at(AT, timer_id) for timer_id in range(1, 6)])
    done, gone_on = Member(1, AT, 1), Member(2, AT, 1)
    sql.firings.settle([outcome_of(done), outcome_of(gone_on, PENDING, AT + 9)])
    sql.firings.settle([outcome_of(Member(timer_id, AT, 1), FAILED, error="late") for timer_id in (3, 2, 1)])
    found = sql.firings.rows([Member(timer_id, AT, 1) for timer_id in range(1, 6)])
    assert [found[timer_id, AT].status for timer_id in range(1, 6)] == [
        SUCCEEDED,
        PENDING,
        FAILED,
        PENDING,
        PENDING,
    ]


def test_an_outcome_whose_row_sql_lost_is_recorded_all_the_same(sql: SqlWorld) -> None:
    sql.firings.settle([SUCCESS])
    assert record(sql) == FiringRecord(ROW._replace(status=SUCCEEDED), AT + 3, 3, 12, 200, "ok", "")


def test_a_retry_whose_row_sql_lost_waits_all_the_same(sql: SqlWorld) -> None:
    sql.firings.settle([RETRY])
    assert sql.firings.pending_between(0, AT * 2, 9) == [ROW._replace(attempt=2, due_at=AT + 5_000)]


def test_settling_nothing_does_nothing(sql: SqlWorld) -> None:
    sql.firings.settle([])


# settle: what is kept


def test_xtimer_fault_an_output_over_256_characters_leaves_the_row_not_run(sql: SqlWorld) -> None:
    after = settled(sql, SUCCESS._replace(output="x" * 70_000, error="y" * 70_000))
    assert after.firing.status is SUCCEEDED
    assert (after.output, after.error) == ("x" * 1_024, "y" * 255)


def test_a_long_output_of_long_characters_is_cut_by_characters(sql: SqlWorld) -> None:
    after = settled(sql, SUCCESS._replace(output="🙂" * 1_025, error="钟" * 256))
    assert (after.output, after.error) == ("🙂" * 1_024, "钟" * 255)


@pytest.mark.parametrize(
    "text",
    [
        "🙂 早上好 ü",
        "\x01\x1b[31m\t\r\n ",
        "'); DROP TABLE firing; --",
        '\\" %s %(x)s :x {y} \\',
        "\u202e\ufeff\ufffd\U0010ffff",
        "a\x00b",
    ],
)
def test_whatever_a_target_answers_is_kept(sql: SqlWorld, text: str) -> None:
    after = settled(sql, SUCCESS._replace(output=text, error=text))
    assert (after.output, after.error) == (text, text)


def test_a_very_long_wait_fits(sql: SqlWorld) -> None:
    year = 366 * 86_400_000
    after = settled(sql, SUCCESS._replace(lateness_ms=year, cost_ms=year, first_sent_at=AT + year))
    assert (after.lateness_ms, after.cost_ms, after.first_sent_at) == (year, year, AT + year)


# reading


def test_rows_are_read_by_firing_whatever_the_attempt(sql: SqlWorld) -> None:
    sql.insert([row_at(AT, 1), row_at(AT, 2), row_at(AT + 1, 1)])
    sql.firings.settle([RETRY])
    found = sql.firings.rows([FIRST, THIRD, Member(1, AT + 1, 1), Member(2, AT + 1, 1)])
    assert found == {(1, AT): RETRY.retry_firing(), (1, AT + 1): row_at(AT + 1, 1)}
    assert sql.firings.rows([]) == {}


def test_rows_with_an_outcome_are_read_too(sql: SqlWorld) -> None:
    settled(sql, SUCCESS)
    assert sql.firings.rows([FIRST])[1, AT].status is SUCCEEDED


def test_a_slice_holds_what_is_pending_in_its_minute_and_bucket(sql: SqlWorld) -> None:
    last = AT + MINUTE_MS - 1
    inside = [row_at(AT, 1, bucket=2), row_at(last, 1, bucket=2)]
    sql.insert([*inside, row_at(AT, 2, bucket=1), row_at(AT + MINUTE_MS, 1, bucket=2)])
    sql.insert([row_at(AT - 1, 1, bucket=2), row_at(AT + 1, 3, bucket=2)])
    sql.firings.settle([outcome_of(Member(3, AT + 1, 1))])
    assert sql.firings.pending_of(Slice.at(AT, 2)) == inside


def test_a_retry_belongs_to_the_slice_of_its_next_moment(sql: SqlWorld) -> None:
    sql.insert([ROW._replace(bucket=4)])
    sql.firings.settle([RETRY._replace(due_at=AT + MINUTE_MS)])
    assert sql.firings.pending_of(Slice.at(AT, 4)) == []
    (retry,) = sql.firings.pending_of(Slice.at(AT + MINUTE_MS, 4))
    assert (retry.attempt, retry.bucket) == (2, 4)


def test_a_minute_s_slices_are_tallied_by_what_is_pending_in_them(sql: SqlWorld) -> None:
    last = AT + MINUTE_MS - 1
    sql.insert([row_at(AT, 1, bucket=2), row_at(AT, 5, bucket=2), row_at(last, 1, bucket=2)])
    sql.insert([row_at(AT, 9, bucket=1), row_at(AT + MINUTE_MS, 1, bucket=3), row_at(AT - 1, 1, bucket=3)])
    sql.insert([row_at(AT + 1, 3, bucket=2), row_at(AT + 1, 4, bucket=4)])
    sql.firings.settle([outcome_of(Member(3, AT + 1, 1)), outcome_of(Member(4, AT + 1, 1))])
    assert sql.firings.tallies(AT, AT + MINUTE_MS - 1) == {
        Slice.at(AT, 1): Tally(1, 9, AT),
        Slice.at(AT, 2): Tally(3, 1 + 5 + 1, AT + AT + last),
    }
    assert sql.firings.tallies(AT + 1, last) == {Slice.at(AT, 2): Tally(1, 1, last)}
    assert sql.firings.tallies(0, MINUTE_MS - 1) == {}


def test_ids_of_53_bits_are_tallied_as_redis_tallies_them(sql: SqlWorld) -> None:
    ids = [2**53 - 1 - number * 3 for number in range(50)]
    sql.insert([row_at(AT, timer_id) for timer_id in sorted(ids)])
    tally = Tally(50, sum(one % ID_MODULUS for one in ids), 50 * AT)
    assert sql.firings.tallies(AT, AT + MINUTE_MS - 1) == {Slice.at(AT, 0): tally}


def test_pending_firings_are_read_between_two_moments_both_included(sql: SqlWorld) -> None:
    planned = [row_at(AT + number) for number in range(5)]
    sql.insert(planned)
    assert sql.firings.pending_between(AT + 1, AT + 3, 9) == planned[1:4]


def test_pending_firings_are_read_in_pages_over_equal_moments(sql: SqlWorld) -> None:
    planned = [row_at(AT + number, timer_id) for number in (0, 1) for timer_id in range(1, 8)]
    sql.insert(planned)
    retries = [outcome_of(row.member, PENDING, AT + 1) for row in planned[:7:2]]
    sql.firings.settle(retries)
    assert read_in_pages(sql, 3) == sql.firings.pending_between(0, AT + 9, 99)
    assert len(read_in_pages(sql, 3)) == len(set(read_in_pages(sql, 3))) == 14
    assert [firing.due_at for firing in read_in_pages(sql, 4)] == [AT] * 3 + [AT + 1] * 11


def read_in_pages(sql: SqlWorld, limit: int) -> list[Firing]:
    found: list[Firing] = []
    after: Firing | None = None
    while page := sql.firings.pending_between(0, AT + 9, limit, after):
        found += page
        after = page[-1]
    return found


def test_a_page_goes_on_behind_a_firing_that_is_settled_meanwhile(sql: SqlWorld) -> None:
    planned = [row_at(AT, timer_id) for timer_id in range(1, 5)]
    sql.insert(planned)
    sql.firings.settle([outcome_of(planned[1].member)])
    assert sql.firings.pending_between(0, AT, 9, after=planned[1]) == planned[2:]


def test_records_come_latest_first_in_pages_before_a_moment(sql: SqlWorld) -> None:
    sql.insert([row_at(AT + number, timer_id) for number in range(5) for timer_id in (1, 2)])

    def moments(**bounds: int) -> list[int]:
        return [one.firing.fire_at - AT for one in sql.firings.records(1, 2, **bounds)]

    assert moments() == [4, 3]
    assert moments(before=AT + 3) == [2, 1]
    assert moments(before=AT + 1) == [0]
    assert moments(before=AT) == []
    assert moments(upto=AT + 2) == [2, 1]
    assert moments(before=AT + 2, upto=AT + 4) == [1, 0]
    assert moments(before=AT + 4, upto=AT + 1) == [1, 0]


def test_another_timers_firings_are_not_on_record(sql: SqlWorld) -> None:
    settled(sql, SUCCESS)
    assert sql.firings.records(2, 9) == []


def test_thousands_are_looked_up_by_key_whatever_lies_between(sql: SqlWorld) -> None:
    planned = [row_at(AT + number, 1 + number % 7) for number in range(5_000)]
    sql.insert(planned)
    asked = [row.member for row in planned[::2]]
    assert sorted(sql.firings.rows([*asked, *asked]).values()) == sorted(planned[::2])
    sql.firings.settle([outcome_of(one) for one in asked])
    assert sql.insert(planned) == planned[1::2]
