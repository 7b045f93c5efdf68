"""Four faults in one small deployment, one after another, in `make test-all`; `make chaos` has them all."""

import json
from pathlib import Path

import pytest

from tests.chaos import faults
from tests.chaos.rows import Row
from tests.chaos.run import Measured, measure
from tests.chaos.trial import Strike, Trial

RATE = 100
# From a fault to the next: what it delayed has been called by then, by leases of 6 and 8 s.
RECOVERY_S = 9


def _strike_one_after_another(trial: Trial) -> Strike:
    strikes = []
    for strike in (faults.kill_executor, faults.kill_trigger, faults.flush_store, faults.kill_sql_5s):
        strikes.append(strike(trial))
        trial.tend_for(RECOVERY_S)
    return Strike(
        min(one.bite for one in strikes),
        frozenset().union(*(one.touched for one in strikes)),
        [member for one in strikes for member in one.may_repeat],
    )


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_four_faults_lose_nothing_and_send_nothing_early_or_unduly_twice(tmp_path: Path) -> None:
    # Lateness is printed, not judged: the machine may be busy with other tests.
    row = Row("four faults", _strike_one_after_another, 55, None, may_repeat=True)
    one = measure(row, tmp_path, rate=RATE, after_s=8)
    print(json.dumps(_figures(one)))
    assert not one.misses()


def _figures(one: Measured) -> dict[str, object]:
    verdict = one.verdict
    return {
        "promised": verdict.promised,
        "repeated": verdict.repeated,
        "touched_max_ms": verdict.touched.max_ms,
        "others_p99_ms": verdict.others.p99_ms,
        "others_max_ms": verdict.others.max_ms,
    }
