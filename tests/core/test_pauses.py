"""What operators paused: which calls wait, in which lane, and which lanes give nothing."""

import pytest

from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane

APP, HOST, TIMER = "shop", "shop.test:443", 17


def test_a_call_waits_in_the_lane_of_the_widest_pause() -> None:
    names = ["all", f"app:{APP}", f"host:{HOST}", f"timer:{TIMER}"]
    for number, name in enumerate(names):
        paused = Pauses(frozenset(names[number:]))
        assert paused.lane_of(APP, HOST, TIMER) == SharedLane.of_pause(name)
    assert Pauses().lane_of(APP, HOST, TIMER) is None
    assert Pauses(frozenset({"app:other", "host:other:443", "timer:18"})).lane_of(APP, HOST, TIMER) is None


@pytest.mark.parametrize(
    ("name", "lane", "is_held"),
    [
        ("all", SharedLane.of_way(APP, HOST), True),
        ("app:shop", SharedLane.of_app(APP), True),
        ("app:shop", SharedLane.of_limit(APP), True),
        ("app:shop", SharedLane.of_pause("app:shop"), True),
        ("app:shop", SharedLane.of_pause("all"), False),
        ("app:shop", SharedLane.of_way("other", HOST), False),
        ("host:shop.test:443", SharedLane.of_way(APP, HOST), True),
        ("timer:17", SharedLane.of_pause("timer:17"), True),
        ("timer:17", SharedLane.of_app(APP), False),
    ],
)
def test_a_lane_gives_nothing_while_all_in_it_is_paused(name: str, lane: SharedLane, is_held: bool) -> None:
    assert Pauses(frozenset({name})).hold(lane) is is_held
