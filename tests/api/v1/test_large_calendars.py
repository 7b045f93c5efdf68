"""An app with a hundred calendars, each as long as one may be: no request of its timers takes over a second of CPU.

Where the budget is over, changes of many timers and lists of them end, and go on with the next request.
"""

import json
from datetime import date, timedelta
from typing import Any

import pytest

from tests.api.cpu_time import cpu_s, machine_factor
from tests.api.v1.test_batch_create import create, item
from tests.api.v1.world import TIMERS, Answered, V1World
from wangtimer.api.http import serving
from wangtimer.core.work_budget import work_budget
from wangtimer.store.sql.timer_lists import Order, TimerFilter

MOST_S = 1.0
CALENDARS, TIMERS_OF_EACH, DAYS = 100, 10, 4_000
ALL_TIMERS = CALENDARS * TIMERS_OF_EACH
VERBS = ("Enable", "Disable", "Delete")


@pytest.fixture
def laden(small_world: V1World, budgeted_world: V1World) -> V1World:
    """1,000 disabled timers that fire each day, all but those of 4,000; made where no budget ends."""
    for number in range(CALENDARS):
        begin = date(2028, 1, 1) + timedelta(days=number)
        days = [(begin + timedelta(days=one)).isoformat() for one in range(DAYS)]
        put = small_world.send("PUT", f"/v1/calendars/c{number}", {"days": days}, rule="/v1/calendars/{name}")
        assert put.status == 200
    for minute in range(TIMERS_OF_EACH):
        timers = (
            item(
                f"t{minute}-{number}",
                {"cron": f"{minute} {number % 24} * * *", "excludeCalendar": f"c{number}"},
                enabled=False,
            )
            for number in range(CALENDARS)
        )
        assert create(small_world, *timers).json["created"] == CALENDARS
    return budgeted_world


def timed(world: V1World, method: str, path: str, given: dict[str, Any]) -> tuple[float, Answered]:
    """Send a request; return what it took, s of this thread's CPU, and the answer."""
    answers: list[Any] = []
    asked: dict[str, Any] = {"json": given} if method == "POST" else {"query_string": given}
    headers = {"WangTimer-App": "shop"}
    taken = cpu_s(lambda: answers.append(world.client.open(path, method=method, headers=headers, **asked)))
    (answer,) = answers
    return taken, Answered(answer.status_code, json.loads(answer.data), dict(answer.headers))


def is_slow(taken: float) -> bool:
    return taken > MOST_S and taken > MOST_S * machine_factor()


@pytest.mark.test_all
@pytest.mark.timeout(300)
def test_its_timers_are_changed_by_parts_and_listed_by_short_pages(laden: V1World) -> None:
    for verb in VERBS:
        done, remaining = 0, ALL_TIMERS
        while remaining:
            taken, answer = timed(laden, "POST", f"{TIMERS}:batch{verb}", {"all": True})
            changed = answer.json
            assert (answer.status, changed["failed"]) == (200, [])
            assert not is_slow(taken), f"{verb}: {changed['done']} in {taken:.2f} s"
            assert changed["remaining"] == remaining - changed["done"]
            assert changed["done"] > 0
            done, remaining = done + changed["done"], changed["remaining"]
        assert done == ALL_TIMERS
        if verb == "Enable":
            assert_all_are_listed(laden)


def assert_all_are_listed(world: V1World) -> None:
    keys: list[str] = []
    query: dict[str, Any] = {"limit": 500}
    while True:
        taken, answer = timed(world, "GET", TIMERS, query)
        assert answer.status == 200
        assert not is_slow(taken), f"a page of {len(answer.json['items'])} in {taken:.2f} s"
        keys += [row["key"] for row in answer.json["items"]]
        if answer.json["nextCursor"] is None:
            break
        query["cursor"] = answer.json["nextCursor"]
    assert len(keys) == len(set(keys)) == ALL_TIMERS


@pytest.fixture
def hasty(small_world: V1World, monkeypatch: pytest.MonkeyPatch) -> V1World:
    """600 timers of an API that gives no request any CPU to spare."""
    for part in range(3):
        timers = (item(f"t{part}-{one}", {"delay": "1h"}, enabled=False) for one in range(200))
        assert create(small_world, *timers).json["created"] == 200
    monkeypatch.setattr(serving, "work_s", lambda: 0.0)
    return small_world


def ids_of(world: V1World) -> list[int]:
    query = TimerFilter("shop")
    return [timer.id for timer in world.wiring.timer_lists.page(query, Order(), 1_000, world.clock.now)]


@pytest.mark.parametrize("verb", VERBS)
def test_a_batch_over_the_budget_says_what_is_left_and_goes_on(hasty: V1World, verb: str) -> None:
    if verb == "Disable":
        results = hasty.wiring.batches.enable(
            hasty.wiring.timer_lists.page(TimerFilter("shop"), Order(), 600, 0)
        )
        assert len(results) == 600
    done = []
    for left in (350, 100, 0):
        changed = hasty.send("POST", f"{TIMERS}:batch{verb}", {"all": True}).json
        assert (changed["remaining"], changed["failed"]) == (left, [])
        done.append(changed["done"])
    assert done == [250, 250, 100]


def test_timers_switched_off_beyond_one_transaction_are_left_where_the_budget_is_over(hasty: V1World) -> None:
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


def test_a_page_over_the_budget_is_short_and_leads_on(hasty: V1World) -> None:
    page = hasty.send("GET", TIMERS, query={"limit": 3}).json
    ids = ids_of(hasty)
    assert [row["id"] for row in page["items"]] == ids[:1]
    following = hasty.send("GET", TIMERS, query={"limit": 3, "cursor": page["nextCursor"]}).json
    assert [row["id"] for row in following["items"]] == ids[1:2]
