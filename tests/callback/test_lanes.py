import pytest

from tests.callback.calls import Outcomes
from wangtimer.callback import Request
from wangtimer.callback.lanes import FEW, PATIENCE_S, Lane, Lanes, Waiting
from wangtimer.core.backlog import LATE_MS
from wangtimer.core.slicing import SharedLane

NOW_MS = 1_000_000.0
LONGEST_S = 9.0


def joined(lanes: Lanes, *hosts: str) -> None:
    for since, host in enumerate(hosts):
        lanes.join(Waiting(Outcomes().call(f"http://{host}/"), since))


def taken(lanes: Lanes) -> list[str]:
    """Start all that can start, at hosts that answer."""
    hosts = []
    while lanes.can_send:
        lane, _ = lanes.take(NOW_MS)
        lanes.open_wide(lane)
        hosts.append(lane.host.split(":")[0])
    return hosts


def test_a_host_gets_no_more_places_than_its_share() -> None:
    lanes = Lanes(places_per_host=2, places_total=10)
    joined(lanes, "a", "a", "a", "b")
    assert sorted(taken(lanes)) == ["a", "a", "b"]
    assert (lanes.running, lanes.waiting) == (3, 1)


def test_hosts_take_turns_when_places_are_short() -> None:
    lanes = Lanes(places_per_host=9, places_total=4)
    joined(lanes, "a", "a", "a", "a", "b", "c")
    assert taken(lanes) == ["a", "b", "c", "a"]


def test_late_calls_of_a_host_wait_for_those_that_may_still_be_on_time_but_not_for_ever() -> None:
    lanes = Lanes(places_per_host=99, places_total=99)
    calls = Outcomes()
    for word, due_at_ms in (("late", NOW_MS - LATE_MS - 1), ("prompt", NOW_MS)):
        for number in range(6):
            lanes.join(Waiting(calls.call(f"http://a/{word}", due_at_ms), number))
    lanes.open_wide(lanes._lanes["app", "a:80"])
    paths = [lanes.take(NOW_MS)[1].call.request.url.split("/")[3] for _ in range(12)]
    assert paths == ["prompt"] * 3 + ["late"] + ["prompt"] * 3 + ["late"] * 5


def test_a_late_call_that_waited_too_long_is_sent_away_too() -> None:
    lanes = Lanes(places_per_host=1, places_total=1)
    for since in (5, 6):
        lanes.join(Waiting(Outcomes().call("http://a/"), since))
    lanes.take(NOW_MS)
    assert [lane.key for lane, _ in lanes.crowded_out(15.0, LONGEST_S)] == ["host:a:80"]
    assert lanes.waiting == 0
    assert not lanes.can_send


def test_a_host_not_reached_yet_is_tried_by_one_call_first() -> None:
    lanes = Lanes(places_per_host=9, places_total=100)
    joined(lanes, *"aaaaaaaaaaaa")
    assert lanes.can_send
    lane, _ = lanes.take(NOW_MS)
    assert not lanes.can_send
    lanes.open_wide(lane)
    assert len(taken(lanes)) == 8


def test_a_host_that_can_not_be_reached_any_more_loses_its_places() -> None:
    lanes = Lanes(places_per_host=9, places_total=100)
    joined(lanes, *"aaaaaaa")
    lane, _ = lanes.take(NOW_MS)
    lanes.open_wide(lane)
    lanes.leave(lane, 0.0, is_unreachable=True, has_failed=True)
    lanes.take(NOW_MS)
    assert not lanes.can_send


def test_one_failed_connect_beside_slow_calls_does_not_stop_a_healthy_host() -> None:
    lanes = Lanes(places_per_host=40, places_total=200)
    joined(lanes, *["a"] * 9)
    lane, _ = lanes.take(NOW_MS)
    lanes.open_wide(lane)
    for _ in range(4):
        lanes.take(NOW_MS)
    for at in (1.0, 2.0):
        lanes.leave(lane, at, is_unreachable=True, has_failed=True)
        assert lanes.can_send, "one tries again, though four slow ones are under way"
        lanes.take(NOW_MS)
        assert not lanes.can_send
    lanes.open_wide(lane)
    assert len(taken(lanes)) == 2


def test_a_host_once_reached_has_its_places_when_it_comes_again() -> None:
    lanes = Lanes(places_per_host=9, places_total=100)
    joined(lanes, "a")
    lane, _ = lanes.take(NOW_MS)
    lanes.open_wide(lane)
    lanes.leave(lane, 0.0, is_unreachable=False, has_failed=False)
    joined(lanes, *"aaaa")
    for _ in range(4):
        assert lanes.can_send
        lanes.take(NOW_MS)


def test_a_freed_place_goes_to_the_next_of_its_lane_in_order_of_arrival() -> None:
    lanes = Lanes(places_per_host=1, places_total=10)
    joined(lanes, "a", "a", "a")
    order = []
    for _ in range(3):
        lane, waiting = lanes.take(NOW_MS)
        order.append(waiting.since)
        assert not lanes.can_send
        lanes.leave(lane, 0.0, is_unreachable=False, has_failed=False)
    assert order == [0, 1, 2]


def test_who_waited_too_long_is_taken_out_and_the_rest_go_on() -> None:
    lanes = Lanes(places_per_host=1, places_total=10)
    joined(lanes, "a", "a", "b", "a")
    lane, _ = lanes.take(NOW_MS)
    assert sorted(waiting.since for _, waiting in lanes.crowded_out(2 + LONGEST_S, LONGEST_S)) == [1, 2]
    assert not lanes.can_send
    lanes.leave(lane, 0.0, is_unreachable=False, has_failed=False)
    assert taken(lanes) == ["a"]
    assert (lanes.running, lanes.waiting) == (1, 0)


def test_idle_hosts_are_forgotten() -> None:
    lanes = Lanes(places_per_host=1, places_total=10)
    joined(lanes, "a", "b")
    lane, _ = lanes.take(NOW_MS)
    lanes.leave(lane, 0.0, is_unreachable=False, has_failed=False)
    lanes.clear()
    assert not lanes._lanes


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.example/x", "a.example:80"),
        ("https://user:secret@a.example?x=1", "a.example:443"),
        ("http://[::1]:8080/", "::1:8080"),
        ("http://a:port/", "http://a:port"),
    ],
)
def test_a_lane_is_a_host_and_port(url: str, host: str) -> None:
    assert Request(url, "POST", (), b"").host == host


def join_of(lanes: Lanes, app: str, host: str, number: int = 1) -> None:
    for since in range(number):
        lanes.join(Waiting(Outcomes().call(f"http://{host}/", app=app), since))


def started(lanes: Lanes) -> list[Lane]:
    """Start all that can start, at hosts that can be reached."""
    lanes_of = []
    while lanes.can_send:
        lane, _ = lanes.take(NOW_MS)
        lanes.open_wide(lane)
        lanes_of.append(lane)
    return lanes_of


def end(lanes: Lanes, lane: Lane, *, at: float, has_failed: bool | None) -> None:
    lanes.leave(lane, at, is_unreachable=False, has_failed=has_failed)


def test_places_halve_when_a_call_fails_and_calls_that_fail_together_count_once() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    join_of(lanes, "app", "a", 8)
    under_way = started(lanes)
    for lane in under_way[:4]:
        end(lanes, lane, at=10.0, has_failed=True)
    assert under_way[0].to.places == 4
    end(lanes, under_way[4], at=10.1, has_failed=True)
    assert under_way[0].to.places == 2


def test_one_place_is_left_to_try_a_failing_host_with() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    join_of(lanes, "app", "a", 30)
    for at in range(10):
        for lane in started(lanes):
            end(lanes, lane, at=float(at), has_failed=True)
            at += 1
    join_of(lanes, "app", "a", 5)
    assert len(started(lanes)) == 1


def test_a_host_that_answers_again_has_one_place_more_for_each_answer() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    join_of(lanes, "app", "a", 100)
    for number, lane in enumerate(started(lanes)):
        end(lanes, lane, at=float(number), has_failed=True)
    numbers = []
    for _ in range(4):
        under_way = started(lanes)
        numbers.append(len(under_way))
        for lane in under_way:
            end(lanes, lane, at=9.0, has_failed=False)
    assert numbers == [1, 2, 4, 8]


def test_what_was_held_back_says_nothing_of_its_host() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    join_of(lanes, "app", "a")
    (lane,) = started(lanes)
    end(lanes, lane, at=1.0, has_failed=None)
    assert lane.to.places == 8


def test_an_app_has_at_most_as_many_connections_as_are_free() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(lanes, "hog", f"h{host}", 8)
    assert len(started(lanes)) == 50
    join_of(lanes, "other", "b", 5)
    assert [lane.host for lane in started(lanes)] == ["b:80"] * 5


def test_two_apps_that_take_all_they_can_have_a_third_each() -> None:
    lanes = Lanes(places_per_host=8, places_total=120)
    for host in range(50):
        join_of(lanes, "one", f"h{host}", 8)
        join_of(lanes, "two", f"g{host}", 8)
    under_way = started(lanes)
    shares = [sum(lane.app.name == app for lane in under_way) for app in ("one", "two")]
    assert shares == [40, 40]


def test_a_freed_place_goes_to_an_app_that_waits_for_its_share() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(lanes, "hog", f"h{host}", 8)
    calls = 0
    under_way = started(lanes)
    while under_way:
        calls += len(under_way)
        for lane in under_way:
            end(lanes, lane, at=1.0, has_failed=False)
        under_way = started(lanes)
    assert (calls, lanes.waiting, lanes.running) == (400, 0, 0)


def test_one_apps_full_host_holds_up_no_other_host_of_it() -> None:
    lanes = Lanes(places_per_host=2, places_total=100)
    join_of(lanes, "app", "a", 5)
    join_of(lanes, "app", "b", 1)
    assert sorted(lane.host for lane in started(lanes)) == ["a:80", "a:80", "b:80"]


def test_what_would_wait_too_long_by_the_rate_at_which_calls_end_is_sent_away_the_latest_first() -> None:
    lanes = Lanes(places_per_host=1, places_total=100)
    join_of(lanes, "app", "a", 60)
    started(lanes)
    assert lanes.crowded_out(PATIENCE_S / 2, LONGEST_S) == []
    gone = [waiting.since for _, waiting in lanes.crowded_out(PATIENCE_S + 1, LONGEST_S)]
    assert gone[1:] == sorted(gone[1:], reverse=True)
    assert max(gone) == 59
    assert lanes.waiting == FEW


def test_calls_to_a_host_that_answers_fast_enough_stay() -> None:
    lanes = Lanes(places_per_host=1, places_total=10_000)
    for _ in range(1_000):
        lanes.join(Waiting(Outcomes().call("http://a/"), 100.0))
    for number in range(500):
        (lane,) = started(lanes)
        end(lanes, lane, at=100.0 + number / 100, has_failed=False)
    assert lanes.crowded_out(105.0, LONGEST_S) == []


def test_what_waits_for_its_apps_share_is_sent_to_the_apps_lane() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    for host in range(50):
        join_of(lanes, "hog", f"h{host}", 8)
    started(lanes)
    assert {lane.key for lane, _ in lanes.crowded_out(10.0, 100.0)} == {"app:hog"}
    assert lanes.waiting == FEW


def test_room_is_what_could_start_at_once() -> None:
    lanes = Lanes(places_per_host=8, places_total=100)
    host, app = SharedLane.of_host("a:80"), SharedLane.of_app("app")
    assert (lanes.room_in(host, 0.0), lanes.room_in(app, 0.0)) == (1, 100)
    join_of(lanes, "app", "a", 5)
    under_way = started(lanes)
    assert (lanes.room_in(host, 0.0), lanes.room_in(app, 0.0)) == (3, 90)
    for lane in under_way:
        end(lanes, lane, at=1.0, has_failed=True)
    assert lanes.room_in(host, 1.0) == 4
    join_of(lanes, "app", "a", 9)
    started(lanes)
    assert lanes.room_in(host, 1.0) == 0
