"""A few hundred seeds of the simulation; `make simulate` runs thousands."""

import pytest

from tests.simulation.run import run_seed

SEEDS = 300
A_TEST = 25


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_whatever_strikes_nothing_is_lost_early_or_sent_twice_without_excuse(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed)
        assert not run.violations, f"see it step by step: make simulate SEED={seed}\n{run.violations}"


def test_faults_really_strike() -> None:
    assert sum(bool(run_seed(seed).struck) for seed in range(30)) > 10
