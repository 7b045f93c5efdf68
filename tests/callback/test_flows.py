from collections import Counter

import pytest

from tests.callback.calls import Outcomes
from wangtimer.callback import Reply, Request
from wangtimer.callback.flows import FEW, PATIENCE_S, Flows
from wangtimer.callback.health import TRIED_AGAIN_S
from wangtimer.callback.places import MOST_BESIDE, Flow, Waiting, Way
from wangtimer.core.flow.backlog import LATE_MS
from wangtimer.core.flow.slicing import SharedLane

NOW_MS = 1_000_000.0
LONGEST_S = 9.0
ANSWER, SILENCE = Reply(NOW_MS, 5.0, 200, "", ""), Reply(NOW_MS, 9_000.0, None, "", "timed out")


def joined(flows: Flows, *hosts: str) -> None:
    for since, host in enumerate(hosts):
        flows.join(Waiting(Outcomes().call(f"http://{host}/"), since))


def taken(flows: Flows) -> list[str]:
    """Start all that can start, at hosts that answer."""
    hosts = []
    while flows.can_send:
        flow, _ = flows.take(NOW_MS, 0.0)
        flows.open_wide(flow)
        hosts.append(flow.host.split(":")[0])
    return hosts


def test_a_host_gets_no_more_places_than_its_share() -> None:
    flows = Flows(places_per_host=2, places_total=10)
    joined(flows, "a", "a", "a", "b")
    assert sorted(taken(flows)) == ["a", "a", "b"]
    assert (flows.running, flows.waiting) == (3, 1)


def test_hosts_take_turns_when_places_are_short() -> None:
    flows = Flows(places_per_host=9, places_total=4)
    joined(flows, "a", "a", "a", "a", "b", "c")
    assert taken(flows) == ["a", "b", "c", "a"]


def test_late_calls_of_a_host_wait_for_those_that_may_still_be_on_time_but_not_for_ever() -> None:
    flows = Flows(places_per_host=99, places_total=99)
    calls = Outcomes()
    for word, due_at_ms in (("late", NOW_MS - LATE_MS - 1), ("prompt", NOW_MS)):
        for number in range(6):
            flows.join(Waiting(calls.call(f"http://a/x/{word}", due_at_ms), number))
    flows.open_wide(flows._flows["app", "http://a:80/x"])
    paths = [flows.take(NOW_MS, 0.0)[1].call.request.url.split("/")[4] for _ in range(12)]
    assert paths == ["prompt"] * 3 + ["late"] + ["prompt"] * 3 + ["late"] * 5


def test_a_late_call_that_waited_too_long_is_sent_away_too() -> None:
    flows = Flows(places_per_host=1, places_total=1)
    for since in (5, 6):
        flows.join(Waiting(Outcomes().call("http://a/"), since))
    flows.take(NOW_MS, 0.0)
    assert [lane.key for lane, _ in flows.crowded_out(15.0, LONGEST_S)] == ["host:a:80/ app"]
    assert flows.waiting == 0
    assert not flows.can_send


def test_a_host_not_reached_yet_is_tried_by_one_call_first() -> None:
    flows = Flows(places_per_host=9, places_total=100)
    joined(flows, *"aaaaaaaaaaaa")
    assert flows.can_send
    flow, _ = flows.take(NOW_MS, 0.0)
    assert not flows.can_send
    flows.open_wide(flow)
    assert len(taken(flows)) == 8


def test_a_host_that_can_not_be_reached_any_more_loses_its_places() -> None:
    flows = Flows(places_per_host=9, places_total=100)
    joined(flows, *"aaaaaaa")
    flow, _ = flows.take(NOW_MS, 0.0)
    flows.open_wide(flow)
    flows.leave(flow, 0.0, SILENCE, is_unreachable=True)
    flows.take(NOW_MS, 0.0)
    assert not flows.can_send


def test_one_failed_connect_beside_slow_calls_does_not_stop_a_healthy_host() -> None:
    flows = Flows(places_per_host=40, places_total=200)
    joined(flows, *["a"] * 9)
    flow, _ = flows.take(NOW_MS, 0.0)
    flows.open_wide(flow)
    for _ in range(4):
        flows.take(NOW_MS, 0.0)
    for at in (1.0, 2.0):
        flows.leave(flow, at, SILENCE, is_unreachable=True)
        assert flows.can_send, "one tries again, though four slow ones are under way"
        flows.take(NOW_MS, 0.0)
        assert not flows.can_send
    flows.open_wide(flow)
    assert len(taken(flows)) == 2


def test_a_host_once_reached_has_its_places_when_it_comes_again() -> None:
    flows = Flows(places_per_host=9, places_total=100)
    joined(flows, "a")
    flow, _ = flows.take(NOW_MS, 0.0)
    flows.open_wide(flow)
    flows.leave(flow, 0.0, ANSWER, is_unreachable=False)
    joined(flows, *"aaaa")
    for _ in range(4):
        assert flows.can_send
        flows.take(NOW_MS, 0.0)


def test_a_freed_place_goes_to_the_next_of_its_flow_in_order_of_arrival() -> None:
    flows = Flows(places_per_host=1, places_total=10)
    joined(flows, "a", "a", "a")
    order = []
    for _ in range(3):
        flow, waiting = flows.take(NOW_MS, 0.0)
        order.append(waiting.since)
        assert not flows.can_send
        flows.leave(flow, 0.0, ANSWER, is_unreachable=False)
    assert order == [0, 1, 2]


def test_who_waited_too_long_is_taken_out_and_the_rest_go_on() -> None:
    flows = Flows(places_per_host=1, places_total=10)
    joined(flows, "a", "a", "b", "a")
    flow, _ = flows.take(NOW_MS, 0.0)
    assert sorted(waiting.since for _, waiting in flows.crowded_out(2 + LONGEST_S, LONGEST_S)) == [1, 2]
    assert not flows.can_send
    flows.leave(flow, 0.0, ANSWER, is_unreachable=False)
    assert taken(flows) == ["a"]
    assert (flows.running, flows.waiting) == (1, 0)


def test_idle_hosts_are_forgotten() -> None:
    flows = Flows(places_per_host=1, places_total=10)
    joined(flows, "a", "b")
    flow, _ = flows.take(NOW_MS, 0.0)
    flows.leave(flow, 0.0, ANSWER, is_unreachable=False)
    flows.clear()
    assert not flows._flows


def test_however_many_hosts_have_calls_a_new_one_costs_no_look_at_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    is_idle = Way.is_idle.fget

    def look(way: Way) -> bool:
        nonlocal looks
        looks += 1
        return is_idle(way)

    monkeypatch.setattr(Way, "is_idle", property(look))
    monkeypatch.setattr("wangtimer.callback.flows._MOST_WAYS", 10)
    flows = Flows(places_per_host=1, places_total=10)
    joined(flows, *(f"h{number}" for number in range(1_000)))
    assert 10 <= looks < 2_000


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.example/x", "a.example:80"),
        ("https://user:secret@a.example?x=1", "a.example:443"),
        ("http://[::1]:8080/", "::1:8080"),
        ("http://a:port/", "http://a:port"),
    ],
)
def test_a_flow_leads_to_a_host_and_port(url: str, host: str) -> None:
    assert Request(url, "POST", (), b"").host == host


def join_of(flows: Flows, app: str, host: str, number: int = 1) -> None:
    for since in range(number):
        flows.join(Waiting(Outcomes().call(f"http://{host}/", app=app), since))


def started(flows: Flows, at: float = 0.0) -> list[Flow]:
    """Start all that can start, at hosts that can be reached."""
    found = []
    while flows.can_send:
        flow, _ = flows.take(NOW_MS, at)
        flows.open_wide(flow)
        found.append(flow)
    return found


def end(flows: Flows, flow: Flow, *, at: float, has_failed: bool | None) -> None:
    reply = None if has_failed is None else SILENCE if has_failed else ANSWER
    flows.leave(flow, at, reply, is_unreachable=False)


def test_places_halve_when_a_call_fails_and_calls_that_fail_together_count_once() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "app", "a", 8)
    under_way = started(flows)
    for flow in under_way[:4]:
        end(flows, flow, at=10.0, has_failed=True)
    assert under_way[0].to.places == 4
    end(flows, under_way[4], at=10.1, has_failed=True)
    assert under_way[0].to.places == 2


def test_one_place_is_left_to_try_a_failing_host_with() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "app", "a", 30)
    for at in range(0, 100, 10):
        flows.try_again(float(at))
        for flow in started(flows):
            end(flows, flow, at=float(at), has_failed=True)
            at += 1
    join_of(flows, "app", "a", 5)
    flows.try_again(100.0)
    assert len(started(flows)) == 1


def test_a_host_that_answers_again_has_one_place_more_for_each_answer() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "app", "a", 100)
    for number, flow in enumerate(started(flows)):
        end(flows, flow, at=float(number), has_failed=True)
    flows.try_again(9.0)
    numbers = []
    for _ in range(4):
        under_way = started(flows)
        numbers.append(len(under_way))
        for flow in under_way:
            end(flows, flow, at=9.0, has_failed=False)
    assert numbers == [1, 2, 4, 8]


def test_what_was_held_back_says_nothing_of_its_host() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "app", "a")
    (flow,) = started(flows)
    end(flows, flow, at=1.0, has_failed=None)
    assert flow.to.places == 8


def test_an_app_has_at_most_as_many_connections_as_are_free() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(flows, "hog", f"h{host}", 8)
    assert len(started(flows)) == 50
    join_of(flows, "other", "b", 5)
    assert [flow.host for flow in started(flows)] == ["b:80"] * 5


def test_two_apps_that_take_all_they_can_have_a_third_each() -> None:
    flows = Flows(places_per_host=8, places_total=120)
    for host in range(50):
        join_of(flows, "one", f"h{host}", 8)
        join_of(flows, "two", f"g{host}", 8)
    under_way = started(flows)
    shares = [sum(flow.app.name == app for flow in under_way) for app in ("one", "two")]
    assert shares == [40, 40]


def test_an_apps_slow_hosts_leave_room_for_its_other_hosts() -> None:
    flows = Flows(places_per_host=99, places_total=100)
    for host in range(4):
        join_of(flows, "app", f"slow{host}", 50)
    slow = started(flows)
    assert len(slow) > 100 * 4 / 10
    join_of(flows, "app", "fast", 9)
    fast = [flow for flow in started(flows) if flow.host == "fast:80"]
    assert len(fast) == 4
    end(flows, fast[0], at=1.0, has_failed=False)
    assert started(flows)


def test_what_a_slow_host_of_an_app_has_no_room_for_is_sent_to_the_hosts_lane() -> None:
    flows = Flows(places_per_host=99, places_total=100)
    for host in range(4):
        join_of(flows, "app", f"slow{host}", 50)
    started(flows)
    gone = {lane.key for lane, _ in flows.crowded_out(60.0, 100.0)}
    assert gone == {f"host:slow{host}:80/ app" for host in range(4)}
    assert flows.room_in(SharedLane.of_way("app", "slow0:80", "/"), 10.0) == 0


def test_a_freed_place_goes_to_an_app_that_waits_for_its_share() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(flows, "hog", f"h{host}", 8)
    calls = 0
    under_way = started(flows)
    while under_way:
        calls += len(under_way)
        for flow in under_way:
            end(flows, flow, at=1.0, has_failed=False)
        under_way = started(flows)
    assert (calls, flows.waiting, flows.running) == (400, 0, 0)


def test_one_apps_full_host_holds_up_no_other_host_of_it() -> None:
    flows = Flows(places_per_host=2, places_total=100)
    join_of(flows, "app", "a", 5)
    join_of(flows, "app", "b", 1)
    assert sorted(flow.host for flow in started(flows)) == ["a:80", "a:80", "b:80"]


def test_however_many_apps_wait_for_a_host_a_place_that_comes_free_costs_no_look_at_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = Flows(places_per_host=2, places_total=100)
    for number in range(1_000):
        join_of(flows, f"app{number}", "a")
    under_way = started(flows)
    moves = 0
    stand = Flows._stand

    def count(*those: object) -> None:
        nonlocal moves
        moves += 1
        stand(*those)

    monkeypatch.setattr(Flows, "_stand", count)
    ended = 0
    while under_way:
        ended += len(under_way)
        for flow in under_way:
            end(flows, flow, at=1.0, has_failed=False)
        under_way = started(flows)
    assert ended == 1_000
    assert moves < 5_000


def test_one_apps_failures_at_a_host_take_no_place_from_another_app() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "good", "a")
    join_of(flows, "evil", "a", 8)
    for at, flow in enumerate(started(flows)):
        is_evil = flow.app.name == "evil"
        flows.leave(flow, float(at), SILENCE if is_evil else ANSWER, is_unreachable=is_evil)
    join_of(flows, "evil", "a", 8)
    join_of(flows, "good", "a", 4)
    assert Counter(flow.app.name for flow in started(flows)) == {"evil": 1, "good": 4}


def test_failures_over_tls_take_no_place_from_plain_calls() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    flows.join(Waiting(Outcomes().call("https://a:80/"), 0))
    (flow,) = started(flows)
    flows.leave(flow, 0.0, SILENCE, is_unreachable=True)
    join_of(flows, "app", "a", 8)
    assert len(started(flows)) == 8


def test_all_apps_have_as_many_calls_to_a_host_as_one() -> None:
    flows = Flows(places_per_host=8, places_total=1_000)
    for app in range(20):
        join_of(flows, f"app{app}", "a", 8)
    assert len(started(flows)) == 8


def test_an_app_whose_calls_hang_leaves_another_app_places_at_the_same_host() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "hangs", "a", 20)
    join_of(flows, "works", "a", 1)
    under_way = started(flows)
    assert Counter(flow.app.name for flow in under_way) == {"hangs": 4, "works": 1}
    end(flows, under_way[[flow.app.name for flow in under_way].index("works")], at=1.0, has_failed=False)
    assert len(started(flows)) == 4, "alone it has them all"


def test_an_app_whose_calls_a_host_fails_takes_no_room_from_another() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "good", "a")
    join_of(flows, "evil", "a", 3)
    for at, flow in enumerate(started(flows)):
        end(flows, flow, at=float(at), has_failed=flow.app.name == "evil")
    assert flows.room_in(SharedLane.of_way("evil", "a:80", "/"), 9.0) == 1
    assert flows.room_in(SharedLane.of_way("good", "a:80", "/"), 9.0) == 8
    assert flows.room_in(SharedLane.of_pause("host:a:80"), 9.0) == 8
    assert flows.room_in(SharedLane.of_host_limit("a:80"), 9.0) == 8


def test_while_another_app_has_all_places_of_a_host_some_calls_are_pulled_and_get_their_turns() -> None:
    flows = Flows(places_per_host=8, places_total=1_000)
    join_of(flows, "other", "a")
    (first,) = started(flows)
    end(flows, first, at=1.0, has_failed=False)
    join_of(flows, "busy", "a", 200)
    assert len(started(flows)) == 8
    busy, other = (SharedLane.of_way(app, "a:80", "/") for app in ("busy", "other"))
    assert (flows.room_in(busy, 60.0), flows.room_in(other, 60.0)) == (0, 8)
    join_of(flows, "other", "a", 3)
    assert flows.room_in(other, 60.0) == 5


def test_a_place_that_one_flow_was_let_in_for_and_left_goes_to_another() -> None:
    flows = Flows(places_per_host=1, places_total=100)
    for app in ("a", "b", "c"):
        flows.join(Waiting(Outcomes().call("http://h/", app=app), 0 if app == "b" else 50))
    (flow,) = started(flows)
    end(flows, flow, at=51.0, has_failed=False)
    assert [one.call.request.app for _, one in flows.crowded_out(52.0, LONGEST_S)] == ["b"]
    assert [flow.app.name for flow in started(flows)] == ["c"]


def test_what_would_wait_too_long_by_the_rate_at_which_calls_end_is_sent_away_the_latest_first() -> None:
    flows = Flows(places_per_host=1, places_total=100)
    join_of(flows, "app", "a", 60)
    started(flows)
    assert flows.crowded_out(PATIENCE_S / 2, LONGEST_S) == []
    gone = [waiting.since for _, waiting in flows.crowded_out(PATIENCE_S + 1, LONGEST_S)]
    assert gone[1:] == sorted(gone[1:], reverse=True)
    assert max(gone) == 59
    assert flows.waiting == FEW


def test_calls_to_a_host_that_answers_fast_enough_stay() -> None:
    flows = Flows(places_per_host=1, places_total=10_000)
    for _ in range(1_000):
        flows.join(Waiting(Outcomes().call("http://a/"), 100.0))
    for number in range(500):
        (flow,) = started(flows)
        end(flows, flow, at=100.0 + number / 100, has_failed=False)
    assert flows.crowded_out(105.0, LONGEST_S) == []


def test_what_waits_for_its_apps_share_is_sent_to_the_apps_lane() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(flows, "hog", f"h{host}", 8)
    started(flows)
    assert {lane.key for lane, _ in flows.crowded_out(10.0, 100.0)} == {"app:hog"}
    assert flows.waiting == FEW


def test_room_is_what_could_start_at_once() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    host, app = SharedLane.of_way("app", "a:80", "/"), SharedLane.of_app("app")
    assert (flows.room_in(host, 0.0), flows.room_in(app, 0.0)) == (1, 100)
    join_of(flows, "app", "a", 5)
    under_way = started(flows)
    assert (flows.room_in(host, 0.0), flows.room_in(app, 0.0)) == (3, 90)
    for flow in under_way:
        end(flows, flow, at=1.0, has_failed=True)
    assert flows.room_in(host, 1.0) == 4
    join_of(flows, "app", "a", 9)
    started(flows)
    assert flows.room_in(host, 1.0) == 0


def hanging(places: int = 2) -> Flows:
    """Return flows to a host that has one place left, and a call there that hangs since moment 0."""
    flows = Flows(places_per_host=places, places_total=10)
    join_of(flows, "app", "a", places + 4)
    for number, flow in enumerate(started(flows, at=-60.0)):
        end(flows, flow, at=number - places + 1.0, has_failed=True)
    flows.try_again(0.0)
    assert len(started(flows)) == 1
    return flows


def test_a_host_whose_one_call_hangs_is_tried_by_another_after_a_while() -> None:
    flows = hanging()
    flows.try_again(TRIED_AGAIN_S - 0.1)
    assert not flows.can_send
    flows.try_again(TRIED_AGAIN_S)
    assert len(started(flows)) == 1


def test_no_more_than_a_few_calls_try_a_host_that_hangs() -> None:
    """However long their time-out is."""
    flows = hanging(places=8)
    for seconds in range(100):
        flows.try_again(TRIED_AGAIN_S + seconds)
        started(flows)
    assert flows.running == 1 + 1 + MOST_BESIDE


def test_a_host_is_tried_again_although_its_places_became_fewer_than_its_calls() -> None:
    flows = Flows(places_per_host=8, places_total=20)
    join_of(flows, "app", "a", 30)
    first, *others = started(flows)
    end(flows, first, at=0.0, has_failed=True)
    for flow in others[:3]:
        end(flows, flow, at=1.0, has_failed=True)
    assert (started(flows), flows.running) == ([], 3)
    flows.clear()
    assert flows.room_in(SharedLane.of_way("app", "a:80", "/"), TRIED_AGAIN_S) == 1
    join_of(flows, "app", "a", 1)
    flows.try_again(TRIED_AGAIN_S)
    assert len(started(flows)) == 1


def test_one_more_call_tries_a_host_that_has_some_places_left_and_all_of_them_hang() -> None:
    """Its places halve with each time-out, and it may answer again before there is but one."""
    flows = Flows(places_per_host=8, places_total=20)
    join_of(flows, "app", "a", 30)
    for flow in started(flows):
        end(flows, flow, at=0.0, has_failed=True)
    assert (len(started(flows)), flows.running) == (4, 4)
    for seconds in range(10):
        flows.try_again(TRIED_AGAIN_S + seconds)
        started(flows)
    assert flows.running == 5 + MOST_BESIDE


def test_tries_beside_slow_calls_that_are_answered_do_not_raise_the_cap() -> None:
    flows = Flows(places_per_host=8, places_total=100)
    join_of(flows, "app", "a", 99)
    first = started(flows)
    for flow in first:
        end(flows, flow, at=0.0, has_failed=True)
    under_way = started(flows)
    for at in (TRIED_AGAIN_S, 2 * TRIED_AGAIN_S):
        flows.try_again(at)
        under_way += started(flows)
    assert flows.running == 6
    for flow in under_way:
        end(flows, flow, at=20.0, has_failed=False)
        started(flows)
        assert flows.running <= 8


def test_each_try_that_fails_is_followed_by_one() -> None:
    flows = hanging()
    flows.try_again(TRIED_AGAIN_S)
    (flow,) = started(flows)
    end(flows, flow, at=10.0, has_failed=True)
    assert flows.running == 1
    assert not flows.can_send
    end(flows, flow, at=15.0, has_failed=True)
    assert len(started(flows)) == 1


def test_an_answer_beside_one_that_hangs_gives_places_at_once() -> None:
    flows = hanging(places=8)
    flows.try_again(TRIED_AGAIN_S)
    (flow,) = started(flows)
    end(flows, flow, at=6.0, has_failed=False)
    assert len(started(flows)) == 2
    assert flows.running == 3


def test_what_waits_in_the_lane_of_a_host_that_hangs_is_pulled_to_try_it() -> None:
    flows = Flows(places_per_host=2, places_total=10)
    join_of(flows, "app", "a", 3)
    first, second = started(flows)
    for flow in (first, second):
        end(flows, flow, at=0.0, has_failed=True)
    assert len(started(flows)) == 1
    lane = SharedLane.of_way("app", "a:80", "/")
    assert flows.room_in(lane, TRIED_AGAIN_S - 0.1) == 0
    assert flows.room_in(lane, TRIED_AGAIN_S) == 1


def test_a_slow_host_that_has_places_gets_no_more() -> None:
    flows = Flows(places_per_host=2, places_total=10)
    join_of(flows, "app", "a", 6)
    assert len(started(flows)) == 2
    flows.try_again(60.0)
    assert not flows.can_send


def test_an_app_whose_calls_find_no_place_at_a_host_for_a_while_gets_one() -> None:
    """Another app's calls there may take ten minutes, and had all places."""
    flows = Flows(places_per_host=4, places_total=100)

    def join(app: str, number: int) -> None:
        for _ in range(number):
            flows.join(Waiting(Outcomes().call("http://a/", app=app), 0.0))

    def started() -> list[str]:
        apps = []
        while flows.can_send:
            flow, _ = flows.take(NOW_MS, 0.0)
            flows.open_wide(flow)
            apps.append(flow.app.name)
        return apps

    join("slow", 4)
    assert started() == ["slow"] * 4
    join("other", 2)
    assert started() == []
    flows.try_again(PATIENCE_S / 2)
    assert started() == []
    flows.try_again(PATIENCE_S)
    assert started() == ["other"]
    flows.try_again(2 * PATIENCE_S)
    assert started() == []
