"""The one rule for a target's health: failures in a row, then one call at a time, until an answer."""

from itertools import pairwise

import pytest

from tests.callback.calls import Outcomes
from tests.callback.test_flows import NOW_MS, end, join_of, started
from wangtimer.callback import Reply
from wangtimer.callback.flows import FEW, PATIENCE_S, Flows
from wangtimer.callback.health import (
    FAILING_AFTER,
    FIRST_REST_S,
    LONGEST_SILENCE_S,
    TRIED_AGAIN_S,
    Health,
    Sign,
    sign_of,
)
from wangtimer.callback.places import Waiting
from wangtimer.core.flow.slicing import SharedLane

ROUTE = ("app", "http://a:80/")
LANE = SharedLane.of_way("app", "a:80", "/")


def answered(status: int) -> Reply:
    return Reply(NOW_MS, 5.0, status, "", "")


def fail_in_a_row(
    flows: Flows, number: int = FAILING_AFTER, reply: Reply | None = None, until: float = 0.0
) -> None:
    """Let calls begin at moment 0, and fail a second apart up to a moment."""
    join_of(flows, "app", "a", number)
    for one, flow in enumerate(started(flows)):
        failed = reply or Reply(NOW_MS, 9_000.0, None, "", "timed out")
        flows.leave(flow, until + one - number + 1.0, failed, is_unreachable=False)


def failing(places: int = 50) -> Flows:
    flows = Flows(places_per_host=places, places_total=200)
    fail_in_a_row(flows)
    return flows


@pytest.mark.parametrize(
    ("status", "sign"),
    [
        (200, Sign.ANSWERED),
        (404, Sign.ANSWERED),
        (410, Sign.ANSWERED),
        (500, Sign.ANSWERED),
        (429, Sign.TURNED_AWAY),
        (502, Sign.TURNED_AWAY),
        (503, Sign.TURNED_AWAY),
        (504, Sign.TURNED_AWAY),
    ],
)
def test_an_answer_is_no_failure_unless_it_says_that_no_calls_are_taken(status: int, sign: Sign) -> None:
    assert sign_of(answered(status)) is sign


def test_an_answer_that_broke_off_is_a_failure_and_a_refusal_by_our_rules_says_nothing() -> None:
    assert sign_of(Reply(NOW_MS, 5.0, 200, "", "connection lost")) is Sign.SILENT
    refused = Reply(NOW_MS, 0.0, None, "", "not allowed", was_sent=False, is_refused=True)
    assert sign_of(refused) is Sign.NOT_ASKED


def test_failures_in_a_row_make_a_host_failing_and_no_fewer() -> None:
    flows = Flows(places_per_host=50, places_total=200)
    fail_in_a_row(flows, FAILING_AFTER - 1)
    assert flows.failing() == {}
    fail_in_a_row(flows, 1, until=1.0)
    assert flows.failing().keys() == {ROUTE}
    health = flows.failing()[ROUTE]
    assert (health.failures, health.since, health.error) == (FAILING_AFTER, -3.0, "timed out")


def test_failures_with_answers_between_are_no_row() -> None:
    flows = Flows(places_per_host=50, places_total=200)
    for _ in range(3):
        fail_in_a_row(flows, FAILING_AFTER - 1)
        fail_in_a_row(flows, 1, answered(500))
    assert flows.failing() == {}


def test_a_host_that_turns_calls_away_keeps_its_places_until_it_is_failing() -> None:
    flows = Flows(places_per_host=8, places_total=200)
    fail_in_a_row(flows, FAILING_AFTER - 1, answered(503))
    join_of(flows, "app", "a", 8)
    assert len(started(flows)) == 8
    flows = Flows(places_per_host=8, places_total=200)
    fail_in_a_row(flows, FAILING_AFTER, answered(503))
    assert flows.failing()[ROUTE].error == "HTTP 503"


def test_a_failing_host_is_tried_by_one_call_after_a_rest() -> None:
    flows = failing()
    join_of(flows, "app", "a", 9)
    flows.try_again(FIRST_REST_S - 0.01)
    assert started(flows) == []
    flows.try_again(FIRST_REST_S)
    assert len(started(flows, at=FIRST_REST_S)) == 1


def test_the_rests_grow_to_a_few_seconds() -> None:
    flows = failing()
    join_of(flows, "app", "a", 20)
    now, tried_at = 0.0, [0.0]
    while len(tried_at) < 6:
        now += 0.05
        flows.try_again(now)
        for flow in started(flows, at=now):
            end(flows, flow, at=now, has_failed=True)
            tried_at.append(now)
    rests = [round(later - before, 1) for before, later in pairwise(tried_at)]
    assert rests == pytest.approx([1, 2, 4, TRIED_AGAIN_S, TRIED_AGAIN_S], abs=0.11)


def test_an_answer_ends_it_at_once() -> None:
    flows = failing()
    join_of(flows, "app", "a", 9)
    flows.try_again(5.0)
    (flow,) = started(flows, at=5.0)
    end(flows, flow, at=5.1, has_failed=False)
    assert flows.failing() == {}
    assert len(started(flows, at=5.1)) == 2


def test_what_waits_in_a_lane_is_pulled_when_the_rest_is_over_one_at_a_time() -> None:
    flows = failing()
    assert flows.room_in(LANE, FIRST_REST_S - 0.01) == 0
    assert flows.room_in(LANE, FIRST_REST_S) == 1
    flows.join(Waiting(Outcomes().call("http://a/"), FIRST_REST_S))
    assert flows.room_in(LANE, FIRST_REST_S) == 0


def test_how_fast_it_was_before_keeps_no_calls_in_the_process_once_it_is_failing() -> None:
    flows = Flows(places_per_host=50, places_total=9_000)
    for _ in range(40):
        join_of(flows, "app", "a", 50)
        for flow in started(flows):
            end(flows, flow, at=-5.0, has_failed=False)
    for at in range(-FAILING_AFTER, 0):
        fail_in_a_row(flows, 1, until=float(at))
    join_of(flows, "app", "a", 500)
    assert flows.room_in(LANE, FIRST_REST_S - 0.01) == 0
    gone = flows.crowded_out(PATIENCE_S + 1.0, 9.0)
    assert (len(gone), flows.waiting) == (500 - FEW, FEW)


def test_another_app_at_the_same_host_goes_on() -> None:
    flows = failing()
    join_of(flows, "other", "a", 3)
    assert len(started(flows)) == 3


def test_a_host_that_is_forgotten_is_failing_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.callback.flows._MOST_WAYS", 3)
    flows = failing()
    flows._most_ways = 3
    join_of(flows, "app", "b")
    join_of(flows, "app", "c")
    join_of(flows, "app", "d")
    assert (flows.failing(), flows.health_of(ROUTE)) == ({}, None)


def test_it_is_known_how_long_a_host_was_failing_between_two_moments() -> None:
    health = Health()
    for at in range(FAILING_AFTER):
        assert health.failing_within(-100.0, 100.0) == 0.0
        health.fail(10.0 + at, "timed out")
    assert health.failing_within(5.0, 15.0) == 5.0
    health.answer(20.0)
    assert health.failing_within(5.0, 100.0) == 10.0
    assert health.failing_within(19.0, 100.0) == 1.0
    assert health.failing_within(30.0, 100.0) == 0.0


def test_a_reply_says_how_long_its_host_was_failing_while_its_call_waited() -> None:
    flows = failing()
    call = Outcomes().call("http://a/", due_at_ms=NOW_MS)
    flows.join(Waiting(call, 0.0))
    flows.try_again(6.0)
    (flow,) = started(flows, at=6.0)
    reply = Reply(NOW_MS + 6_000, 1.0, 200, "", "")
    told = flows.with_wait(flow, call, reply, NOW_MS + 7_000, now=7.0)
    assert told == reply._replace(host_failing_ms=6_000)
    healthy = Flows(places_per_host=8, places_total=100)
    join_of(healthy, "app", "a")
    (flow,) = started(healthy)
    assert healthy.with_wait(flow, call, reply, NOW_MS + 7_000, now=7.0) is reply


def test_after_a_long_silence_failures_count_from_the_next_one() -> None:
    """A weekly job whose host failed the last time says nothing of the days between."""
    health = Health()
    for second in range(FAILING_AFTER):
        health.fail(float(second), "HTTP 503")
    health.fail(LONGEST_SILENCE_S, "HTTP 503")
    assert health.since == 0
    health.fail(7 * 86_400.0, "HTTP 503")
    assert (health.since, health.is_failing) == (7 * 86_400.0, True)
