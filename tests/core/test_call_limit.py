"""A limit of an app's calls, as the app's row has it."""

import pytest

from wangtimer.core.flow.call_limit import CallLimit


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({}, None),
        ({"timers": 1_000}, None),
        ({"callsPerSecond": None, "callsAtOnce": None}, None),
        ({"callsPerSecond": 100}, CallLimit(per_second=100.0)),
        ({"callsAtOnce": 20, "callsPerSecond": 0.5}, CallLimit(0.5, 20)),
        ({"callsAtOnce": 0}, CallLimit(at_once=0)),
    ],
)
def test_the_limits_of_an_app_say_how_many_calls_it_may_make(
    limits: dict[str, object], limit: CallLimit | None
) -> None:
    assert CallLimit.of_limits(limits) == limit


def test_a_tenth_of_a_second_may_begin_together() -> None:
    assert [CallLimit(rate).burst for rate in (None, 0, 1, 100)] == [0.0, 0.0, 1.1, 11.0]
