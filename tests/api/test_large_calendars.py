"""An app with a hundred calendars, each as long as one may be: no request of its timers takes over a second of CPU.

Where the budget is over, changes of many timers and lists of them end, and go on with the next request.
"""

import json
from datetime import date, timedelta
from typing import Any

import pytest

from tests.api.cpu_time import cpu_s, machine_factor
from tests.api.world import DEFS, URL, Answered, World
from wangtimer.api.http import reading
from wangtimer.core.work_budget import work_budget
from wangtimer.store.sql.timer_lists import Order, TimerFilter

MOST_S = 1.0
CALENDARS, TIMERS_OF_EACH, DAYS = 100, 10, 4_000
TIMERS = CALENDARS * TIMERS_OF_EACH
CALENDAR, BULK = "/api/timer/v1/calendar", "/api/timer/v1/bulk"


@pytest.fixture
def laden(small_world: World, budgeted_world: World) -> World:
    """1,000 disabled timers that fire each day, all but those of 4,000; made where no budget ends."""
    for number in range(CALENDARS):
        begin = date(2028, 1, 1) + timedelta(days=number)
        days = [(begin + timedelta(days=one)).isoformat() for one in range(DAYS)]
        assert small_world.put(CALENDAR, app="shop", name=f"c{number}", days=days).code == 0
    for minute in range(TIMERS_OF_EACH):
        timers = [
            {
                "name": f"t{minute}-{number}",
                "cron": f"{minute} {number % 24} * * *",
                "excludeCalendar": f"c{number}",
                "notifyHTTPParam": {"url": URL},
            }
            for number in range(CALENDARS)
        ]
        assert small_world.post(DEFS, app="shop", timers=timers).json["created"] == CALENDARS
    return budgeted_world


def timed(world: World, method: str, path: str, fields: dict[str, Any]) -> tuple[float, Answered]:
    """Send a request; return what it took, s of this thread's CPU, and the answer."""
    answers: list[Any] = []
    body = json.dumps(fields).encode() if method == "POST" else None
    query = fields if method == "GET" else None
    taken = cpu_s(
        lambda: answers.append(
            world.client.open(
                path, method=method, data=body, query_string=query, content_type="application/json"
            )
        )
    )
    (answer,) = answers
    return taken, Answered(answer.status_code, json.loads(answer.data), dict(answer.headers))


def is_slow(taken: float) -> bool:
    return taken > MOST_S and taken > MOST_S * machine_factor()


@pytest.mark.test_all
@pytest.mark.timeout(300)
def test_its_timers_are_changed_by_parts_and_listed_by_short_pages(laden: World) -> None:
    for action in ("enable", "disable", "delete"):
        done, rounds, remaining = 0, 0, TIMERS
        while remaining:
            taken, answer = timed(laden, "POST", BULK, {"app": "shop", "action": action, "all": True})
            assert (answer.code, answer.data["failed"]) == (0, [])
            assert not is_slow(taken), f"{action}: {answer.data['done']} in {taken:.2f} s"
            assert answer.data["remaining"] == remaining - answer.data["done"]
            assert answer.data["done"] > 0
            done, rounds, remaining = done + answer.data["done"], rounds + 1, answer.data["remaining"]
        assert done == TIMERS
        if action == "enable":
            assert_all_are_listed(laden)


def assert_all_are_listed(world: World) -> None:
    names: list[str] = []
    query: dict[str, Any] = {"app": "shop", "limit": 500}
    while True:
        taken, answer = timed(world, "GET", DEFS, query)
        assert answer.code == 0
        assert not is_slow(taken), f"a page of {len(answer.data)} in {taken:.2f} s"
        names += [row["name"] for row in answer.data]
        if answer.json["nextCursor"] is None:
            break
        query["cursor"] = answer.json["nextCursor"]
    assert len(names) == len(set(names)) == TIMERS


@pytest.fixture
def hasty(small_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """600 timers of an API that gives no request any CPU to spare."""
    for part in range(3):
        timers = [
            {"name": f"t{part}-{one}", "delayMs": 3_600_000, "notifyHTTPParam": {"url": URL}}
            for one in range(200)
        ]
        assert small_world.post(DEFS, app="shop", timers=timers).json["created"] == 200
    monkeypatch.setattr(reading, "work_s", lambda: 0.0)
    return small_world


def ids_of(world: World) -> list[int]:
    query = TimerFilter("shop")
    return [timer.id for timer in world.wiring.timer_lists.page(query, Order(), 1_000, world.clock.now)]


@pytest.mark.parametrize("action", ["enable", "disable", "delete"])
def test_a_bulk_change_over_the_budget_says_what_is_left_and_goes_on(hasty: World, action: str) -> None:
    if action == "disable":
        results = hasty.wiring.batches.enable(
            hasty.wiring.timer_lists.page(TimerFilter("shop"), Order(), 600, 0)
        )
        assert len(results) == 600
    done = []
    for left in (350, 100, 0):
        data = hasty.post(BULK, app="shop", action=action, all=True).data
        assert (data["remaining"], data["failed"]) == (left, [])
        done.append(data["done"])
    assert done == [250, 250, 100]


def test_timers_switched_off_beyond_one_transaction_are_left_where_the_budget_is_over(hasty: World) -> None:
    timers = hasty.wiring.timer_lists.page(TimerFilter("shop"), Order(), 600, hasty.clock.now)
    with work_budget(0):
        for change in (
            hasty.wiring.batches.enable,
            hasty.wiring.batches.disable,
            hasty.wiring.batches.delete,
        ):
            results = change(timers)
            assert list(results) == [timer.id for timer in timers[:500]]
            timers = hasty.wiring.timer_lists.page(TimerFilter("shop"), Order(), 600, hasty.clock.now)


def test_a_page_over_the_budget_is_short_and_leads_on(hasty: World) -> None:
    page = hasty.get(DEFS, app="shop", limit=3)
    ids = ids_of(hasty)
    assert [row["id"] for row in page.data] == ids[:1]
    following = hasty.get(DEFS, app="shop", limit=3, cursor=page.json["nextCursor"])
    assert [row["id"] for row in following.data] == ids[1:2]
