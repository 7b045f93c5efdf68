"""One firing with all its attempts."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.v1.world import TIMERS, Answered, V1World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.moment_text import show_moment

FIRINGS, ONE = "/v1/firings", "/v1/firings/{firing_id}"
EVERY_MINUTE = {"cron": "* * * * *"}
FAR = "2199-01-01T00:00:00Z"


@dataclass(frozen=True)
class Some:
    """A timer's first firing, which failed once and then succeeded."""

    world: V1World
    id: int
    at: int

    def show(self, firing_id: str | None = None, app: str = "shop") -> Answered:
        return self.world.send("GET", f"{FIRINGS}/{firing_id or f'{self.id}-{self.at}'}", rule=ONE, app=app)


@pytest.fixture
def some(world: V1World) -> Some:
    timer_id = world.made(schedule=EVERY_MINUTE).json["id"]
    at = (world.clock.now // 60_000 + 1) * 60_000
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


def test_a_firing_shows_each_attempt_and_its_own_record(some: Some) -> None:
    at = some.at
    first = {
        "attempt": 1,
        "status": "failed",
        "madeAt": show_moment(at + 2),
        "sentAt": show_moment(at + 2),
        "latenessMs": 2,
        "connectMs": 3,
        "firstByteMs": 88,
        "durationMs": 90,
        "httpStatus": 500,
        "output": "oh",
        "error": "HTTP 500",
    }
    waiting = some.show().json
    assert (waiting["status"], waiting["kind"], waiting["attempts"]) == ("pending", "scheduled", [first])
    second = Outcome(Member(some.id, at, 2), 0, FiringStatus.SUCCEEDED, at + 1_000, at + 1_001, 1_001, 4, 204)
    some.world.wiring.firings.settle([second])
    shown = some.show().json
    assert shown.pop("attempts") == [
        first,
        {
            "attempt": 2,
            "status": "succeeded",
            "madeAt": show_moment(at + 1_001),
            "sentAt": show_moment(at + 1_001),
            "latenessMs": 1_001,
            "connectMs": None,
            "firstByteMs": None,
            "durationMs": 4,
            "httpStatus": 204,
            "output": "",
            "error": "",
        },
    ]
    (record,) = some.world.send("GET", FIRINGS, query={"since": at, "until": at}).json["items"]
    assert record.items() <= shown.items()
    assert shown.keys() - record.keys() == {"request", "requestState"}
    assert (shown["firstSentAt"], shown["latenessMs"], shown["attempt"]) == (show_moment(at + 2), 2, 2)


def test_a_firing_to_come_has_no_attempts(world: V1World) -> None:
    world.made(schedule=EVERY_MINUTE)
    coming = world.send("GET", FIRINGS, query={"until": FAR}).json["items"][0]
    shown = world.send("GET", f"{FIRINGS}/{coming['id']}", rule=ONE).json
    assert (shown["fireAt"], shown["attempts"]) == (coming["fireAt"], [])


def test_a_deleted_timers_firing_stays_readable(some: Some) -> None:
    some.world.send("DELETE", f"{TIMERS}/{some.id}", rule=f"{TIMERS}/{{which}}")
    assert len(some.show().json["attempts"]) == 1


@pytest.mark.parametrize(
    ("firing_id", "app", "status", "code"),
    [
        (None, "bank", 404, 40401),
        ("99-1795198611123", "shop", 404, 40401),
        ("{id}-1795198611123", "shop", 404, 40404),
        ("{id}-noon", "shop", 400, 40007),
        ("x-1795198611123", "shop", 400, 40007),
        ("{id}", "shop", 400, 40007),
    ],
)
def test_what_is_not_there_or_cannot_be_asked_is_refused(
    some: Some, firing_id: str | None, app: str, status: int, code: int
) -> None:
    refused = some.show(None if firing_id is None else firing_id.format(id=some.id), app)
    assert (refused.status, refused.json["code"]) == (status, code), refused.json
    assert refused.json["parameter"] == "firing_id"


def test_lists_do_not_show_the_attempts(some: Some) -> None:
    page: Any = some.world.send("GET", FIRINGS, query={"until": FAR, "limit": 1}).json
    assert "attempts" not in page["items"][0]
