"""What time costs that passes: the stages look only where there is something to find."""

from collections.abc import Iterator

import pytest
from sqlalchemy import event

from tests.testing.timers import timer
from wangtimer.testing import WangTimer


@pytest.fixture
def statements(wangtimer: WangTimer) -> Iterator[list[str]]:
    """The statements that SQL is asked from now on, BEGIN and COMMIT aside."""
    asked: list[str] = []
    engine = wangtimer._parts.database.engine

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            asked.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield asked
    event.remove(engine, "before_cursor_execute", note)


def test_a_firing_costs_sql_two_statements(wangtimer: WangTimer, statements: list[str]) -> None:
    timer(wangtimer, cron="* * * * *")
    wangtimer.advance(minutes=5)
    statements.clear()
    assert len(wangtimer.advance(hours=6)) == 360
    assert len(statements) < 2.2 * 360


def test_one_whose_firings_are_not_to_overlap_costs_more_and_others_nothing(
    wangtimer: WangTimer, statements: list[str]
) -> None:
    """Asking for the row, judging and ending are each a few look-ups by key; the others' statements name no table."""
    timer(wangtimer, cron="* * * * *")
    wangtimer.advance(minutes=5)
    statements.clear()
    wangtimer.advance(minutes=10)
    assert not [one for one in statements if "begun_firing" in one]
    wangtimer.client.patch_timer("key:nightly", overlap="queueOne")
    wangtimer.advance(minutes=5)
    statements.clear()
    assert len(wangtimer.advance(hours=1)) == 60
    assert len(statements) < 13 * 60


def test_a_numbered_timer_costs_one_statement_more_and_others_nothing(
    wangtimer: WangTimer, statements: list[str]
) -> None:
    """Beside the question for the row, it is one look at its last firings; planning counts once for all it plans."""
    timer(wangtimer, cron="* * * * *")
    wangtimer.advance(minutes=10)
    assert not [one for one in statements if "planned_seq +" in one or "before_0" in one]
    assert not [one for one in statements if one.startswith("INSERT") and "seq" in one]
    wangtimer.client.patch_timer("key:nightly", target={"numbered": True})
    wangtimer.advance(hours=3)
    statements.clear()
    assert len(wangtimer.advance(hours=6)) == 360
    assert len(statements) < 5.2 * 360
    assert len([one for one in statements if "before_0" in one]) == 360


def test_a_year_without_a_firing_costs_next_to_nothing(
    wangtimer: WangTimer, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    timer(wangtimer, cron="0 0 1 1 *")
    wangtimer.advance(minutes=5)
    statements.clear()
    assert wangtimer.advance(days=360) == []
    assert len(statements) < 20
