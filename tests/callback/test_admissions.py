"""Calls of an app with a limit: host first, then app; a permit for each, given back once its call has ended."""

import time
from collections.abc import Callable, Sequence
from threading import Lock

import pytest

from tests.callback.calls import Outcomes
from tests.callback.target import Received, Target, hold, wait_until
from wangtimer.callback import DeliveryEngine
from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.flow.slicing import SharedLane

LIMITED = "limited"
NewEngine = Callable[..., DeliveryEngine]


class HandPermits:
    """Gives what it is told to; notes what was asked and given back, in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[bool, Callable[[PermitAnswer], None]]] = []
        self.back: list[tuple[str, bool]] = []
        self.is_paused = False
        self._lock = Lock()

    def may_begin(self, app: str, _host: str, permits: Sequence[Permit], _longest_ms: int) -> bool:
        return app != LIMITED or bool(permits)

    def is_open(self, _app: str, _host: str) -> bool:
        return not self.is_paused

    def ask(
        self,
        _app: str,
        _host: str,
        has_waited: bool,
        _held: tuple[Permit, ...],
        _longest_ms: int,
        answer: Callable[[PermitAnswer], None],
    ) -> None:
        with self._lock:
            self.asked.append((has_waited, answer))

    def give_back(self, permits: Sequence[Permit], *, is_unused: bool) -> None:
        with self._lock:
            self.back += [(permit.name, is_unused) for permit in permits]

    def answer(self, number: int, answer: PermitAnswer) -> None:
        wait_until(lambda: len(self.asked) > number)
        self.asked[number][1](answer)


def permit(name: str = "p", lasts_s: float = 60) -> Permit:
    return Permit(name, time.monotonic() + lasts_s, SharedLane.of_limit(LIMITED))


@pytest.fixture
def tls() -> None:
    """A permit is asked before any connection: once is enough."""


@pytest.fixture
def permits() -> HandPermits:
    return HandPermits()


@pytest.fixture
def limited(new_engine: NewEngine, permits: HandPermits) -> DeliveryEngine:
    return new_engine(permits=permits, connections_per_host=2, timeout_ms=1_500)


def test_a_call_is_sent_once_it_has_its_permit_and_gives_it_back_after_its_end(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    def note_permits(received: Received) -> None:
        seen.append(list(permits.back))
        received.connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    seen: list[list[tuple[str, bool]]] = []
    target.answer = note_permits
    limited.submit([outcomes.call(target.url, app=LIMITED)])
    wait_until(lambda: len(permits.asked) == 1)
    assert target.requests == []
    permits.answer(0, (permit(),))
    assert outcomes.wait(1)[0].succeeded
    wait_until(lambda: permits.back == [("p", False)])
    assert seen == [[]]


def test_an_app_without_a_limit_asks_nobody(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    limited.submit([outcomes.call(target.url, app="free")])
    assert outcomes.wait(1)[0].succeeded
    assert permits.asked == permits.back == []


def test_a_call_that_no_limit_counts_asks_nobody_unless_it_is_paused(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    first, second = (outcomes.call(target.url, app=LIMITED) for _ in range(2))
    first.is_counted = second.is_counted = False
    limited.submit([first])
    assert outcomes.wait(1)[0].succeeded
    assert permits.asked == permits.back == []
    permits.is_paused = True
    limited.submit([second])
    permits.answer(0, SharedLane.of_limit(LIMITED))
    outcomes.wait(2)
    assert outcomes.without_room == [SharedLane.of_limit(LIMITED)]


def test_who_gets_no_permit_goes_to_the_limits_lane_and_frees_its_place(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    limited.submit([outcomes.call(target.url, app=LIMITED) for _ in range(3)])
    permits.answer(0, SharedLane.of_limit(LIMITED))
    permits.answer(1, SharedLane.of_limit(LIMITED))
    permits.answer(2, SharedLane.of_limit(LIMITED))
    outcomes.wait(3)
    assert outcomes.without_room == [SharedLane.of_limit(LIMITED)] * 3
    assert target.requests == []
    wait_until(lambda: limited.counts.in_flight == limited.counts.waiting == 0)


def test_while_nobody_knows_the_limit_a_call_is_held_back(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    limited.submit([outcomes.call(target.url, app=LIMITED)])
    permits.answer(0, None)
    outcomes.wait(1)
    assert len(outcomes.held_back) == 1
    assert target.requests == []


def test_a_call_that_was_pulled_with_a_permit_asks_for_none(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    call = outcomes.call(target.url, app=LIMITED)
    call.permits = (permit("pulled"),)
    limited.submit([call])
    assert outcomes.wait(1)[0].succeeded
    wait_until(lambda: permits.back == [("pulled", False)])
    assert permits.asked == []


def test_a_permit_whose_time_to_begin_is_over_is_asked_anew(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    call = outcomes.call(target.url, app=LIMITED)
    call.permits = (permit("old", lasts_s=-0.1),)
    limited.submit([call])
    permits.answer(0, (permit("new"),))
    assert outcomes.wait(1)[0].succeeded
    wait_until(lambda: permits.back == [("old", True), ("new", False)])


def test_what_waits_for_a_host_that_hangs_holds_no_permit(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    target.answer = hold
    calls = [outcomes.call(target.url, app=LIMITED) for _ in range(5)]
    for number, call in enumerate(calls):
        call.permits = (permit(str(number)),)
    limited.submit(calls)
    # One tries a host that was not reached yet; the others have no place.
    wait_until(lambda: [name for name, is_unused in permits.back if is_unused] == ["1", "2", "3", "4"])
    # The second place comes free once the host is reached: its call asks anew, and the rest wait for a place.
    wait_until(lambda: len(permits.asked) == 1)


def test_a_refused_target_gives_the_permit_back(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    target.close()
    limited.submit([outcomes.call(target.url, app=LIMITED)])
    permits.answer(0, (permit(),))
    assert not outcomes.wait(1)[0].succeeded
    wait_until(lambda: permits.back == [("p", False)])


def test_a_call_that_may_not_be_sent_any_more_gives_its_permit_back_unused(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    limited.submit([outcomes.call(target.url, app=LIMITED, may_send=lambda: False)])
    permits.answer(0, (permit(),))
    outcomes.wait(1)
    wait_until(lambda: permits.back == [("p", True)])


def test_an_engine_that_stops_returns_what_waits_for_a_permit_and_gives_late_ones_back(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    call = outcomes.call(target.url, app=LIMITED)
    limited.submit([call])
    wait_until(lambda: len(permits.asked) == 1)
    assert limited.stop(1) == [call]
    assert target.requests == []


def test_a_stop_gives_the_permits_of_what_it_cuts_off_back(
    limited: DeliveryEngine, new_target: Callable[..., Target], outcomes: Outcomes, permits: HandPermits
) -> None:
    target = new_target(hold)
    call = outcomes.call(target.url, app=LIMITED, timeout_ms=60_000)
    limited.submit([call])
    permits.answer(0, (permit(),))
    target.wait_for_requests(1)
    assert limited.stop(0.1) == [call]
    assert permits.back == [("p", False)]


def test_an_answer_wakes_an_engine_at_rest(
    limited: DeliveryEngine, target: Target, outcomes: Outcomes, permits: HandPermits
) -> None:
    limited.submit([outcomes.call(target.url, app=LIMITED)])
    wait_until(lambda: len(permits.asked) == 1)
    time.sleep(0.05)  # it rests by now, for a minute
    began_at = time.monotonic()
    permits.answer(0, (permit(),))
    outcomes.wait(1)
    assert time.monotonic() - began_at < 1
