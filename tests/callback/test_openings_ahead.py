"""For which calls a connection is opened ahead, and when."""

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.callback.calls import ClockByHand
from wangtimer.callback.openings_ahead import OpeningsAhead
from wangtimer.callback.request import Request, Route
from wangtimer.core.flow.origin import Origin

MOMENTS = st.integers(min_value=0, max_value=2_000)


class Line:
    """Connections as an engine has them: begun ones are open after `took_ms`, and stay idle."""

    def __init__(self, room: int = 100) -> None:
        self.clock = ClockByHand(0)
        self.room = room
        self.begun: list[tuple[float, Route]] = []
        self.idle: Counter[Route] = Counter()
        self.ahead = OpeningsAhead(self.clock, self._ready, lambda _origin, _route: self.room, self._begin)

    def expect(self, due_at_ms: float, host: str = "one.test") -> Request:
        request = Request(f"https://{host}/", "POST", (), b"")
        self.ahead.expect(request, due_at_ms)
        return request

    def run_until(self, until_ms: float, step_ms: float = 5) -> None:
        while self.clock.at_ms < until_ms:
            self.clock.at_ms += step_ms
            self.ahead.act()

    def open(self, request: Request, took_ms: float) -> None:
        """Let one that was begun be open."""
        self.idle[request.route] += 1
        self.ahead.learn(request.origin, request.route, took_ms)

    def _ready(self, route: Route, _in_ms: float, _enough: int) -> int:
        return sum(begun == route for _, begun in self.begun)

    def _begin(self, _origin: Origin, route: Route) -> None:
        self.begun.append((self.clock.at_ms, route))


def test_opening_to_an_unknown_host_begins_350_ms_before_the_moment() -> None:
    line = Line()
    line.expect(1_000)
    line.run_until(2_000)
    ((at_ms, _),) = line.begun
    assert 640 <= at_ms <= 655


def test_opening_begins_as_long_before_as_it_took_last_and_50_ms() -> None:
    line = Line()
    request = line.expect(1_000)
    line.run_until(900)
    line.open(request, took_ms=120)
    line.begun.clear()
    line.expect(2_000)
    line.run_until(2_500)
    ((at_ms, _),) = line.begun
    assert 1_820 <= at_ms <= 1_835


def test_a_call_handed_in_late_is_opened_for_at_once() -> None:
    line = Line()
    line.expect(60)
    line.run_until(5)
    assert len(line.begun) == 1


def test_nothing_is_opened_for_a_call_whose_moment_has_come() -> None:
    line = Line()
    line.expect(60)
    line.clock.at_ms = 60
    line.ahead.act()
    assert not line.begun
    assert line.ahead.rest_until == math.inf


def test_calls_of_one_moment_have_a_connection_each_and_later_ones_share_them() -> None:
    line = Line()
    for due_at_ms in (1_000, 1_000, 1_000, 1_350, 1_350):
        line.expect(due_at_ms)
    line.run_until(2_000)
    assert len(line.begun) == 3


def test_a_call_that_comes_sooner_after_another_than_opening_takes_has_its_own_connection() -> None:
    line = Line()
    request = line.expect(1_000)
    line.run_until(800)
    line.open(request, took_ms=100)
    line.expect(1_080)
    line.run_until(1_500)
    assert len(line.begun) == 2


def test_where_there_was_no_room_more_are_opened_once_one_is_open() -> None:
    line = Line(room=1)
    requests = [line.expect(1_000) for _ in range(5)]
    line.run_until(700)
    assert len(line.begun) == 1
    line.room = 3
    line.open(requests[0], took_ms=50)
    line.run_until(1_200)
    assert len(line.begun) == 3


def test_a_burst_to_one_host_is_looked_at_in_part() -> None:
    line = Line(room=10)
    for _ in range(50_000):
        line.expect(1_000)
    assert len(line.ahead._expected) == 1_000
    line.run_until(1_200)
    assert len(line.begun) == 10
    assert not line.ahead._expected


def test_hosts_that_were_called_long_ago_are_forgotten() -> None:
    line = Line()
    for number in range(10_050):
        line.expect(1_000, f"h{number}.test")
    assert len(line.ahead._targets) == 10_000
    line.run_until(2_000, step_ms=1)
    assert len(line.begun) <= 10_050


@given(st.lists(st.tuples(MOMENTS, st.sampled_from(["one.test", "two.test"])), max_size=40), st.data())
def test_no_more_is_opened_than_there_are_calls_to_come(
    calls: list[tuple[int, str]], data: st.DataObject
) -> None:
    line = Line()
    requests = [line.expect(due_at_ms, host) for due_at_ms, host in calls]
    wanted = Counter(request.route for request in requests)
    while line.clock.at_ms < 2_100:
        line.run_until(line.clock.at_ms + data.draw(st.integers(1, 400)))
        line.room = data.draw(st.integers(0, 5))
        if requests:
            line.open(data.draw(st.sampled_from(requests)), data.draw(st.floats(0, 900)))
    begun = Counter(route for _, route in line.begun)
    assert all(begun[route] <= wanted[route] for route in begun)
    assert all(at_ms < max(due_at_ms for due_at_ms, _ in calls) for at_ms, _ in line.begun)
