"""`wangtimer bench` on a whole service as an operator runs it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine, select

from tests.stack.running_up import running_up
from wangtimer.cli.bench import Verdict, bench, judge
from wangtimer.stack.arrivals import Arrival
from wangtimer.stack.embedded import EmbeddedStack
from wangtimer.stack.ports import free_port
from wangtimer.store.sql.tables import timers

pytestmark = pytest.mark.processes


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[EmbeddedStack]:
    with running_up(tmp_path) as running:
        yield running


@pytest.mark.timeout(120)
def test_it_makes_timers_prints_their_lateness_and_leaves_none_behind(stack: EmbeddedStack) -> None:
    result = CliRunner().invoke(
        bench, ["--api", stack.api_url, "--app", "default", "--rate", "20", "--seconds", "2"]
    )
    assert "40 timers: lost 0, duplicates 0, early 0; lateness in ms: p50 " in result.output
    assert result.exit_code == 0
    with create_engine(stack.directory.database_url).connect() as sql:
        statuses = set(sql.execute(select(timers.c.status)).scalars())
    assert statuses == {"deleted"}


def test_an_api_that_is_not_there_is_one_clear_line() -> None:
    result = CliRunner().invoke(bench, ["--api", f"http://127.0.0.1:{free_port()}"])
    assert result.exit_code == 1
    assert result.stderr.startswith("wangtimer: cannot reach http://127.0.0.1:")
    assert threading.active_count() < 10
    assert CliRunner().invoke(bench, ["--api", "nonsense"]).exit_code == 2


def arrival(timer: str, arrived_at: float) -> Arrival:
    return Arrival(timer, 1_000, "1", f"{timer}-1000", arrived_at)


def test_lost_doubled_and_early_callbacks_are_told_apart() -> None:
    came = [arrival("1", 999.5), arrival("2", 1_004), arrival("2", 1_900), arrival("9", 5)]
    verdict = judge({1: 1_000, 2: 1_000, 3: 1_000}, came)
    assert verdict == Verdict(expected=3, duplicates=1, lateness_ms=(-0.5, 4))
    assert (verdict.lost, verdict.early, verdict.is_clean) == (1, 1, False)
    assert "lost 1, duplicates 1, early 1; lateness in ms: p50 4.0" in str(verdict)
