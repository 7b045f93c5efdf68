"""Firings on demand: now, once more, not at all, of a range that is past."""

from typing import Any

import pytest

from tests.api.world import DEF, ENABLE, RECORDS, World
from wangtimer.api.http.codes import ErrorCode
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.time.rfc3339 import read_moment

FIRE, REPLAY, CANCEL, BACKFILL = (f"/api/task/v1/{verb}" for verb in ("fire", "replay", "cancel", "backfill"))
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FAILED, SKIPPED = FiringStatus.FAILED, FiringStatus.SKIPPED


def settle(world: World, timer_id: int, moment: int, status: FiringStatus = FAILED) -> None:
    world.wiring.firings.settle([Outcome(Member(timer_id, moment, 1), 0, status, moment, error="HTTP 500")])


def statuses(world: World, timer_id: int) -> dict[int, str]:
    answer = world.get(RECORDS, app="shop", id=timer_id, pending="true", limit=500)
    return {row["fireAtMs"]: row["statusName"] for row in answer.data}


def coming(world: World, timer_id: int) -> int:
    return read_moment(world.get(DEF, app="shop", id=timer_id).data["nextFireAt"])


# now


def test_a_disabled_timer_is_fired_and_handed_to_an_executor_at_once(world: World) -> None:
    timer_id = world.made(cron="30 0 0 1 1 *")
    answer = world.post(FIRE, app="shop", id=timer_id)
    assert answer.status == 200
    fire_at = answer.data["fireAtMs"]
    assert 0 <= fire_at - world.clock.now <= 1
    assert (answer.data["kind"], answer.data["statusName"], answer.data["attempt"]) == (
        "manual",
        "pending",
        1,
    )
    assert answer.data["webhookId"] == f"{timer_id}-{fire_at}"
    assert world.broker.moments == [fire_at]
    assert world.get(DEF, app="shop", id=timer_id).data["statusName"] == "disabled"
    assert statuses(world, timer_id) == {fire_at: "pending"}


def test_each_request_is_one_more_firing(world: World) -> None:
    timer_id = world.made(cron="30 0 0 1 1 *")
    moments = [world.post(FIRE, app="shop", id=timer_id).data["fireAtMs"] for _ in range(3)]
    assert len(set(moments)) == 3
    assert world.broker.moments == moments


@pytest.mark.parametrize("app", ["shop", "bank"])
def test_an_unknown_timer_is_not_fired(world: World, app: str) -> None:
    known = world.made()
    answer = world.post(FIRE, app=app, id=known if app == "bank" else 99)
    assert answer.code == ErrorCode.UNKNOWN_TIMER.number
    assert world.stored()[1] == 0


# not at all


def test_a_coming_firing_is_cancelled(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    moment = coming(world, timer_id) + MINUTE
    answer = world.post(CANCEL, app="shop", id=timer_id, fireAt=show_moment(moment))
    assert answer.status == 200
    assert (answer.data["statusName"], answer.data["error"], answer.data["fireAtMs"]) == (
        "skipped",
        "cancelled",
        moment,
    )
    assert statuses(world, timer_id)[moment] == "skipped"
    assert statuses(world, timer_id)[moment - MINUTE] == "pending"
    assert world.post(CANCEL, app="shop", id=timer_id, fireAt=moment).data == answer.data


def test_the_next_moments_leave_it_out_and_an_edit_keeps_it_so(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    moment = coming(world, timer_id) + MINUTE
    world.post(CANCEL, app="shop", id=timer_id, fireAt=moment)
    shown = [
        world.patch(app="shop", id=timer_id, **change).data
        for change in ({"misfire": "skip"}, {"cron": "*/1 * * * *"})
    ]
    for data in shown:
        moments = [one["atMs"] for one in data["nextMoments"]]
        assert moments[:2] == [moment - MINUTE, moment + MINUTE]
        assert "every minute" in data["words"]["en"].lower()
    assert statuses(world, timer_id)[moment] == "skipped"


def test_what_cannot_be_cancelled_says_why(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    moment = coming(world, timer_id)
    unknown = world.post(CANCEL, app="shop", id=timer_id, fireAt=moment + 1)
    assert (unknown.status, unknown.code) == (404, ErrorCode.UNKNOWN_FIRING.number)
    assert unknown.json["field"] == "fireAt"
    settle(world, timer_id, moment + MINUTE)
    refused = [world.post(CANCEL, app="shop", id=timer_id, fireAt=moment + MINUTE)]
    world.clock.now = moment - 1_000
    refused.append(world.post(CANCEL, app="shop", id=timer_id, fireAt=moment))
    once = world.enabled(name="once", at=moment + HOUR)
    refused.append(world.post(CANCEL, app="shop", id=once, fireAt=moment + HOUR))
    for answer, word in zip(refused, ("failed", "on its way", "disable or delete"), strict=True):
        assert (answer.status, answer.code) == (409, ErrorCode.WRONG_STATE.number)
        assert word in answer.msg
    elsewhere = world.post(CANCEL, app="bank", id=timer_id, fireAt=moment + 2 * MINUTE)
    assert elsewhere.code == ErrorCode.UNKNOWN_TIMER.number


# once more


@pytest.fixture
def failed(world: World) -> int:
    """A timer of which three firings have failed and one was skipped; an hour later."""
    timer_id = world.enabled(cron="* * * * *")
    first = coming(world, timer_id)
    for number in range(3):
        settle(world, timer_id, first + number * MINUTE)
    settle(world, timer_id, first + 3 * MINUTE, SKIPPED)
    world.clock.now = first + HOUR
    return timer_id


def test_named_firings_are_replayed(world: World, failed: int) -> None:
    first = min(statuses(world, failed))
    named = [{"id": failed, "fireAt": at} for at in (first, show_moment(first + MINUTE))]
    answer = world.post(REPLAY, app="shop", firings=[*named, {"id": failed, "fireAt": first + 1}])
    assert answer.status == 200
    (left,) = answer.data["notReplayed"]
    assert (left["id"], left["fireAtMs"]) == (failed, first + 1)
    assert left["msg"]
    assert (answer.data["matched"], answer.data["replayed"], answer.data["remaining"]) == (2, 2, 0)
    due = answer.data["firstDueAtMs"], answer.data["lastDueAtMs"]
    assert due == (world.clock.now, world.clock.now + 20)
    assert [statuses(world, failed)[first + n * MINUTE] for n in range(3)] == ["pending", "pending", "failed"]
    again = world.post(REPLAY, app="shop", firings=named)
    assert (again.data["replayed"], len(again.data["notReplayed"])) == (0, 2)


def test_what_a_filter_leaves_is_replayed(world: World, failed: int) -> None:
    first = min(statuses(world, failed))
    counted = world.post(REPLAY, app="shop", since=first + 1, dryRun=True)
    assert (counted.data["matched"], counted.data["replayed"], counted.data["remaining"]) == (2, 0, 2)
    assert counted.data["firstDueAtMs"] is None
    start = world.clock.now + DAY
    done = world.post(REPLAY, app="shop", id=failed, since=first + 1, perSecond=1, startAt=start)
    assert (done.data["firstDueAtMs"], done.data["lastDueAtMs"]) == (start, start + 1_000)
    both = world.post(REPLAY, app="shop", since=first, statuses=["skipped", "failed"])
    assert both.data["replayed"] == 2
    assert world.post(REPLAY, app="shop", since=first).data["matched"] == 0
    assert world.post(REPLAY, app="bank", since=first).data["matched"] == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "since"),
        ({"firings": []}, "firings"),
        ({"firings": [{"id": 1}]}, "firings.0.fireAt"),
        ({"firings": [{"id": 1, "fireAt": "soon"}]}, "firings.0.fireAt"),
        ({"firings": [{"id": 1, "fireAt": 1_800_000_000_000, "attempt": 2}]}, "firings.0.attempt"),
        ({"firings": [{"id": 1, "fireAt": 1_800_000_000_000}], "since": 1_800_000_000_000}, "since"),
        ({"firings": [{"id": 1, "fireAt": 1_800_000_000_000}] * 1_001}, "firings"),
        ({"since": "yesterday"}, "since"),
        ({"since": 1_800_000_000_000, "until": 5}, "until"),
        ({"since": 1_800_000_000_000, "statuses": ["pending"]}, "statuses.0"),
        ({"since": 1_800_000_000_000, "statuses": []}, "statuses"),
        ({"since": 1_800_000_000_000, "perSecond": 0}, "perSecond"),
        ({"since": 1_800_000_000_000, "perSecond": 1_001}, "perSecond"),
        ({"since": 1_800_000_000_000, "startAt": "now"}, "startAt"),
        ({"since": 1_700_000_000_000, "startAt": "2098-01-01T00:00:00Z"}, "startAt"),
        ({"since": 1_800_000_000_000, "dryRun": "yes"}, "dryRun"),
        ({"since": 1_800_000_000_000, "id": "1"}, "id"),
    ],
)
def test_a_replay_that_cannot_be_read_names_its_field(
    small_world: World, fields: dict[str, Any], field: str
) -> None:
    answer = small_world.post(REPLAY, app="shop", **fields)
    assert (answer.status, answer.json["field"]) == (400, field), answer.json


# of a range


def test_a_past_range_of_a_disabled_timer_is_planned(world: World) -> None:
    timer_id = world.made(cron="* * * * *")
    until = world.clock.now // HOUR * HOUR
    asked = {"app": "shop", "id": timer_id, "since": show_moment(until - 10 * MINUTE), "until": until}
    counted = world.post(BACKFILL, **asked, dryRun=True)
    assert (counted.data["matched"], counted.data["planned"], counted.data["remaining"]) == (10, 0, 10)
    done = world.post(BACKFILL, **asked, perSecond=10)
    assert (done.data["matched"], done.data["planned"], done.data["remaining"]) == (10, 10, 0)
    assert done.data["nextSince"] is None
    due = done.data["firstDueAtMs"], done.data["lastDueAtMs"]
    assert due == (world.clock.now, world.clock.now + 900)
    assert sorted(statuses(world, timer_id)) == [until - minutes * MINUTE for minutes in range(9, -1, -1)]
    assert world.post(BACKFILL, **asked).data["planned"] == 0
    again = world.post(BACKFILL, **asked | {"since": until - 12 * MINUTE}, dryRun=True)
    assert (again.data["matched"], again.data["remaining"]) == (12, 2)


def test_a_long_range_goes_on_where_it_stopped(world: World) -> None:
    timer_id = world.made(cron="* * * * * *")
    until = world.clock.now
    first = world.post(BACKFILL, app="shop", id=timer_id, since=until - 10_003_000, until=until)
    assert (first.data["planned"], first.data["remaining"]) == (10_000, 3)
    rest = world.post(BACKFILL, app="shop", id=timer_id, since=first.data["nextSince"], until=until)
    assert (rest.data["planned"], rest.data["remaining"], rest.data["nextSince"]) == (3, 0, None)
    assert world.stored()[1] == 10_003


def test_a_range_that_is_no_past_one_names_its_field(world: World) -> None:
    timer_id, now = world.made(), world.clock.now
    for since, until, field in (
        (now - 2, now + 1, "until"),
        (now, now, "since"),
        (now - 367 * DAY, now, "since"),
        ("x", now, "since"),
        (now - 5, "x", "until"),
    ):
        answer = world.post(BACKFILL, app="shop", id=timer_id, since=since, until=until)
        assert (answer.status, answer.json["field"]) == (400, field), answer.json
    missing = world.post(BACKFILL, app="shop", id=timer_id, since=now - 5)
    assert (missing.code, missing.json["field"]) == (ErrorCode.MISSING_FIELD.number, "until")
    unknown = world.post(BACKFILL, app="bank", id=timer_id, since=now - 5, until=now)
    assert unknown.code == ErrorCode.UNKNOWN_TIMER.number


def test_many_failed_firings_are_replayed_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    timer_id = world.made(cron="* * * * * *")
    since = world.clock.now - 700_000
    world.post(BACKFILL, app="shop", id=timer_id, since=since, until=world.clock.now)
    for firing in world.wiring.firings.pending_between(0, world.clock.now * 2, 10_000):
        settle(world, timer_id, firing.fire_at)
    monkeypatch.setattr("wangtimer.on_demand.MOST_AT_ONCE", 600)
    first = world.post(REPLAY, app="shop", since=since, perSecond=1_000)
    assert (first.data["matched"], first.data["replayed"], first.data["remaining"]) == (700, 600, 100)
    assert first.data["lastDueAtMs"] - first.data["firstDueAtMs"] == 599
    again = world.post(REPLAY, app="shop", since=since, startAt=first.data["lastDueAtMs"])
    assert (again.data["replayed"], again.data["remaining"]) == (100, 0)


def test_a_timer_tried_by_hand_is_enabled_as_ever(world: World) -> None:
    timer_id = world.made(cron="* * * * *")
    world.post(FIRE, app="shop", id=timer_id)
    assert world.post(ENABLE, app="shop", id=timer_id).status == 200
    assert len(statuses(world, timer_id)) > 1
