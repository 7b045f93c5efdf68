import pytest

from tests.api.world import DEF, ENABLE, RECORDS, UNABLE, World
from tests.store.members import outcome_of
from wangtimer.core.errors import StoreAway, UnknownTimer
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.time.durations import read_duration, show_duration
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS

MINUTE, HOUR = 60_000, 3_600_000


def status_of(world: World, timer_id: int) -> str:
    return str(world.get(DEF, app="shop", id=timer_id).data["statusName"])


def test_a_timer_is_deleted_by_its_name(world: World) -> None:
    timer_id = world.enabled(name="expire")
    other = world.made(name="Expire")
    assert world.delete(app="bank", name="expire").code == 40401
    gone = world.delete(app="shop", name="expire").json
    assert gone.keys() == {"code", "msg", "stopped", "countsWithinMs"}
    assert gone["countsWithinMs"] == 1_000
    assert world.get(DEF, app="shop", id=timer_id).status == 404
    assert world.get(DEF, app="shop", id=other).status == 200
    again = world.delete(app="shop", name="expire")
    assert (again.status, again.code, again.json["field"]) == (404, 40401, "name")
    assert "'expire'" in again.msg


def test_a_timer_that_was_renamed_meanwhile_is_not_deleted_by_its_old_name(world: World) -> None:
    timer_id = world.made(name="new")
    with pytest.raises(UnknownTimer):
        world.wiring.registrar.delete("shop", timer_id, "old")
    assert world.get(DEF, app="shop", id=timer_id).status == 200


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({}, 40005, "id"),
        ({"id": None, "name": None}, 40005, "id"),
        ({"id": 1, "name": "expire"}, 40007, "name"),
        ({"name": ""}, 40007, "name"),
        ({"name": 7}, 40006, "name"),
    ],
)
def test_a_change_names_one_timer_in_one_way(
    world: World, fields: dict[str, object], code: int, field: str
) -> None:
    answers = [world.post(path, app="shop", **fields) for path in (ENABLE, UNABLE)]
    for refused in (world.delete(app="shop", **fields), *answers):
        assert (refused.status, refused.code, refused.json["field"]) == (400, code, field)


def test_a_timer_is_switched_on_and_off_by_its_name(world: World) -> None:
    timer_id = world.made(name="expire", cron="0 0 1 1 *")
    assert world.post(ENABLE, app="shop", name="expire").data["statusName"] == "enabled"
    assert world.post(UNABLE, app="shop", name="expire").data["id"] == timer_id
    assert status_of(world, timer_id) == "disabled"
    for path in (ENABLE, UNABLE):
        for app, name in (("shop", "Expire"), ("bank", "expire")):
            unknown = world.post(path, app=app, name=name)
            assert (unknown.status, unknown.code, unknown.json["field"]) == (404, 40401, "name")


def test_enabling_plans_the_near_part_and_twice_changes_nothing(world: World) -> None:
    timer_id = world.made(cron="* * * * * *")
    first = world.post(ENABLE, app="shop", id=timer_id)
    planned = world.stored()
    again = world.post(ENABLE, app="shop", id=timer_id)
    assert planned[1] == 60
    assert world.stored() == planned
    assert again.json == first.json


def test_only_what_is_due_at_once_goes_straight_to_an_executor(world: World) -> None:
    world.enabled(cron="* * * * * *")
    assert world.broker.moments == [world.clock.now + 1_000]


def test_disabling_stands_until_enabled_again(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    disabled = world.post(UNABLE, app="shop", id=timer_id)
    assert (disabled.data["status"], disabled.data["nextFireAt"]) == (1, None)
    assert world.post(UNABLE, app="shop", id=timer_id).json == disabled.json
    assert status_of(world, timer_id) == "disabled"
    assert world.post(ENABLE, app="shop", id=timer_id).data["status"] == 2


def test_redis_learns_of_every_change(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    known = world.wiring.definitions
    assert known.get([timer_id]).definitions[timer_id].is_enabled
    world.post(UNABLE, app="shop", id=timer_id)
    assert not known.get([timer_id]).definitions[timer_id].is_enabled
    world.delete(app="shop", id=timer_id)
    assert known.get([timer_id]).definitions[timer_id].status == "deleted"


def test_an_answer_says_within_what_time_its_change_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [world.enabled(name=name, cron="* * * * *") for name in "abcdef"]
    for on_id in (ids[2], ids[5]):
        assert world.post(UNABLE, app="shop", id=on_id).code == 0
    moment = world.clock.now // 60_000 * 60_000 + 10 * 60_000

    def change(timer_id: int, off_id: int, on_id: int, at: int) -> list[int | str]:
        cancelled = world.cancel(timer_id, at)["countsWithin"]
        answers = [
            world.patch(app="shop", id=timer_id, tags=[str(at)]),
            world.post(UNABLE, app="shop", id=timer_id),
            world.delete(app="shop", id=timer_id),
        ]
        many = [
            world.send("POST", f"/v1/timers:batch{verb}", {"ids": [one]})
            for verb, one in (("Disable", off_id), ("Enable", on_id))
        ]
        assert [answer.code for answer in answers] == [0] * 3
        assert [answer.json["done"] for answer in many] == [1, 1]
        spans = [read_duration(answer.json["countsWithin"]) for answer in many]
        return [cancelled, *(answer.json["countsWithinMs"] for answer in answers), *spans]

    assert change(*ids[:3], moment) == ["1s", *[1_000] * 5]

    def away(*_definitions: object, **_far: object) -> None:
        raise StoreAway("Redis", "cut off by the test")

    monkeypatch.setattr(world.wiring.definitions, "put", away)
    assert change(*ids[3:], moment) == [show_duration(COUNTS_WITHIN_MS), *[COUNTS_WITHIN_MS] * 5]


@pytest.mark.parametrize("ahead", [1_000, HOUR, 2 * HOUR])
def test_xtimer_fault_a_one_shot_inside_two_hours_could_not_be_enabled(world: World, ahead: int) -> None:
    timer_id = world.made(delayMs=ahead)
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    assert (enabled.status, enabled.data["status"]) == (200, 2)


@pytest.mark.parametrize("late", [0, 1, 59_999, 60_000])
def test_a_one_shot_up_to_a_minute_past_fires_at_once_when_enabled(world: World, late: int) -> None:
    moment = world.clock.now + HOUR
    timer_id = world.made(at=moment)
    world.clock.now = moment + late
    assert world.post(ENABLE, app="shop", id=timer_id).status == 200
    assert world.broker.moments == [moment]


def test_a_one_shot_longer_past_cannot_be_enabled_and_stays_as_it_is(world: World) -> None:
    moment = world.clock.now + HOUR
    timer_id = world.made(at=moment)
    world.clock.now = moment + 60_001
    refused = world.post(ENABLE, app="shop", id=timer_id)
    assert (refused.status, refused.code, refused.json["field"]) == (409, 40902, "id")
    assert "60 s" in refused.msg
    assert status_of(world, timer_id) == "disabled"
    assert world.stored() == (1, 0)
    assert world.broker.chunks == []


@pytest.mark.parametrize("has_fired", [True, False])
def test_a_one_shot_that_is_past_is_given_another_moment_as_its_refusal_says(
    small_world: World, has_fired: bool
) -> None:
    world, at = small_world, small_world.clock.now + HOUR
    timer_id = world.enabled(cron=None, at=at) if has_fired else world.made(cron=None, at=at)
    world.clock.now = at + (1_000 if has_fired else 61_000)
    if has_fired:
        world.wiring.migrator.plan_due()
        world.wiring.firings.settle([outcome_of(Member(timer_id, at, 1))])
        assert world.post(UNABLE, app="shop", id=timer_id).code == 0
    refused = world.post(ENABLE, app="shop", id=timer_id)
    assert refused.code == 40902
    assert "give it another moment: PATCH or PUT it with at or a delay" in refused.msg
    assert world.patch(app="shop", id=timer_id, delayMs=HOUR).code == 0
    assert world.post(ENABLE, app="shop", id=timer_id).code == 0


@pytest.mark.parametrize("app", ["other", "Shop", "shop2"])
def test_xtimer_fault_app_was_not_checked_on_get_delete_enable(world: World, app: str) -> None:
    timer_id = world.made(cron="* * * * *")
    before = world.get(DEF, app="shop", id=timer_id).json
    answers = [world.get(DEF, app=app, id=timer_id), world.get(RECORDS, app=app, id=timer_id)]
    answers += [world.post(path, app=app, id=timer_id) for path in (ENABLE, UNABLE)]
    answers.append(world.delete(app=app, id=timer_id))
    assert {(answer.status, answer.code, answer.json["field"]) for answer in answers} == {(404, 40401, "id")}
    assert world.get(DEF, app="shop", id=timer_id).json == before


@pytest.mark.parametrize("unknown", [999_999, 2**63 - 1])
def test_an_id_that_no_timer_has_is_not_found(world: World, unknown: int) -> None:
    for path in (ENABLE, UNABLE):
        assert world.post(path, app="shop", id=unknown).code == 40401
    for path in (DEF, RECORDS):
        assert world.get(path, app="shop", id=unknown).code == 40401
    missing = world.delete(app="shop", id=unknown)
    assert (missing.status, missing.code) == (404, 40401)
    assert str(unknown) in missing.msg


def test_a_deleted_timer_cannot_be_changed_and_is_listed_no_more(world: World) -> None:
    timer_id = world.enabled(cron="* * * * *")
    world.delete(app="shop", id=timer_id)
    assert world.post(ENABLE, app="shop", id=timer_id).status == 404
    assert world.get("/api/timer/v1/defs", app="shop").data == []


@pytest.mark.parametrize(("ahead_ms", "state"), [(1_500, "in_flight"), (1_501, "cancelled")])
def test_switching_off_says_whether_it_came_in_time(world: World, ahead_ms: int, state: str) -> None:
    at = world.clock.now + ahead_ms
    names = ("a", "b", "c", "d")
    ids = dict(zip(names, (world.enabled(name=name, cron=None, at=at) for name in names), strict=True))
    expected = {"at": show_moment(at), "atMs": at, "state": state}
    assert world.post(UNABLE, app="shop", name="a").json["stopped"] == expected
    assert world.post(UNABLE, app="shop", name="a").json["stopped"] == expected
    assert world.delete(app="shop", name="b").json["stopped"] == expected
    of_v1 = {"at": show_moment(at), "state": state}
    for verb, name in (("Disable", "c"), ("Delete", "d")):
        done = world.send("POST", f"/v1/timers:batch{verb}", {"ids": [ids[name]]}).json
        assert done["stopped"] == [{"id": ids[name], **of_v1}]


def test_deleting_many_that_were_never_enabled_says_nothing_of_what_is_on_its_way(world: World) -> None:
    off, on = world.made(name="off", cron="* * * * * *"), world.enabled(name="on", cron="* * * * * *")
    done = world.send("POST", "/v1/timers:batchDelete", {"ids": [off, on]}).json
    assert [(one["id"], one["state"]) for one in done["stopped"]] == [(on, "in_flight")]


def test_switching_off_a_finished_timer_says_that_it_fired(world: World) -> None:
    at = world.clock.now + 5_000
    timer_id = world.enabled(cron=None, at=at)
    world.clock.now = at + 3_000
    world.wiring.firings.settle([outcome_of(Member(timer_id, at, 1))])
    stopped = world.post(UNABLE, app="shop", id=timer_id).json["stopped"]
    assert stopped == {"at": show_moment(at), "atMs": at, "state": "already_fired"}


@pytest.mark.parametrize(("status", "state"), [("pending", "cancelled"), ("failed", None)])
def test_what_was_never_sent_has_not_fired(world: World, status: str, state: str | None) -> None:
    at = world.clock.now + 5_000
    timer_id = world.enabled(cron=None, at=at)
    world.clock.now = at + 3_000
    retry_at = world.clock.now + 8_000
    world.wiring.firings.settle([outcome_of(Member(timer_id, at, 1), FiringStatus(status), retry_at)])
    stopped = world.post(UNABLE, app="shop", id=timer_id).json["stopped"]
    assert stopped == (state and {"at": show_moment(at), "atMs": at, "state": state})


def test_a_timer_without_any_moment_has_none_to_stop(world: World) -> None:
    timer_id = world.made(cron=None, at=world.clock.now + 5_000)
    world.clock.now += 60_000
    assert world.delete(app="shop", id=timer_id).json["stopped"] is None
