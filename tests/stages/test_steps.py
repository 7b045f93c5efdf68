"""A step more before a call is one class, and one line of the list."""

from collections.abc import Callable

import pytest

from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.case import Case
from wangtimer.executor.verdicts import Skip
from wangtimer.wiring import Wiring
from wangtimer.wiring.firing import FiringParts

SECOND_MS = 1_000


class RestSeconds:
    """Timers that call by PUT rest in each second of which the number is odd."""

    def __init__(self) -> None:
        self.asked = 0

    def concerns(self, definition: Definition) -> bool:
        return definition.notify.method == "PUT"

    def rule(self, case: Case) -> None:
        for due, row, definition in case.going():
            self.asked += 1
            if self.concerns(definition) and due.member.fire_at // SECOND_MS % 2:
                case.verdicts[due.member] = Skip("it rests", row)


@pytest.fixture
def rest(monkeypatch: pytest.MonkeyPatch) -> RestSeconds:
    added, listed = RestSeconds(), vars(FiringParts)["steps"].func
    monkeypatch.setattr(Wiring, "steps", property(lambda wiring: (*listed(wiring), added)))
    return added


def test_a_step_more_stops_what_it_concerns_with_its_reason(
    rest: RestSeconds, make_world: Callable[..., World]
) -> None:
    world = make_world().start()
    restful, other = world.timer("* * * * * *", method="PUT"), world.timer("* * * * * *")
    world.run_for(20)
    over = [one for one in world.records(restful) if one.firing.fire_at < world.now - 2 * SECOND_MS]
    assert len(over) >= 16
    for record in over:
        if record.firing.fire_at // SECOND_MS % 2:
            assert (record.firing.status, record.error) == (FiringStatus.SKIPPED, "it rests")
        else:
            assert record.firing.status is FiringStatus.SUCCEEDED
    assert world.statuses(other) <= {FiringStatus.SUCCEEDED, FiringStatus.PENDING}
    assert len(world.target.of(other.id)) >= 16


def test_a_firing_that_concerns_no_step_is_not_asked_about(
    rest: RestSeconds, make_world: Callable[..., World]
) -> None:
    world = make_world().start()
    timer = world.timer("* * * * * *")
    world.run_for(20)
    assert len(world.target.of(timer.id)) >= 16
    assert rest.asked == 0
