"""A timer that is followed: each outcome once, as it comes, until it is over."""

import threading
from typing import Any

import pytest

from tests.client.outcomes import fired
from tests.client.served import Served
from tests.store.members import outcome_of, row_at
from wangtimer.client import Client, Firing, NotFound
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.store.sql.firings import insert_missing

TARGET: Any = {"url": "http://target.example/"}
SECOND_MS, MINUTE_MS, DAY_MS = 1_000, 60_000, 86_400_000


class Scene:
    """A followed timer; `events` happen one after the other, each when the client waits. Then it is told to stop."""

    def __init__(self, served: Served, events: list[Any]) -> None:
        self.world = served.world
        self.events = events
        self.stop = threading.Event()
        self.client = Client(served.url, "shop")
        self.client._pause = self._happen  # type: ignore[method-assign]

    def _happen(self, seconds: float, stop: threading.Event | None) -> None:
        assert (seconds, stop) == (1.0, self.stop)
        if not self.events:
            self.stop.set()
            return
        self.events.pop(0)()

    def follow(self, timer: Any, **options: Any) -> list[Firing]:
        with self.client:
            return list(self.client.follow(timer, stop=self.stop, **options))

    def pending(self, timer_id: int, *moments: int) -> None:
        rows = [row_at(moment, timer_id) for moment in moments]
        self.world.wiring.database.write(lambda sql: insert_missing(sql, rows))

    def settled(self, timer_id: int, *moments: int, failed: bool = False, attempt: int = 1) -> None:
        status = FiringStatus.FAILED if failed else FiringStatus.SUCCEEDED
        members = [Member(timer_id, moment, attempt) for moment in moments]
        self.world.wiring.firings.settle([outcome_of(member, status) for member in members])

    def fired(self, timer_id: int, *moments: int) -> None:
        self.pending(timer_id, *moments)
        self.settled(timer_id, *moments)


def moments_of(found: list[Firing], timer_id: int) -> list[int]:
    assert {one["timerId"] for one in found} <= {timer_id}
    return [int(one["id"].rpartition("-")[2]) for one in found]


@pytest.fixture
def timer_id(client: Client) -> int:
    return client.create_timer(key="each", schedule={"cron": "@yearly"}, target=TARGET)["id"]


def test_outcomes_come_once_each_in_the_order_of_their_moments(served: Served, timer_id: int) -> None:
    (old,) = fired(served.world, timer_id, 1)
    now = served.world.clock.now
    scene = Scene(served, [])
    scene.events = [
        lambda: scene.fired(timer_id, now - 2, now - 1),
        lambda: None,
        lambda: scene.fired(timer_id, now),
    ]
    assert moments_of(scene.follow("key:each"), timer_id) == [now - 2, now - 1, now]
    scene = Scene(served, [])
    assert moments_of(scene.follow(timer_id, since=old), timer_id) == [old, now - 2, now - 1, now]


def test_a_first_outcome_is_seen_where_there_was_none_before(served: Served, timer_id: int) -> None:
    now = served.world.clock.now
    scene = Scene(served, [lambda: scene.fired(timer_id, now)])
    assert moments_of(scene.follow(timer_id), timer_id) == [now]


def test_a_firing_that_waits_is_told_however_late_its_outcome_comes(served: Served, timer_id: int) -> None:
    now = served.world.clock.now
    old = [now - 10 * MINUTE_MS + number * SECOND_MS for number in range(25)]
    scene = Scene(served, [])
    scene.pending(timer_id, *old)
    scene.fired(timer_id, now - 1)
    scene.events = [
        lambda: scene.settled(timer_id, *old, failed=True),
        lambda: None,
        lambda: None,
    ]
    found = scene.follow(timer_id)
    assert sorted(moments_of(found, timer_id)) == old
    assert {one["status"] for one in found} == {"failed"}


@pytest.mark.test_all
def test_however_many_wait_each_is_told(served: Served, timer_id: int) -> None:
    now = served.world.clock.now
    old = [now - 60 * MINUTE_MS + number * SECOND_MS for number in range(1_030)]
    scene = Scene(served, [])
    scene.fired(timer_id, now - 120 * MINUTE_MS)
    # They come in two halves: what waits at the beginning, and what comes due while it is followed.
    scene.pending(timer_id, *old[:515])
    scene.events = [
        lambda: scene.pending(timer_id, *old[515:]),
        lambda: scene.fired(timer_id, now - 1),
        lambda: scene.settled(timer_id, *old),
        lambda: None,
    ]
    found = moments_of(scene.follow(timer_id), timer_id)
    assert sorted(found) == [*old, now - 1]


def test_a_long_range_is_read_page_by_page_in_the_order_of_its_moments(served: Served, timer_id: int) -> None:
    now = served.world.clock.now
    # Seconds, then ms, then days: no width of a page suits all.
    moments = [
        *(now - 40 * DAY_MS + number * SECOND_MS for number in range(700)),
        *(now - 30 * DAY_MS + number for number in range(900)),
        *(now - (29 - number) * DAY_MS for number in range(29)),
    ]
    scene = Scene(served, [])
    scene.fired(timer_id, *moments)
    assert moments_of(scene.follow(timer_id, since=moments[0]), timer_id) == moments


def test_the_first_of_a_long_range_comes_without_all_the_others(served: Served, timer_id: int) -> None:
    moments = fired(served.world, timer_id, 2_000)
    scene = Scene(served, [])
    read: list[int] = []
    listed = scene.client.list_firings

    def counted(**asked: Any) -> Any:
        page = listed(**asked)
        read.append(len(page["items"]))
        return page

    scene.client.list_firings = counted  # type: ignore[method-assign]
    assert moments_of(scene.follow(timer_id, since=moments[0], most=1), timer_id) == moments[:1]
    # A page of the latest, which the list begins with, and a page of the earliest.
    assert sum(read) <= 1_000, read


def test_it_ends_in_the_middle_of_a_long_range_where_it_is_told_to(served: Served, timer_id: int) -> None:
    (first, *_) = fired(served.world, timer_id, 3)
    scene = Scene(served, [])
    with scene.client:
        following = scene.client.follow(timer_id, since=first, stop=scene.stop)
        next(following)
        scene.stop.set()
        assert list(following) == []


def test_a_replayed_firing_is_told_again(served: Served, timer_id: int) -> None:
    (moment,) = fired(served.world, timer_id, 1, failed=True)
    scene = Scene(served, [])
    firing_id = f"{timer_id}-{moment}"
    scene.events = [
        lambda: scene.client.replay_firing(firing_id),
        lambda: scene.settled(timer_id, moment, attempt=101),
        lambda: None,
    ]
    found = scene.follow(timer_id)
    assert [(one["id"], one["status"], one["attempt"]) for one in found] == [(firing_id, "succeeded", 101)]


def test_it_ends_after_so_many(served: Served, timer_id: int) -> None:
    now = served.world.clock.now
    scene = Scene(served, [lambda: scene.fired(timer_id, now - 2, now - 1, now)])
    assert moments_of(scene.follow(timer_id, most=2), timer_id) == [now - 2, now - 1]
    assert not scene.stop.is_set()


def test_it_ends_with_its_timer_once_nothing_waits(served: Served, client: Client) -> None:
    made = client.create_timer(key="once", schedule={"delay": "1s"}, target=TARGET)
    moment = served.world.clock.now + SECOND_MS

    def come_due() -> None:
        served.world.clock.now = moment + 1

    scene = Scene(served, [come_due, lambda: scene.settled(made["id"], moment)])
    assert moments_of(scene.follow("key:once"), made["id"]) == [moment]
    assert not scene.stop.is_set()


def test_it_ends_where_its_timer_is_deleted(served: Served, client: Client, timer_id: int) -> None:
    scene = Scene(served, [lambda: client.delete_timer(timer_id)])
    assert scene.follow(timer_id) == []
    assert not scene.stop.is_set()
    with pytest.raises(NotFound):
        Scene(served, []).follow(timer_id)
