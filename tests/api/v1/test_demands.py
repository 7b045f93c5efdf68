"""Firings on demand: now, once more, not at all, of a range that is past."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, Answered, V1World
from wangtimer.api.http.codes import ErrorCode
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.moment_text import show_moment

REPLAY, FIRINGS = "/v1/firings:replay", "/v1/firings"
ONE_TIMER = "/v1/timers/{which}"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FAILED, SKIPPED = FiringStatus.FAILED, FiringStatus.SKIPPED
EVERY_MINUTE, EVERY_SECOND, YEARLY = ({"cron": cron} for cron in ("* * * * *", "* * * * * *", "30 0 0 1 1 *"))


def made(world: V1World, schedule: dict[str, Any], **fields: Any) -> int:
    return int(world.made(schedule=schedule, **fields).json["id"])


def settle(world: V1World, timer_id: int, moment: int, status: FiringStatus = FAILED) -> None:
    world.wiring.firings.settle([Outcome(Member(timer_id, moment, 1), 0, status, moment, error="HTTP 500")])


def statuses(world: V1World, timer_id: int) -> dict[int, str]:
    """Return the statuses of a timer's firings by their moments, of those to come too."""
    query = {"timer": timer_id, "until": "2199-01-01T00:00:00Z", "limit": 500}
    rows = world.send("GET", FIRINGS, query=query).json["items"]
    return {moment_of(row): row["status"] for row in rows}


def moment_of(row: dict[str, Any]) -> int:
    return int(row["id"].partition("-")[2])


def next_minute(world: V1World) -> int:
    return (world.clock.now // MINUTE + 1) * MINUTE


def fire(world: V1World, timer_id: int, app: str = "shop") -> Answered:
    return world.send("POST", f"{TIMERS}/{timer_id}:fire", rule=f"{ONE_TIMER}:fire", app=app)


def replay(world: V1World, app: str = "shop", **fields: Any) -> Answered:
    return world.send("POST", REPLAY, fields, app=app)


def backfill(world: V1World, timer_id: int, app: str = "shop", **fields: Any) -> Answered:
    path, rule = f"{TIMERS}/{timer_id}:backfill", f"{ONE_TIMER}:backfill"
    return world.send("POST", path, fields, rule=rule, app=app)


# now


def test_a_disabled_timer_is_fired_and_handed_to_an_executor_at_once(world: V1World) -> None:
    timer_id = made(world, YEARLY, enabled=False)
    answer = fire(world, timer_id)
    assert answer.status == 201
    fire_at = moment_of(answer.json)
    assert 0 <= fire_at - world.clock.now <= 1
    assert (answer.json["kind"], answer.json["status"], answer.json["attempt"]) == ("manual", "pending", 1)
    assert answer.json["fireAt"] == show_moment(fire_at)
    assert world.broker.moments == [fire_at]
    assert world.send("GET", f"{TIMERS}/{timer_id}", rule=ONE_TIMER).json["status"] == "disabled"
    assert statuses(world, timer_id) == {fire_at: "pending"}


def test_each_request_is_one_more_firing(world: V1World) -> None:
    timer_id = made(world, YEARLY, enabled=False)
    moments = [moment_of(fire(world, timer_id).json) for _ in range(3)]
    assert len(set(moments)) == 3
    assert world.broker.moments == moments


@pytest.mark.parametrize("app", ["shop", "bank"])
def test_an_unknown_timer_is_not_fired(world: V1World, app: str) -> None:
    known = made(world, YEARLY, enabled=False)
    answer = fire(world, known if app == "bank" else 99, app)
    assert answer.json["code"] == ErrorCode.UNKNOWN_TIMER.number
    assert world.stored()[1] == 0


# not at all


def test_a_coming_firing_is_cancelled_and_a_repeat_changes_nothing(world: V1World) -> None:
    timer_id = made(world, EVERY_MINUTE)
    moment = next_minute(world) + MINUTE
    answer = world.cancelled(timer_id, moment)
    assert answer.status == 200
    assert (answer.json["status"], answer.json["error"]) == ("skipped", "cancelled")
    assert answer.json["fireAt"] == show_moment(moment)
    assert statuses(world, timer_id)[moment] == "skipped"
    assert statuses(world, timer_id)[moment - MINUTE] == "pending"
    assert world.cancelled(timer_id, moment).json == answer.json


def test_the_next_moments_leave_it_out_and_an_edit_keeps_it_so(world: V1World) -> None:
    timer_id = made(world, EVERY_MINUTE)
    moment = next_minute(world) + MINUTE
    world.cancelled(timer_id, moment)
    for change in ({"misfire": {"policy": "skip"}}, {"schedule": {"cron": "*/1 * * * *"}}):
        edited = world.send("PATCH", f"{TIMERS}/{timer_id}", change, rule=ONE_TIMER)
        shown = edited.json["preview"]
        moments = [one["utc"] for one in shown["nextMoments"]]
        assert moments[:2] == [show_moment(moment - MINUTE), show_moment(moment + MINUTE)]
        assert "every minute" in shown["words"]["en"].lower()
    assert statuses(world, timer_id)[moment] == "skipped"


def test_what_cannot_be_cancelled_says_why(world: V1World) -> None:
    timer_id = made(world, EVERY_MINUTE)
    moment = next_minute(world)
    unknown = world.cancelled(timer_id, moment + 1)
    assert (unknown.status, unknown.json["code"]) == (404, ErrorCode.UNKNOWN_FIRING.number)
    assert unknown.json["parameter"] == "firing_id"
    settle(world, timer_id, moment + MINUTE)
    refused = [world.cancelled(timer_id, moment + MINUTE)]
    world.clock.now = moment - 1_000
    refused.append(world.cancelled(timer_id, moment))
    once = made(world, {"at": moment + HOUR}, key="once")
    refused.append(world.cancelled(once, moment + HOUR))
    for answer, word in zip(refused, ("failed", "on its way", "disable or delete"), strict=True):
        assert (answer.status, answer.json["code"]) == (409, ErrorCode.WRONG_STATE.number)
        assert word in answer.json["detail"]
    elsewhere = world.cancelled(timer_id, moment + 2 * MINUTE, app="bank")
    assert elsewhere.json["code"] == ErrorCode.UNKNOWN_TIMER.number


# once more


@pytest.fixture
def failed(world: V1World) -> int:
    """A timer of which three firings have failed and one was skipped; an hour later."""
    timer_id = made(world, EVERY_MINUTE)
    first = next_minute(world)
    for number in range(3):
        settle(world, timer_id, first + number * MINUTE)
    settle(world, timer_id, first + 3 * MINUTE, SKIPPED)
    world.clock.now = first + HOUR
    return timer_id


def test_named_firings_are_replayed(world: V1World, failed: int) -> None:
    first = min(statuses(world, failed))
    named = [f"{failed}-{at}" for at in (first, first + MINUTE)]
    answer = replay(world, ids=[*named, f"{failed}-{first + 1}"])
    assert answer.status == 200
    (left,) = answer.json["notReplayed"]
    assert left["id"] == f"{failed}-{first + 1}"
    assert left["detail"]
    assert (answer.json["matched"], answer.json["replayed"], answer.json["remaining"]) == (2, 2, 0)
    due = answer.json["firstDueAt"], answer.json["lastDueAt"]
    assert due == (show_moment(world.clock.now), show_moment(world.clock.now + 20))
    assert [statuses(world, failed)[first + n * MINUTE] for n in range(3)] == ["pending", "pending", "failed"]
    again = replay(world, ids=named)
    assert (again.json["replayed"], len(again.json["notReplayed"])) == (0, 2)


def test_what_a_filter_leaves_is_replayed(world: V1World, failed: int) -> None:
    first = min(statuses(world, failed))
    counted = replay(world, since=first + 1, dryRun=True).json
    assert (counted["matched"], counted["replayed"], counted["remaining"]) == (2, 0, 2)
    assert counted["firstDueAt"] is None
    start = world.clock.now + DAY
    done = replay(world, timer=str(failed), since=first + 1, perSecond=1, startAt=start).json
    assert (done["firstDueAt"], done["lastDueAt"]) == (show_moment(start), show_moment(start + 1_000))
    assert replay(world, since=first, statuses=["skipped", "failed"]).json["replayed"] == 2
    assert replay(world, since=first).json["matched"] == 0
    assert replay(world, app="bank", since=first).json["matched"] == 0


FIRING = "1-1800000000000"
SINCE = {"since": 1_800_000_000_000}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "/since"),
        ({"ids": []}, "/ids"),
        ({"ids": ["1"]}, "/ids/0"),
        ({"ids": ["1-soon"]}, "/ids/0"),
        ({"ids": [{"id": FIRING}]}, "/ids/0"),
        ({"ids": [FIRING]} | SINCE, "/since"),
        ({"ids": [FIRING] * 1_001}, "/ids"),
        ({"since": "yesterday"}, "/since"),
        (SINCE | {"until": 5}, "/until"),
        (SINCE | {"until": SINCE["since"] - 1}, "/since"),
        (SINCE | {"statuses": ["pending"]}, "/statuses/0"),
        (SINCE | {"statuses": []}, "/statuses"),
        (SINCE | {"perSecond": 0}, "/perSecond"),
        (SINCE | {"perSecond": 1_001}, "/perSecond"),
        (SINCE | {"startAt": "now"}, "/startAt"),
        ({"since": 1_700_000_000_000, "startAt": "2098-01-01T00:00:00Z"}, "/startAt"),
        (SINCE | {"dryRun": "yes"}, "/dryRun"),
        (SINCE | {"timer": 1}, "/timer"),
    ],
)
def test_a_replay_that_cannot_be_read_names_its_field(
    small_world: V1World, fields: dict[str, Any], field: str
) -> None:
    answer = replay(small_world, **fields)
    assert (answer.status, answer.json["pointer"]) == (400, field), answer.json


def test_who_names_one_status_is_told_that_there_may_be_several(small_world: V1World) -> None:
    assert replay(small_world, status="failed").json["didYouMean"] == "statuses"


# of a range


def test_a_past_range_of_a_disabled_timer_is_planned(world: V1World) -> None:
    timer_id = made(world, EVERY_MINUTE, enabled=False)
    until = world.clock.now // HOUR * HOUR
    asked = {"since": show_moment(until - 10 * MINUTE), "until": until}
    counted = backfill(world, timer_id, **asked, dryRun=True).json
    assert (counted["matched"], counted["planned"], counted["remaining"]) == (10, 0, 10)
    done = backfill(world, timer_id, **asked, perSecond=10).json
    assert (done["matched"], done["planned"], done["remaining"]) == (10, 10, 0)
    assert done["nextSince"] is None
    due = done["firstDueAt"], done["lastDueAt"]
    assert due == (show_moment(world.clock.now), show_moment(world.clock.now + 900))
    assert sorted(statuses(world, timer_id)) == [until - minutes * MINUTE for minutes in range(9, -1, -1)]
    assert backfill(world, timer_id, **asked).json["planned"] == 0
    again = backfill(world, timer_id, **asked | {"since": until - 12 * MINUTE}, dryRun=True).json
    assert (again["matched"], again["remaining"]) == (12, 2)


def test_a_long_range_goes_on_where_it_stopped(world: V1World) -> None:
    timer_id = made(world, EVERY_SECOND, enabled=False)
    until = world.clock.now
    first = backfill(world, timer_id, since=until - 10_003_000, until=until).json
    assert (first["planned"], first["remaining"]) == (10_000, 3)
    rest = backfill(world, timer_id, since=first["nextSince"], until=until).json
    assert (rest["planned"], rest["remaining"], rest["nextSince"]) == (3, 0, None)
    assert world.stored()[1] == 10_003


def test_a_range_that_is_no_past_one_names_its_field(world: V1World) -> None:
    timer_id, now = made(world, EVERY_SECOND, enabled=False), world.clock.now
    for since, until, field in (
        (now - 2, now + 1, "/until"),
        (now, now, "/since"),
        (now - 367 * DAY, now, "/since"),
        ("x", now, "/since"),
        (now - 5, "x", "/until"),
    ):
        answer = backfill(world, timer_id, since=since, until=until)
        assert (answer.status, answer.json["pointer"]) == (400, field), answer.json
    missing = backfill(world, timer_id, since=now - 5).json
    assert (missing["code"], missing["pointer"]) == (ErrorCode.MISSING_FIELD.number, "/until")
    unknown = backfill(world, timer_id, app="bank", since=now - 5, until=now)
    assert unknown.json["code"] == ErrorCode.UNKNOWN_TIMER.number


def test_many_failed_firings_are_replayed_in_parts(world: V1World, monkeypatch: pytest.MonkeyPatch) -> None:
    timer_id = made(world, EVERY_SECOND, enabled=False)
    since = world.clock.now - 700_000
    backfill(world, timer_id, since=since, until=world.clock.now)
    for firing in world.wiring.firings.pending_between(0, world.clock.now * 2, 10_000):
        settle(world, timer_id, firing.fire_at)
    monkeypatch.setattr("wangtimer.timers.on_demand.MOST_AT_ONCE", 600)
    first = replay(world, since=since, perSecond=1_000).json
    assert (first["matched"], first["replayed"], first["remaining"]) == (700, 600, 100)
    assert first["firstDueAt"] == show_moment(world.clock.now)
    assert first["lastDueAt"] == show_moment(world.clock.now + 599)
    again = replay(world, since=since, startAt=first["lastDueAt"]).json
    assert (again["replayed"], again["remaining"]) == (100, 0)


def test_a_timer_tried_by_hand_is_enabled_as_ever(world: V1World) -> None:
    timer_id = made(world, EVERY_MINUTE, enabled=False)
    fire(world, timer_id)
    enabled = world.send("POST", f"{TIMERS}/{timer_id}:enable", rule=f"{ONE_TIMER}:enable")
    assert enabled.status == 200
    assert len(statuses(world, timer_id)) > 1
