"""Callback processes mark what the judge of alerts is to see, for apps with rules alone."""

from collections.abc import Callable, Sequence

from tests.stages.scripted_target import Answer
from tests.stages.test_lanes import every_second
from tests.stages.world import World
from wangtimer.core.alerts.alert_place import AlertedApps
from wangtimer.core.flow.outcome import Outcome

MakeWorld = Callable[..., World]
APP, OTHER, HOST = "big", "other", "big.test"


def settled(world: World) -> list[Outcome]:
    """Return the list into which all outcomes come that are written from now on."""
    seen: list[Outcome] = []
    settle = world.firings.settle

    def keep(outcomes: Sequence[Outcome]) -> None:
        seen.extend(outcomes)
        settle(outcomes)

    world.firings.settle = keep  # type: ignore[method-assign]
    return seen


def test_failures_of_an_app_with_a_rule_are_marked_and_no_others(make_world: MakeWorld) -> None:
    world = make_world(executors=1).start()
    world.api.alerted_replica.write(AlertedApps({APP: None}))
    (mine,), (others,) = every_second(world, APP, [HOST], 1), every_second(world, OTHER, [HOST], 1)
    world.run_for(5)
    seen = settled(world)
    world.run_for(3)
    assert seen
    assert not any(one.notes for one in seen)
    seen.clear()
    world.target.answer = lambda _arrival: Answer(404)
    world.run_for(3)
    failed = [one for one in seen if one.http_status == 404]
    assert {one.member.timer_id for one in failed} == {mine.id, others.id}
    assert {one.member.timer_id for one in failed if one.notes} == {mine.id}
    assert all(one.notes for one in failed if one.member.timer_id == mine.id)
