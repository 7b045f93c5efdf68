"""One firing with all its attempts."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.world import DEF, RECORDS, World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome

FIRING = "/api/task/v1/firing"


@dataclass(frozen=True)
class Some:
    """A timer's first firing, which failed once and then succeeded."""

    world: World
    id: int
    at: int

    def show(self, **changes: Any) -> Any:
        return self.world.get(FIRING, **{"app": "shop", "id": self.id, "fireAt": self.at} | changes)


@pytest.fixture
def some(world: World) -> Some:
    timer_id = world.enabled(cron="* * * * *")
    at = world.get(RECORDS, app="shop", id=timer_id, pending="true").data[-1]["fireAtMs"]
    failed = Outcome(
        Member(timer_id, at, 1),
        0,
        FiringStatus.PENDING,
        at + 1_000,
        first_sent_at=at + 2,
        lateness_ms=2,
        cost_ms=90,
        http_status=500,
        output="oh",
        error="HTTP 500",
        connect_ms=3,
        first_byte_ms=88,
    )
    world.wiring.firings.settle([failed])
    return Some(world, timer_id, at)


FIRST = {
    "attempt": 1,
    "latenessMs": 2,
    "connectMs": 3,
    "firstByteMs": 88,
    "costMs": 90,
    "httpStatus": 500,
    "output": "oh",
    "error": "HTTP 500",
    "statusName": "failed",
}


def test_a_firing_shows_each_attempt_and_its_own_record(some: Some) -> None:
    at = some.at
    first = FIRST | {"sentAtMs": at + 2}
    waiting = some.show().data
    assert (waiting["statusName"], waiting["kind"], waiting["attempts"]) == ("pending", "scheduled", [first])
    second = Outcome(Member(some.id, at, 2), 0, FiringStatus.SUCCEEDED, at + 1_000, at + 1_001, 1_001, 4, 204)
    some.world.wiring.firings.settle([second])
    shown = some.show().data
    assert shown.pop("attempts") == [
        first,
        {
            "attempt": 2,
            "sentAtMs": at + 1_001,
            "latenessMs": 1_001,
            "connectMs": None,
            "firstByteMs": None,
            "costMs": 4,
            "httpStatus": 204,
            "output": "",
            "error": "",
            "statusName": "succeeded",
        },
    ]
    (record,) = [
        row
        for row in some.world.get("/api/task/v1/firings", app="shop", until=at).data
        if row["fireAtMs"] == at
    ]
    assert shown == record
    assert (shown["firstSentAtMs"], shown["latenessMs"], shown["attempt"]) == (at + 2, 2, 2)


def test_a_firing_to_come_has_no_attempts(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    at = world.get(RECORDS, app="shop", id=timer_id, pending="true").data[0]["runTimer"]
    shown = world.get(FIRING, app="shop", id=timer_id, fireAt=at).data
    assert (shown["runTimer"], shown["attempts"]) == (at, [])


def test_a_deleted_timers_firing_stays_readable(some: Some) -> None:
    some.world.call("DELETE", DEF, json={"app": "shop", "id": some.id})
    assert len(some.show().data["attempts"]) == 1


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"app": "bank"}, 404, 40401, "id"),
        ({"id": 99}, 404, 40401, "id"),
        ({"fireAt": 1_795_198_611_123}, 404, 40404, "fireAt"),
        ({"fireAt": "noon"}, 400, 40008, "fireAt"),
        ({"fireAt": 5}, 400, 40008, "fireAt"),
        ({"id": "x"}, 400, 40006, "id"),
        ({"attempt": 1}, 400, 40004, "attempt"),
    ],
)
def test_what_is_not_there_or_cannot_be_asked_is_refused(
    some: Some, changes: dict[str, Any], status: int, code: int, field: str
) -> None:
    refused = some.show(**changes)
    assert (refused.status, refused.code, refused.json["field"]) == (status, code, field), refused.json


@pytest.mark.parametrize("left_out", ["id", "fireAt"])
def test_it_takes_a_timer_and_a_moment(small_world: World, left_out: str) -> None:
    asked = {"app": "shop", "id": 1, "fireAt": 1_795_198_611_123}
    asked.pop(left_out)
    refused = small_world.get(FIRING, **asked)
    assert (refused.status, refused.code, refused.json["field"]) == (400, 40005, left_out)


def test_lists_do_not_show_the_attempts(some: Some) -> None:
    (row,) = some.world.get(RECORDS, app="shop", id=some.id, pending="true", limit=1).data
    assert (row["kind"], "attempts" in row) == ("scheduled", False)
