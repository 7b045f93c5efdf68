"""The puller's own loop: looks at every lane, and between them the lanes that may have room."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any

import pytest

from tests.stages.made_rules import Rules, no_rules
from wangtimer.callback.permits import Permit
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.claim import Batch, Claims, Fired
from wangtimer.executor.lane_limits import ASK_IN_VAIN_EVERY_S, FEW_PERMITS, RATE_EVERY_S
from wangtimer.executor.lane_reader import LaneReader
from wangtimer.executor.puller import LANES_A_TRIP, LOOK_EVERY_S, LOOK_IN_VAIN_EVERY_S, Puller
from wangtimer.store.redis.lanes import Pulled, PullOrder
from wangtimer.store.redis.permits import PermitOrder, Permitted
from wangtimer.store.redis.slices import Leases, Taken
from wangtimer.testing.doubles import HandClock, MemoryPermits, MemoryServer, MemorySlices

HOSTS = [f"h{number}:80" for number in range(1_000)]
# A look at all of them takes longer than from one look to the next.
PULL_S = 0.0015


def send_nobody(batches: Sequence[Batch]) -> list[Fired]:
    return [Fired() for _ in batches]


class SlowLanes:
    """Lanes in which all wait and none is given, each of which takes its time to say so."""

    def __init__(self, clock: HandClock) -> None:
        self.asked: list[str] = []
        self.on_pull: Callable[[SharedLane], None] = lambda _lane: None
        self._clock = clock

    def index(self) -> dict[SharedLane, str]:
        self.asked.append("index")
        return {SharedLane.of_way("app", host): "token" for host in HOSTS}

    def pull(self, lane: SharedLane, *_how: object) -> Pulled:
        self._clock.sleep(PULL_S)
        self.asked.append(lane.key)
        self.on_pull(lane)
        return Pulled(1, 5, 0)

    def pull_all(self, orders: Sequence[PullOrder], *how: object) -> list[Pulled]:
        return [self.pull(one.lane, one.claim_id, one.most, *how) for one in orders]

    @property
    def looks(self) -> int:
        return self.asked.count("index")


def puller_of(lanes: Any, room_in: Callable[[SharedLane], int], clock: HandClock, throttle: Any) -> Puller:
    """Return a puller that takes from every lane; whatever it pulls is fired by nobody."""
    claims = Claims("test", 10_000)
    reader = LaneReader(lanes, claims, clock.monotonic, lambda _lane: True)
    puller = Puller(reader, claims, room_in, clock, 10_000, lambda: None, throttle)
    puller.fire_by(send_nobody)
    return puller


def look(puller: Puller) -> None:
    """Look at all lanes, and pull from those that are in line."""
    puller.look()
    pull(puller)


def pull(puller: Puller) -> None:
    """Pull until no lane is in line."""
    while puller.has_lanes_to_pull:
        puller.pull_next()


@pytest.fixture
def lanes() -> SlowLanes:
    return SlowLanes(HandClock())


@pytest.fixture
def puller(lanes: SlowLanes) -> Puller:
    clock = lanes._clock
    throttle = no_rules().throttle(None)
    return puller_of(lanes, lambda _lane: 1, clock, throttle)


def test_a_look_that_takes_longer_than_from_one_to_the_next_starves_no_lane_that_has_room(
    lanes: SlowLanes, puller: Puller
) -> None:
    busy = f"host:{HOSTS[0]} app"
    pulled_at: list[float] = []

    def end_a_call(lane: SharedLane) -> None:
        if lane.key == busy:
            pulled_at.append(lanes._clock.monotonic())
        if pulled_at:
            puller.note_ended(HOSTS[0], "app")
        if lanes.looks == 4:
            puller.stop()

    lanes.on_pull = end_a_call
    while puller.look_or_pull() is not None:
        pass  # all are behind: nobody waits
    assert set(lanes.asked) == {"index", *(f"host:{host} app" for host in HOSTS)}
    assert max(after - before for before, after in pairwise(pulled_at)) <= 10 * PULL_S


def test_a_lane_in_which_calls_ended_is_pulled_once_before_the_next_look(
    lanes: SlowLanes, puller: Puller
) -> None:
    look(puller)
    for _ in range(3):
        puller.note_ended(HOSTS[0], "app")
    lanes.asked.clear()
    pull(puller)
    assert lanes.asked == [f"host:{HOSTS[0]} app"]


def test_a_lane_without_room_is_looked_at_seldom(lanes: SlowLanes) -> None:
    clock = lanes._clock
    rooms = {f"host:{HOSTS[0]} app": 1}
    puller = puller_of(lanes, lambda lane: rooms.get(lane.key, 0), clock, no_rules().throttle(None))
    counts = []
    for _ in range(6):
        before = clock.monotonic()
        lanes.asked.clear()
        look(puller)
        counts.append(len(lanes.asked) - 1)
        clock.sleep(2 - (clock.monotonic() - before))
    assert counts[:2] == [1_000, 1]
    assert sum(counts) <= 3 * 1_000 + 6
    # A lane that has room again is pulled at the next look.
    rooms[f"host:{HOSTS[1]} app"] = 1
    lanes.asked.clear()
    look(puller)
    assert f"host:{HOSTS[1]} app" in lanes.asked


def test_a_process_that_knows_of_no_lane_looks_seldom_until_it_sends_somebody_to_one(puller: Puller) -> None:
    clock = puller._clock
    assert puller.rest_s == LOOK_IN_VAIN_EVERY_S
    puller.expect()
    assert puller.rest_s == 1.0
    clock.sleep(2)
    assert puller.rest_s == LOOK_IN_VAIN_EVERY_S
    look(puller)
    assert puller.rest_s == 1.0


class FailingHosts:
    """Lanes of hosts that all fail: each has room for a try 5 s after the one before. Nobody is given."""

    TRIP_S, LANE_S, REST_S = 0.002, 0.001, 5.0

    def __init__(self, *lanes: SharedLane) -> None:
        self.clock = HandClock()
        self.entries = dict.fromkeys(lanes, "token")
        self.room_at = dict.fromkeys(lanes, self.clock.monotonic())
        self.waits: dict[SharedLane, list[float]] = {lane: [] for lane in lanes}
        self.lane_s = self.LANE_S
        self.pulls: list[int] = []  # how many firings each trip asked for
        self.app_room = 1_000
        self.is_empty = False
        self.puller = puller_of(self, self.room_in, self.clock, no_rules().throttle(None))

    def room_in(self, lane: SharedLane) -> int:
        room_at = self.room_at.get(lane)
        return self.app_room if room_at is None else int(room_at <= self.clock.monotonic())

    def index(self) -> dict[SharedLane, str]:
        return dict(self.entries)

    def pull_all(self, orders: Sequence[PullOrder], *_how: object) -> list[Pulled]:
        self.pulls.append(sum(order.most for order in orders))
        self.clock.sleep(self.TRIP_S + len(orders) * self.lane_s)
        now = self.clock.monotonic()
        for order in orders:
            if order.most:
                self.waits[order.lane].append(now - self.room_at[order.lane])
                self.room_at[order.lane] = now + self.REST_S
        return [Pulled(None, 0, 0) if self.is_empty else Pulled(1, 5, 0) for _ in orders]

    def forget(self, lanes: Mapping[SharedLane, str]) -> None:
        self.clock.sleep(self.TRIP_S)
        for lane in lanes:
            del self.entries[lane]

    def run_for(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            pause_s = self.puller.look_or_pull()
            if pause_s:
                self.clock.sleep(0.001 + min(pause_s, 0.1))


def lanes_of_bank(number: int) -> list[SharedLane]:
    """Return lanes, half of which come before those of any other host in order of name."""
    return [SharedLane.of_way("bank", f"{'az'[one % 2]}{one}:80") for one in range(number)]


def test_an_app_with_thousands_of_failing_hosts_keeps_no_other_apps_host_waiting() -> None:
    lane = SharedLane.of_way("shop", "shop.test:80")
    it = FailingHosts(*lanes_of_bank(2_000), lane)
    it.run_for(16)
    assert len(it.waits[lane]) >= 3
    trip_s = it.TRIP_S + LANES_A_TRIP * it.LANE_S
    assert max(it.waits[lane]) <= LOOK_EVERY_S + 3 * trip_s
    it.room_at[lane] = ended_at = it.clock.monotonic()  # it answers again
    it.waits[lane].clear()
    while not it.waits[lane]:
        it.puller.note_ended("shop.test:80", "shop")
        it.puller.look_or_pull()
    assert it.clock.monotonic() - ended_at <= 3 * trip_s


def test_thousands_of_lanes_are_looked_at_and_struck_out_in_few_trips() -> None:
    it = FailingHosts(*lanes_of_bank(3_000))
    look(it.puller)
    assert len(it.pulls) <= 3_000 / LANES_A_TRIP + 10
    it.is_empty = True
    it.run_for(8)
    assert not it.entries
    assert len(it.pulls) <= 3 * 3_000 / LANES_A_TRIP


def test_where_each_lane_takes_long_few_share_a_trip_so_that_nobody_waits_for_long() -> None:
    lane = SharedLane.of_way("shop", "shop.test:80")
    it = FailingHosts(*lanes_of_bank(300), lane)
    it.lane_s = 0.3
    it.run_for(30)
    assert max(it.waits[lane]) <= LOOK_EVERY_S + 5 * it.lane_s


def test_lanes_that_are_pulled_together_share_the_room_of_their_app() -> None:
    it = FailingHosts(*lanes_of_bank(10))
    it.puller._most_sending = LANES_A_TRIP  # as after some quick trips
    it.app_room = 3
    look(it.puller)
    assert it.pulls == [3, 3, 3, 1]


class LimitedThrottle:
    """Gives whatever is asked for, and notes it."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.back = 0
        self.limits = CallLimits()

    def needs_permits(self, _lane: SharedLane) -> bool:
        return True

    def holds(self, _lane: SharedLane) -> bool:
        return False

    def take_all(self, wishes: Mapping[SharedLane, int]) -> dict[SharedLane, tuple[list[Permit], float]]:
        self.taken += wishes.values()
        return {
            lane: ([Permit(str(number), 1e9, lane) for number in range(most)], 0.0)
            for lane, most in wishes.items()
        }

    def give_back(self, permits: Sequence[Permit], *, is_unused: bool) -> None:
        self.back += len(permits)


def test_few_permits_are_taken_for_a_lane_in_which_few_wait() -> None:
    lanes, throttle = SlowLanes(HandClock()), LimitedThrottle()
    lanes.index = lambda: {SharedLane.of_limit("app"): "token"}  # type: ignore[method-assign]
    crowds = iter((40, 3, 3))
    lanes.pull = lambda *_how: Pulled(1, next(crowds), 0)  # type: ignore[method-assign]
    clock = lanes._clock
    puller = puller_of(lanes, lambda _lane: 900, clock, throttle)
    for _ in range(3):
        look(puller)
    assert throttle.taken == [FEW_PERMITS, 2 * 40, FEW_PERMITS]
    assert throttle.back == sum(throttle.taken)


class OneCallAtOnce(MemoryPermits):
    """The one permit of a limit on calls at once; the throttle's own script can be held up on its way."""

    def __init__(self, server: MemoryServer, clock: HandClock) -> None:
        super().__init__(MemorySlices(server, clock, Leases(1_000, 5_000, 8_000, 6_000)), 10_000)
        self.on_the_way: Callable[[], None] = lambda: None

    def carry_out(self, orders: Sequence[PermitOrder]) -> list[Permitted]:
        overtake, self.on_the_way = self.on_the_way, lambda: None
        overtake()
        return super().carry_out(orders)


class LimitedSetting:
    """A puller and its throttle, and an app's lane in which 50 wait; the app may have one call at once."""

    def __init__(self) -> None:
        self.lanes, self.pulls = SlowLanes(HandClock()), 0
        self.clock = self.lanes._clock
        server, lane = MemoryServer("Redis", self.clock), SharedLane.of_limit("app")
        rules = Rules(server, self.clock)
        rules.limits.write(CallLimits({"app": CallLimit(at_once=1)}))
        self.permits = OneCallAtOnce(server, self.clock)
        self.throttle = rules.throttle(self.permits)
        self.lanes.index = lambda: {lane: "token"}  # type: ignore[method-assign]
        self.lanes.pull = self._pull  # type: ignore[method-assign, assignment]
        self.puller = puller_of(self.lanes, lambda _lane: 100, self.clock, self.throttle)
        ((self.permit,), _) = self.throttle.take_all({lane: 1})[lane]
        look(self.puller)
        self.pulls = 0

    def _pull(self, _lane: SharedLane, _claim_id: str, most: int, *_how: object) -> Pulled:
        self.pulls += most > 0
        return Pulled(1, 50, 0)

    def go_on_for(self, seconds: float) -> None:
        """Let the time pass, without a look at all lanes."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.sleep(0.01)
            pull(self.puller)


def test_a_permit_that_comes_back_behind_the_puller_is_used_before_the_next_look() -> None:
    it = LimitedSetting()
    it.throttle.give_back([it.permit], is_unused=False)
    it.puller.note_ended("host:80", "app")
    # The throttle has sent the script that gives it back; the puller's own arrives first.
    it.permits.on_the_way = lambda: pull(it.puller)
    it.throttle.carry_out()
    assert it.pulls == 0
    it.go_on_for(0.1)
    assert it.pulls == 1


def test_a_limit_that_leaves_no_call_for_long_is_asked_more_and_more_seldom() -> None:
    it, asked = LimitedSetting(), []
    take_all = it.throttle.take_all

    def noted_take(wishes: Mapping[SharedLane, int]) -> dict[SharedLane, tuple[list[Permit], float]]:
        asked.append(it.clock.monotonic())
        return take_all(wishes)

    it.throttle.take_all = noted_take  # type: ignore[method-assign]
    it.go_on_for(8)
    pauses = [after - before for before, after in pairwise(asked)]
    assert len(asked) <= 14
    assert max(pauses) <= ASK_IN_VAIN_EVERY_S + 0.02
    it.puller.note_ended("host:80", "app")
    it.go_on_for(0.1)
    assert asked[-1] - asked[-2] <= RATE_EVERY_S + 0.02


def lane_number(number: int) -> SharedLane:
    return SharedLane.of_limit(f"app-{number:03d}")


class NotedPermits(MemoryPermits):
    """Notes the apps of each trip."""

    def __init__(self, server: MemoryServer, clock: HandClock) -> None:
        super().__init__(MemorySlices(server, clock, Leases(1_000, 5_000, 8_000, 6_000)), 10_000)
        self.trips: list[list[SharedLane]] = []

    def carry_out(self, orders: Sequence[PermitOrder]) -> list[Permitted]:
        self.trips.append([order.lane for order in orders])
        return super().carry_out(orders)


class ManyLimited:
    """A puller before lanes of many apps, all behind. Each app may make 100 calls a second; the last, one at once."""

    def __init__(self, apps: int, room: int, others: Sequence[SharedLane] = ()) -> None:
        self.clock, self.numbers = HandClock(), count(1)
        server = MemoryServer("Redis", self.clock)
        self.lanes = [lane_number(number) for number in range(apps)]
        limits = {lane.app or "": CallLimit(per_second=100) for lane in self.lanes}
        limits[self.lanes[-1].app or ""] = CallLimit(at_once=5)
        rules = Rules(server, self.clock)
        rules.limits.write(CallLimits(limits))
        self.others = list(others)
        self.permits = NotedPermits(server, self.clock)
        throttle = rules.throttle(self.permits)
        self.trips: list[list[PullOrder]] = []
        self.fired: list[list[SharedLane]] = []
        self.sent: Counter[SharedLane] = Counter()
        self.bad: set[SharedLane] = set()
        self.puller = puller_of(self, lambda _lane: room, self.clock, throttle)
        self.puller._most_sending = LANES_A_TRIP  # as after some quick trips
        self.puller.fire_by(self.fire)

    def index(self) -> dict[SharedLane, str]:
        return dict.fromkeys([*self.lanes, *self.others], "token")

    def pull_all(self, orders: Sequence[PullOrder], *_how: object, is_again: bool = False) -> list[Pulled]:
        self.trips.append(list(orders))
        if self.bad.intersection(order.lane for order in orders):
            raise ValueError("WRONGTYPE")
        return [self._pulled(order.most) for order in orders]

    def _pulled(self, most: int) -> Pulled:
        now = int(self.clock.now_ms())
        dues = tuple(
            DueMember(Member(next(self.numbers), now - 60_000, 1), now - 60_000) for _ in range(most)
        )
        taken = tuple(Taken(due.member, True, 0) for due in dues)
        return Pulled(now - 60_000, 5_000, 0, dues, taken)

    def fire(self, batches: Sequence[Batch]) -> list[Fired]:
        self.fired.append([batch.lane for batch in batches])
        fired = []
        for batch in batches:
            sent = sum(batch.claim.take_permit() is not None for _ in batch.taken)
            self.sent[batch.lane] += sent
            batch.claim.let_go([one.member for one in batch.taken])
            fired.append(Fired(sent=len(batch.taken)))
        return fired

    def look_twice(self) -> None:
        """Look at all lanes, and again once it is known how many wait: then no permit is left. Forget these trips."""
        look(self.puller)
        look(self.puller)
        self.permits.trips.clear()
        self.trips.clear()
        self.fired.clear()
        self.sent.clear()


def test_lanes_whose_rate_leaves_calls_share_the_trips_of_one_pass() -> None:
    it = ManyLimited(60, room=1_000)
    it.look_twice()
    it.clock.sleep(0.06)
    pull(it.puller)
    rated = it.lanes[:-1]
    assert [len(apps) for apps in it.permits.trips] == [60]
    assert [[order.lane for order in trip] for trip in it.trips] == [rated]
    assert it.fired == [rated]
    assert set(it.sent.values()) <= {5, 6}


def test_a_look_pulls_all_limited_lanes_in_the_trips_of_one() -> None:
    it = ManyLimited(60, room=1_000)
    look(it.puller)
    assert [len(apps) for apps in it.permits.trips] == [60]
    assert [len(trip) for trip in it.trips] == [60]
    assert it.sent.keys() == set(it.lanes)


def test_lanes_that_are_pulled_together_share_the_room_of_the_process() -> None:
    it = ManyLimited(10, room=30)
    look(it.puller)
    assert max(sum(order.most for order in trip) for trip in it.trips) <= 30
    assert it.sent.keys() == set(it.lanes)
    assert len(it.trips) == 4


def test_lanes_in_which_a_call_ended_are_served_before_those_that_wait_for_a_rate() -> None:
    others = [SharedLane.of_way(lane_number(0).app or "", "h:80")]
    it = ManyLimited(3, room=1_000, others=others)
    it.look_twice()
    it.clock.sleep(0.06)
    for lane in it.lanes:
        it.puller.note_ended("h:80", lane.app or "")
    pull(it.puller)
    assert [order.lane for trip in it.trips for order in trip][:1] == others
    (asked,) = it.permits.trips
    assert asked[0] == it.lanes[2]
    assert set(asked) == set(it.lanes)


def test_a_limited_lane_that_cannot_be_read_holds_up_no_other() -> None:
    it = ManyLimited(5, room=1_000)
    it.bad = {it.lanes[1]}
    look(it.puller)
    assert it.sent.keys() == set(it.lanes) - it.bad
    assert it.puller._claims.held == 0


@pytest.mark.test_all
def test_a_long_look_holds_up_no_rate() -> None:
    it = ManyLimited(
        2, room=1_000, others=[SharedLane.of_way("shop", f"h{number}:80") for number in range(200)]
    )
    pull_all = it.pull_all

    def slow(orders: Sequence[PullOrder], *how: object, **named: bool) -> list[Pulled]:
        it.clock.sleep(0.005)
        return pull_all(orders, *how, **named)

    it.pull_all = slow  # type: ignore[method-assign]
    it.look_twice()
    began = it.clock.monotonic()
    look(it.puller)
    took = it.clock.monotonic() - began
    assert took > 1
    assert it.sent[it.lanes[0]] >= 0.95 * 100 * (took - 0.1)
