"""A thousand seeds of the simulation, of which `make test` runs a third; `make simulate` runs more."""

from itertools import islice
from random import Random

import pytest

from tests.lots import a_twelfth
from tests.simulation.fault import draw_clock_steps, draw_losses
from tests.simulation.run import run_seed
from tests.simulation.scenario import (
    draw_crowded_targets,
    draw_demands,
    draw_limited_app,
    draw_limited_host,
    draw_many_migrators,
    draw_pauses,
    draw_policies,
)

SEEDS, DEMAND_SEEDS, CLOCK_SEEDS, CROWDED_SEEDS, LIMITED_SEEDS, MIGRATOR_SEEDS = 300, 150, 150, 150, 100, 150
PAUSED_SEEDS, LIMITED_HOST_SEEDS, POLICY_SEEDS = 150, 100, 75
A_TEST = 5


@pytest.mark.parametrize("first", a_twelfth(range(0, SEEDS, A_TEST)))
def test_whatever_strikes_nothing_is_lost_early_or_sent_twice_without_excuse(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed)
        assert not run.violations, f"see it step by step: make simulate SEED={seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, DEMAND_SEEDS, A_TEST)))
def test_the_same_holds_where_single_firings_are_asked_for_and_cancelled(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_demands)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, CLOCK_SEEDS, A_TEST)))
def test_the_same_holds_where_redis_clock_is_put_back_and_ahead(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, faults=draw_clock_steps(Random(seed)))
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, CROWDED_SEEDS, A_TEST)))
def test_the_same_holds_where_calls_find_no_room_and_wait_in_lanes(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_crowded_targets)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, LIMITED_SEEDS, A_TEST)))
def test_the_same_holds_where_an_app_has_a_limit_and_the_limit_holds(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_limited_app)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, LIMITED_HOST_SEEDS, A_TEST)))
def test_the_same_holds_where_a_host_and_an_app_have_limits_and_both_hold(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_limited_host)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, PAUSED_SEEDS, A_TEST)))
def test_the_same_holds_where_operators_pause_and_nothing_is_sent_meanwhile(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_pauses)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, POLICY_SEEDS, A_TEST)))
def test_whatever_targets_answer_and_whatever_strikes_attempts_keep_to_their_policy(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, draw=draw_policies)
        assert not run.violations, f"seed {seed}\n{run.violations}"


@pytest.mark.parametrize("first", a_twelfth(range(0, MIGRATOR_SEEDS, A_TEST)))
def test_of_four_migrators_one_feeds_whoever_dies_or_freezes(first: int) -> None:
    for seed in range(first, first + A_TEST):
        run = run_seed(seed, faults=draw_losses(Random(seed)), draw=draw_many_migrators)
        assert not run.violations, f"seed {seed}\n{run.violations}"


def test_feeders_really_are_cut_off_before_they_give_way() -> None:
    runs = (run_seed(seed, faults=draw_losses(Random(seed)), draw=draw_many_migrators) for seed in range(40))
    assert any(run.took_over for run in runs)


def test_faults_really_strike() -> None:
    struck = (seed for seed in range(30) if run_seed(seed).struck)
    assert len(list(islice(struck, 10))) == 10
