"""A limit of an app's calls, as the app's row has it."""

import pytest

from wangtimer.core.flow.call_limit import CallLimit, limits_from_text, limits_to_text


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


def test_limits_are_read_back_from_text() -> None:
    limits = {"shop": CallLimit(2.5, 7), "x": CallLimit(at_once=0)}
    assert limits_from_text(limits_to_text(limits)) == limits


def test_a_later_version_may_write_more_figures() -> None:
    assert limits_from_text('{"a":[5,3,99],"b":[null,2,null,{}]}') == {
        "a": CallLimit(5, 3),
        "b": CallLimit(None, 2),
    }


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a":7}', '{"a":null}', '{"a":{"x":1}}'])
def test_what_is_no_limits_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        limits_from_text(text)
