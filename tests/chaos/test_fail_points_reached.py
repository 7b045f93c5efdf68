"""No fail point is left out: one that no row comes to would be there for nothing."""

from tests.chaos.fail_points import REACHED, minute_places, steps_of_rows
from wangtimer.core.fail_points import ArmedFailPoint, FailPoint, Harm, Side


def test_some_row_harms_a_process_at_every_step() -> None:
    assert steps_of_rows() == set(FailPoint)


def test_a_row_kills_on_both_sides_of_each_of_its_steps() -> None:
    for one in REACHED:
        points = [ArmedFailPoint.parse(point) for _, point in one.places()]
        killed = {(point.step, point.side) for point in points if point.harm is Harm.KILL}
        assert killed == {(step, side) for steps in one.steps.values() for step in steps for side in Side}


def test_each_beat_has_one_point_of_its_own() -> None:
    places = minute_places()
    assert len(places) == len({process for process, _ in places}) == len({point for _, point in places}) == 4
