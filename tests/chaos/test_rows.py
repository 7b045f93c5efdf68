"""Each fault under load, in a deployment of its own: `make chaos`, or `make chaos ROW="kill executor"`."""

import json
from pathlib import Path

import pytest

from tests.chaos.rows import ROWS, Row
from tests.chaos.run import Measured, measure


@pytest.mark.chaos
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("row", ROWS, ids=[row.name.replace(" ", "-") for row in ROWS])
def test_a_fault_keeps_its_bounds(row: Row, tmp_path: Path, measured: list[Measured]) -> None:
    one = measure(row, tmp_path)
    measured.append(one)
    latest = [(call.timer_id, call.fire_at, call.attempt, call.lateness_ms) for call in one.verdict.latest]
    print(
        json.dumps(
            {
                "row": row.name,
                "misses": one.misses(),
                "retried": one.verdict.retried,
                "latest": latest,
                "note": one.strike.note,
            }
        )
    )
    assert not one.misses()
