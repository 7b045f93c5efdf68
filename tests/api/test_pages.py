from typing import Any

import pytest

from tests.api.world import DEFS, RECORDS, World
from wangtimer.api.compat.xtimer_routes import ORDER
from wangtimer.api.http import cursors
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.moment_text import show_moment

SECOND = 1_000


def names(page: Any) -> list[str]:
    return [timer["name"] for timer in page.data]


def moments(page: Any) -> list[int]:
    return [record["fireAtMs"] for record in page.data]


def every_page(world: World, path: str, **parameters: Any) -> list[Any]:
    """Follow nextCursor to the end."""
    pages = [world.get(path, **parameters)]
    while cursor := pages[-1].json["nextCursor"]:
        pages.append(world.get(path, **parameters, cursor=cursor))
        assert len(pages) < 20, "the cursor leads in a circle"
    return pages


def test_an_app_s_timers_are_listed_by_id_page_by_page(world: World) -> None:
    for i in range(5):
        world.made(name=f"t{i}")
        world.made(app="other", name=f"o{i}")
    pages = every_page(world, DEFS, app="shop", limit=2)
    assert [names(page) for page in pages] == [["t0", "t1"], ["t2", "t3"], ["t4"]]
    assert [entry["notifyHTTPParam"]["method"] for entry in pages[0].data] == ["POST", "POST"]


@pytest.mark.parametrize("limit", [4, 5, 500])
def test_a_last_page_that_is_full_has_no_next(world: World, limit: int) -> None:
    for i in range(4):
        world.made(name=f"t{i}")
    page = world.get(DEFS, app="shop", limit=limit)
    assert (len(page.data), page.json["nextCursor"]) == (4, None)


def test_an_unknown_app_has_an_empty_list(world: World) -> None:
    assert world.get(DEFS, app="nobody").json == {"code": 0, "msg": "", "data": [], "nextCursor": None}


def test_a_list_stays_right_while_timers_come_and_go(world: World) -> None:
    ids = [world.made(name=f"t{i}") for i in range(6)]
    first = world.get(DEFS, app="shop", limit=3)
    world.delete(app="shop", id=ids[0])
    world.delete(app="shop", id=ids[2])
    world.delete(app="shop", id=ids[4])
    world.made(name="new")
    rest = every_page(world, DEFS, app="shop", limit=3, cursor=first.json["nextCursor"])
    assert [name for page in rest for name in names(page)] == ["t3", "t5", "new"]


def settle(world: World, timer_id: int, fire_at: int, status: FiringStatus, **fields: Any) -> None:
    member = Member(timer_id, fire_at, 1)
    world.wiring.firings.settle([Outcome(member, 0, status, fire_at, **fields)])


def test_a_record_tells_what_became_of_a_firing_with_xtimer_s_names(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    moment = world.clock.now + SECOND
    world.clock.now = moment + 500
    settle(
        world,
        timer_id,
        moment,
        FiringStatus.SUCCEEDED,
        first_sent_at=moment + 2,
        lateness_ms=2,
        cost_ms=31,
        http_status=204,
        output="ok",
    )
    page = world.get(RECORDS, app="shop", id=timer_id)
    assert page.json["nextCursor"] is None
    assert page.data == [
        {
            "timerID": timer_id,
            "app": "shop",
            "runTimer": show_moment(moment),
            "fireAtMs": moment,
            "firstSentAtMs": moment + 2,
            "latenessMs": 2,
            "costTime": 31,
            "attempt": 1,
            "status": 2,
            "statusName": "succeeded",
            "httpStatus": 204,
            "output": "ok",
            "error": "",
            "webhookId": f"{timer_id}-{moment}",
            "kind": "scheduled",
            "waitedFor": "",
        }
    ]


@pytest.mark.parametrize(
    ("status", "number"), [("pending", 0), ("succeeded", 2), ("failed", 3), ("skipped", 4)]
)
def test_each_status_has_its_number(world: World, status: str, number: int) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    world.clock.now += SECOND
    if status != "pending":
        settle(world, timer_id, world.clock.now, FiringStatus(status), error="because")
    (record,) = world.get(RECORDS, app="shop", id=timer_id).data
    assert (record["status"], record["statusName"]) == (number, status)


def test_a_pending_firing_has_nothing_sent_yet(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    world.clock.now += SECOND
    (record,) = world.get(RECORDS, app="shop", id=timer_id).data
    sent = ("firstSentAtMs", "latenessMs", "costTime", "httpStatus", "output")
    assert [record[name] for name in sent] == [None, None, 0, None, ""]


def test_records_come_latest_first_and_only_what_has_come_due(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    start = world.clock.now
    world.clock.now = start + 10 * SECOND + 1
    shown = moments(world.get(RECORDS, app="shop", id=timer_id))
    assert shown == [start + i * SECOND for i in range(10, 0, -1)]


def test_the_firings_still_to_come_are_shown_on_demand(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    start = world.clock.now
    assert world.get(RECORDS, app="shop", id=timer_id).data == []
    coming = every_page(world, RECORDS, app="shop", id=timer_id, pending="true", limit=25)
    shown = [moment for page in coming for moment in moments(page)]
    assert shown == [start + i * SECOND for i in range(60, 0, -1)]
    assert [len(page.data) for page in coming] == [25, 25, 10]


def test_records_stay_right_while_new_ones_come(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    start = world.clock.now
    world.clock.now = start + 6 * SECOND
    first = world.get(RECORDS, app="shop", id=timer_id, limit=3)
    world.clock.now = start + 20 * SECOND
    rest = every_page(world, RECORDS, app="shop", id=timer_id, limit=3, cursor=first.json["nextCursor"])
    shown = moments(first) + [moment for page in rest for moment in moments(page)]
    assert shown == [start + i * SECOND for i in range(6, 0, -1)]


def test_xtimer_s_timer_id_parameter_names_the_timer_too(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    world.clock.now += 3 * SECOND
    by_id = world.get(RECORDS, app="shop", id=timer_id)
    assert world.get(RECORDS, app="shop", timerID=timer_id).json == by_id.json
    assert len(by_id.data) == 3


def test_the_records_of_a_deleted_timer_stay_readable_to_its_app_alone(world: World) -> None:
    timer_id = world.enabled(cron="* * * * * *")
    world.clock.now += 2 * SECOND
    world.delete(app="shop", id=timer_id)
    assert len(world.get(RECORDS, app="shop", id=timer_id).data) == 2
    assert world.get(RECORDS, app="other", id=timer_id).status == 404


def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    made = [world.made(name=f"t{i}") for i in range(2)]
    cursor = world.get(DEFS, app="shop", limit=1).json["nextCursor"]
    refused = world.get(RECORDS, app="shop", id=made[0], cursor=cursor)
    assert (refused.status, refused.code, refused.json["field"]) == (400, 40010, "cursor")


@pytest.mark.parametrize("number", [-1, 2**63])
def test_a_cursor_with_a_number_sql_cannot_hold_is_refused(world: World, number: int) -> None:
    made = world.made()
    refused = world.get(RECORDS, app="shop", id=made, cursor=cursors.write(ORDER, number, 1))
    assert (refused.status, refused.code, refused.json["field"]) == (400, 40010, "cursor")
