"""Firings listed and counted over an app."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.store.members import outcome_of
from wangtimer.core.flow.firing import FiringStatus, Member

FIRINGS, COUNT = "/v1/firings", "/v1/firings:count"
ONE_TIMER = f"{TIMERS}/{{which}}"
MINUTE = 60_000


@dataclass(frozen=True)
class Some:
    """Two timers of one app and one of another, eleven minutes on from the moment of the first of their firings."""

    world: V1World
    a: int
    b: int
    others: int
    first: int

    def search(self, **query: Any) -> list[str]:
        return ids(self.world.send("GET", FIRINGS, query=query))

    def counts(self, **query: Any) -> dict[str, int]:
        answered = self.world.send("GET", COUNT, query=query)
        assert answered.status == 200, answered.json
        return {status: number for status, number in answered.json.items() if number}


def ids(answered: Any) -> list[str]:
    assert answered.status == 200, answered.json
    return [row["id"] for row in answered.json["items"]]


def of_moment(firing_id: str) -> tuple[int, int]:
    timer_id, _, fire_at = firing_id.partition("-")
    return int(fire_at), int(timer_id)


@pytest.fixture
def some(world: V1World) -> Some:
    a = world.made(key="a", schedule={"cron": "* * * * *"}).json["id"]
    b = world.made(key="b", schedule={"cron": "*/2 * * * *"}).json["id"]
    body = {"key": "a", "schedule": {"cron": "* * * * *"}, "target": {"url": URL}}
    other = world.send("POST", TIMERS, body, app="bank").json["id"]
    first = (world.clock.now // MINUTE + 1) * MINUTE
    first += first % (2 * MINUTE)
    for timer_id, moment, status, late_ms in (
        (a, first, FiringStatus.SUCCEEDED, 1),
        (a, first + MINUTE, FiringStatus.FAILED, 5_000),
        (b, first + 10 * MINUTE, FiringStatus.SUCCEEDED, 90),
        (other, first, FiringStatus.FAILED, 1),
    ):
        world.wiring.firings.settle([outcome_of(Member(timer_id, moment, 1), status, lateness_ms=late_ms)])
    world.clock.now = first + 11 * MINUTE
    return Some(world, a, b, other, first)


def test_they_are_the_apps_own_latest_first(some: Some) -> None:
    assert some.search(status="succeeded") == [
        f"{some.b}-{some.first + 10 * MINUTE}",
        f"{some.a}-{some.first}",
    ]
    whole = some.search()
    assert whole == sorted(whole, key=of_moment, reverse=True)


def test_another_apps_timer_has_none_here(some: Some) -> None:
    assert some.search(timer=some.others) == []
    assert some.counts(timer=some.others) == {}


def test_pages_go_on_where_they_stopped(some: Some) -> None:
    """Also between timers of one moment."""
    whole, found, cursor = some.search(), [], {}
    while True:
        page = some.world.send("GET", FIRINGS, query={"limit": 1} | cursor)
        found += ids(page)
        if page.json["nextCursor"] is None:
            break
        cursor = {"cursor": page.json["nextCursor"]}
    assert found == whole


def test_a_deleted_timers_firings_stay(some: Some) -> None:
    before = some.search(timer=some.a)
    some.world.send("DELETE", f"{TIMERS}/key:a", rule=ONE_TIMER)
    assert set(before) <= set(some.search(timer=some.a))


@pytest.mark.parametrize(
    "query", [{"since": "yesterday"}, {"status": "late"}, {"laterThan": "-1s"}, {"cursor": "x"}]
)
def test_what_cannot_be_asked_is_refused(small_world: V1World, query: dict[str, str]) -> None:
    refused = small_world.send("GET", FIRINGS, query=query)
    assert (refused.status, refused.json["parameter"]) == (400, next(iter(query)))


def test_firings_are_counted_by_outcome_as_the_list_finds_them(some: Some) -> None:
    listed = some.world.send("GET", FIRINGS, query={"limit": 500}).json["items"]
    searched = Counter(row["status"] for row in listed)
    assert some.counts() == searched
    assert searched["succeeded"] == 2
    assert some.counts(status="failed") == {"failed": 1}
    assert some.counts(timer="key:b", until=some.first + 10 * MINUTE, laterThan="89ms") == {"succeeded": 1}
    assert some.counts(since=some.first, until=some.first, timer=some.a) == {"succeeded": 1}
    assert some.counts(kind="backfill") == {}


def test_where_there_are_no_firings_there_are_none_of_each_outcome(world: V1World) -> None:
    counted = world.send("GET", COUNT).json
    assert counted == {"pending": 0, "accepted": 0, "succeeded": 0, "failed": 0, "skipped": 0}


@pytest.mark.parametrize("query", [{"status": "late"}, {"limit": 5}, {"cursor": "x"}])
def test_counting_takes_no_more_than_the_filters(small_world: V1World, query: dict[str, Any]) -> None:
    assert small_world.send("GET", COUNT, query=query).status == 400
