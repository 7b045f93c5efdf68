"""The lane on the row of a firing: who may note it, and when it goes."""

from tests.store.members import outcome_of, row_at
from tests.store.worlds import SqlWorld
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane
from wangtimer.store.sql.statements import KEYS_A_STATEMENT

AT = 1_800_000_000_000
LANE = SharedLane.of_way("shop", "a.example:80")
FIRST = Member(1, AT, 1)
SENT: dict[str, object] = {"first_sent_at": AT + 4, "error": "timed out"}


def row_after(sql: SqlWorld, noted: Member = FIRST, *outcomes: Outcome) -> Firing:
    """Insert a firing, note its lane, settle; return its row."""
    sql.insert([row_at(AT)])
    sql.firings.note_lanes({LANE: [noted]})
    for outcome in outcomes:
        sql.firings.settle([outcome])
    return sql.firings.rows([FIRST])[1, AT]


def test_a_row_names_its_lane_and_stands_there(sql: SqlWorld) -> None:
    row = row_after(sql)
    assert (row.lane, row.stands_in) == (LANE.key, LANE)
    assert sql.firings.records(1, 1)[0].firing.lane == LANE.key


def test_what_was_never_noted_stands_in_its_slice(sql: SqlWorld) -> None:
    sql.insert([row_at(AT)])
    row = sql.firings.rows([FIRST])[1, AT]
    assert (row.lane, row.stands_in) == ("", row.slice)


def test_an_attempt_that_was_overtaken_is_not_noted(sql: SqlWorld) -> None:
    retry = outcome_of(FIRST, FiringStatus.PENDING, AT + 5_000, **SENT)
    sql.insert([row_at(AT)])
    sql.firings.settle([retry])
    sql.firings.note_lanes({LANE: [FIRST]})
    assert sql.firings.rows([FIRST])[1, AT].lane == ""


def test_a_firing_with_an_outcome_is_not_noted(sql: SqlWorld) -> None:
    sql.insert([row_at(AT)])
    sql.firings.settle([outcome_of(FIRST)])
    sql.firings.note_lanes({LANE: [FIRST]})
    assert sql.firings.rows([FIRST])[1, AT].lane == ""


def test_a_retry_leaves_the_lane(sql: SqlWorld) -> None:
    retry = outcome_of(FIRST, FiringStatus.PENDING, AT + 5_000, **SENT)
    assert row_after(sql, FIRST, retry).lane == ""


def test_the_last_attempts_record_says_where_it_waited(sql: SqlWorld) -> None:
    assert row_after(sql, FIRST, outcome_of(FIRST, FiringStatus.FAILED, **SENT)).lane == LANE.key


def test_many_of_many_moments_are_noted(sql: SqlWorld) -> None:
    rows = [row_at(AT + number * 7, timer_id) for number in range(KEYS_A_STATEMENT) for timer_id in (1, 2)]
    sql.insert(rows)
    sql.firings.note_lanes({LANE: [row.member for row in rows[:-1]]})
    lanes = [row.lane for row in sql.firings.pending_between(0, AT * 2, len(rows))]
    assert lanes == [LANE.key] * (len(rows) - 1) + [""]


def test_what_is_pending_can_be_read_with_lanes_or_without(sql: SqlWorld) -> None:
    sql.insert([row_at(AT), row_at(AT, 2)])
    sql.firings.note_lanes({LANE: [FIRST]})
    found = [sql.firings.pending_between(0, AT, 9, in_lanes=which) for which in (True, False, None)]
    assert [[row.timer_id for row in rows] for rows in found] == [[1], [2], [1, 2]]


def test_what_is_pending_can_be_read_of_some_lanes_page_by_page(sql: SqlWorld) -> None:
    other, third = SharedLane.of_way("shop", "b.example:80"), SharedLane.of_app("shop")
    sql.insert([row_at(AT, timer_id) for timer_id in range(1, 7)])
    for timer_id, lane in enumerate([LANE, other, third, LANE, other], start=1):
        sql.firings.note_lanes({lane: [Member(timer_id, AT, 1)]})

    def page(limit: int, after: Firing | None = None) -> list[Firing]:
        return sql.firings.pending_between(0, AT, limit, after, in_lanes=True, of_lanes=[LANE, third])

    first = page(2)
    assert [row.timer_id for row in [*first, *page(9, first[-1])]] == [1, 3, 4]


def test_noting_nothing_does_nothing(sql: SqlWorld) -> None:
    sql.firings.note_lanes({LANE: []})


def test_what_waits_in_a_lane_is_tallied_in_no_slice(sql: SqlWorld) -> None:
    row_after(sql)
    assert sql.firings.tallies(AT, AT + MINUTE_MS - 1) == {}


def test_each_is_noted_in_its_own_lane(sql: SqlWorld) -> None:
    lanes = [SharedLane.of_way("shop", f"{number}.example:80") for number in range(300)]
    rows = [row_at(AT - timer_id, timer_id) for timer_id in range(1, 601)]
    sql.insert(rows)
    by_lane = {lane: [row.member for row in rows[place::300]] for place, lane in enumerate(lanes)}
    sql.firings.note_lanes(by_lane)
    noted = sql.firings.rows([row.member for row in rows])
    assert {lane: {noted[one.key].stands_in for one in members} for lane, members in by_lane.items()} == {
        lane: {lane} for lane in lanes
    }
