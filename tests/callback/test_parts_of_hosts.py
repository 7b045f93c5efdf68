"""Each part of a host, a named target or the first segment of a path, is failing and tried by itself."""

import pytest

from tests.callback.calls import Outcomes
from tests.callback.test_flows import NOW_MS, started
from wangtimer.callback import Reply, Request
from wangtimer.callback.flows import FAILURE_COUNTS_S, FEW, MOST_PARTS, PATIENCE_S, Flows
from wangtimer.callback.health import FAILING_AFTER
from wangtimer.callback.places import Waiting
from wangtimer.core.flow.origin import part_of_path, part_of_target
from wangtimer.core.flow.slicing import SharedLane

ANSWER, AWAY = Reply(NOW_MS, 5.0, 204, "", ""), Reply(NOW_MS, 5.0, 503, "", "")
SILENCE = Reply(NOW_MS, 9_000.0, None, "", "timed out")


def join(flows: Flows, path: str, number: int = 1, at: float = 0.0, app: str = "app") -> None:
    for _ in range(number):
        flows.join(Waiting(Outcomes().call(f"http://gw{path}", app=app), at))


def fail(flows: Flows, path: str, reply: Reply = AWAY) -> None:
    join(flows, path, FAILING_AFTER)
    for second, flow in enumerate(started(flows)):
        flows.leave(flow, float(second), reply, is_unreachable=False)


@pytest.mark.parametrize("reply", [AWAY, SILENCE], ids=["503", "hangs"])
def test_a_part_that_fails_takes_no_place_from_another(reply: Reply) -> None:
    flows = Flows(places_per_host=20, places_total=100)
    fail(flows, "/bad/1", reply)
    join(flows, "/bad/2", 30, at=5.0)
    join(flows, "/ok", 10, at=5.0)
    assert [flow.to.part for flow in started(flows, 5.0)].count("/ok") == 10
    assert [*flows.failing()] == [("app", "http://gw:80/bad")]
    out = flows.crowded_out(5.0 + PATIENCE_S, 1.0)
    assert {lane.key for lane, _ in out} == {"host:gw:80/bad app"}


def test_a_call_to_another_part_takes_one_place() -> None:
    flows = Flows(places_per_host=20, places_total=100)
    join(flows, "/report")
    started(flows)
    join(flows, "/orders", 30)
    assert len(started(flows)) == 19


def test_a_part_that_has_failed_leaves_the_others_as_many_places_as_it_has() -> None:
    flows = Flows(places_per_host=20, places_total=100)
    join(flows, "/away")
    (flow,) = started(flows)
    flows.leave(flow, 0.0, AWAY, is_unreachable=False)
    join(flows, "/ok")
    join(flows, "/away", 30)
    begun = started(flows)
    assert len(begun) == 1 + 10
    flows.leave(begun[-1], 1.0, ANSWER, is_unreachable=False)
    assert len(started(flows)) == 20 - 10, "it answers"


def test_the_parts_of_an_app_take_together_as_many_places_as_they_leave_to_other_apps() -> None:
    flows = Flows(places_per_host=40, places_total=1_000)
    join(flows, "/", app="other")
    started(flows)
    for number in range(4):
        join(flows, f"/part{number}", 30)
    assert len(started(flows)) == 20


def test_a_part_has_a_call_at_once_while_a_place_is_free_though_another_part_hangs() -> None:
    flows = Flows(places_per_host=20, places_total=1_000)
    join(flows, "/", app="other")
    join(flows, "/hangs", 30)
    assert len(started(flows)) == 1 + 10
    join(flows, "/ok", 2)
    (begun,) = started(flows)
    assert begun.to.part == "/ok"
    (hung, *_) = (flow for flow in flows._flows.values() if flow.to.part == "/hangs")
    flows.leave(hung, 9.0, SILENCE, is_unreachable=False)
    assert [flow.to.part for flow in started(flows)] == ["/ok"], "what hangs counts for itself"


def test_the_room_of_a_lane_is_that_of_its_part() -> None:
    flows = Flows(places_per_host=20, places_total=100)
    fail(flows, "/bad")
    join(flows, "/ok")
    for flow in started(flows, 5.0):
        flows.leave(flow, 5.0, ANSWER, is_unreachable=False)
    join(flows, "/bad", FEW)
    assert flows.room_in(SharedLane.of_way("app", "gw:80", "/bad"), 5.0) <= 0
    assert flows.room_in(SharedLane.of_way("app", "gw:80", "/ok"), 5.0) == 20
    assert flows.room_in(SharedLane.of_app_at_host("app", "gw:80"), 5.0) <= 0, (
        "only the failing part has calls"
    )
    assert flows.room_in(SharedLane.of_host_limit("gw:80"), 5.0) == 20
    assert flows.room_ahead(("app", "http://gw:80"), "gw:80") == 20


def test_a_connection_that_is_open_reaches_all_parts_and_none_ahead_of_a_failing_host() -> None:
    flows = Flows(places_per_host=20, places_total=100)
    flows.reach(("app", "http://gw:80"), "gw:80")
    join(flows, "/a", 3)
    join(flows, "/b", 3)
    assert sum(flows.can_send and flows.take(NOW_MS, 0.0) is not None for _ in range(9)) == 6


def test_parts_are_bounded_for_an_app_and_a_host_and_the_others_are_one() -> None:
    flows = Flows(places_per_host=2_000, places_total=20_000)
    for number in range(5 * MOST_PARTS):
        join(flows, f"/healthy{number}")
        for flow in started(flows):
            flows.leave(flow, 0.0, ANSWER, is_unreachable=False)
    assert len(flows._ways) <= MOST_PARTS, "those that answer are forgotten"
    for number in range(2 * MOST_PARTS):
        fail(flows, f"/bad{number}")
    assert len(flows._ways) == MOST_PARTS + 1
    assert len(flows.failing()) == MOST_PARTS + 1
    assert ("app", "http://gw:80") in flows.failing()
    join(flows, "/bad999", FEW + 5)
    (lane,) = {lane for lane, _ in flows.crowded_out(20.0, 1.0)}
    assert lane == SharedLane.of_way("app", "gw:80")


@pytest.mark.parametrize("failures", [1, FAILING_AFTER])
def test_a_failed_part_that_nobody_calls_keeps_none_from_being_judged_by_itself_for_long(
    failures: int,
) -> None:
    flows = Flows(places_per_host=20, places_total=100)
    for number in range(MOST_PARTS):
        join(flows, f"/order-{number}", failures)
        for second, flow in enumerate(started(flows)):
            flows.leave(flow, float(second), AWAY, is_unreachable=False)
    found = []
    for at in (FAILURE_COUNTS_S - 1.0, FAILURE_COUNTS_S + 10.0):
        join(flows, "/bills", at=at)
        (flow,) = started(flows, at)
        found.append(flow.to.part)
        flows.leave(flow, at, ANSWER, is_unreachable=False)
    assert found == ["", "/bills"]


def test_the_days_of_all_others_begin_anew_when_any_part_of_the_host_answers() -> None:
    flows = Flows(places_per_host=200, places_total=1_000)
    join(flows, "/ok")
    (own,) = started(flows)
    for number in range(2 * MOST_PARTS):
        fail(flows, f"/bad{number}")
    others = flows.failing()["app", "http://gw:80"]
    assert others.since < 100.0
    flows.leave(own, 100.0, ANSWER, is_unreachable=False)
    join(flows, "/bad999", at=200.0)
    flows.try_again(200.0)
    (tried,) = started(flows, 200.0)
    flows.leave(tried, 200.0, AWAY, is_unreachable=False)
    assert (others.since, others.is_failing) == (200.0, True), "it goes on to be tried by one call at a time"
    assert others.failing_within(50.0, 150.0) == 100.0


def test_of_a_failing_part_another_url_is_tried_next() -> None:
    flows = Flows(places_per_host=20, places_total=100)
    fail(flows, "/api/bad")
    join(flows, "/api/bad", 5)
    join(flows, "/api/ok")
    tried = []
    for at in (10.0, 20.0):
        flows.try_again(at)
        assert flows.can_send
        flow, waiting = flows.take(NOW_MS, at)
        tried.append(waiting.call.request.url)
        flow.try_another(waiting.call.request.url)
        flows.leave(flow, at, AWAY, is_unreachable=False)
    assert tried == ["http://gw/api/bad", "http://gw/api/ok"]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/", "/"),
        ("/?a=b", "/"),
        ("/hook", "/hook"),
        ("/v1/jobs?x=/y", "/v1"),
        ("/a-b_c.d?q", "/a-b_c.d"),
        ("/{{app}}/x", "/"),
        ("//x", "/"),
    ],
)
def test_the_first_segment_of_a_path_is_its_part(path: str, part: str) -> None:
    assert part_of_path(path) == part


@pytest.mark.parametrize("secret", ["bot123456:AAF-secret", "x" * 25, "%C3%BC"])
def test_what_may_be_a_secret_is_shown_by_its_checksum(secret: str) -> None:
    assert secret not in part_of_path(f"/{secret}/send")
    assert len(part_of_path(f"/{secret}/send")) == len("/~12345678")
    assert part_of_target(secret).startswith("#~")
    assert part_of_target("pay") == "#pay"


def test_a_request_through_a_named_target_has_its_name_for_a_part_whatever_its_path() -> None:
    request = Request("http://gw/a/b", "POST", (), b"", app="shop", part="#pay")
    assert (request.part, request.way, request.route) == (
        "#pay",
        ("shop", "http://gw:80#pay"),
        ("shop", "http://gw:80"),
    )
    assert request.with_stamps(b"a: b\r\n").part == "#pay"
