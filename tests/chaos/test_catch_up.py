"""What is told of a backlog: the figures by which catching up is judged."""

from tests.chaos.catch_up import RETURN_MS, CatchUp
from tests.chaos.load import Window
from tests.servers.nginx import ArrivedCall

BACK_AT = 100_000
WINDOW = Window(50_000, 200_000)


def call(fire_at: int, arrived_at: int) -> ArrivedCall:
    return ArrivedCall(1, fire_at, 1, float(arrived_at))


def test_the_backlog_is_what_came_due_before_the_return_and_was_called_after_it() -> None:
    calls = [call(90_000, 90_003), call(90_000, 101_000), call(91_000, 101_999), call(92_000, 130_000)]
    told = CatchUp.of(calls, WINDOW, BACK_AT)
    assert (told.backlog, told.worked_off_s, told.most_a_second) == (3, 30.0, 2)


def test_current_is_what_came_due_while_the_backlog_was_worked_off() -> None:
    current = BACK_AT + RETURN_MS
    calls = [
        call(90_000, 130_000),
        call(current - 1, current + 9_000),
        call(current, current + 7),
        call(130_000, 139_000),
    ]
    told = CatchUp.of(calls, WINDOW, BACK_AT).current
    assert (told.count, told.max_ms) == (1, 7)


def test_an_outage_that_left_nothing_behind_is_told_too() -> None:
    told = CatchUp.of([], WINDOW, BACK_AT)
    assert (told.backlog, told.worked_off_s, told.current.count) == (0, 0.0, 0)
