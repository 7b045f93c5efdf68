"""What answers make of their timers is on record with their outcome, and done by a sweep where its message was lost."""

from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest

from tests.api.answered_controls import apply_controls
from tests.api.v1.world import URL, V1World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL, LEAST_AHEAD_MS, ControlKind, ReplyControl
from wangtimer.core.schedules.schedule import as_bounded
from wangtimer.core.timers.timer import Timer
from wangtimer.features.controls.control_applier import CALLER, LONGEST_S, MOST_AWAY, ROUNDS
from wangtimer.store.sql.audit import AuditFilter
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.on_settled import FIRST_KEY
from wangtimer.store.sql.tables import reply_controls
from wangtimer.timers.registrar import Registrar


class Answered:
    """A timer whose firings are answered."""

    def __init__(self, world: V1World, key: str = "paced") -> None:
        self.world, self.wiring = world, world.wiring
        made = world.made(key=key, target={"url": URL, "allowControl": True}, schedule={"every": "1h"})
        self.timer_id, self.version = made.json["id"], made.json["version"]

    @property
    def timer(self) -> Timer:
        return self.wiring.timers.get("shop", self.timer_id)

    def outcome(self, control: str, before_s: int = 60) -> Outcome:
        member = Member(self.timer_id, self.world.clock.now - before_s * 1_000, 1)
        self.wiring.database.write(lambda sql: insert_missing(sql, [Firing.planned(*member.key, 0)]))
        outcome = Outcome(member, 0, FiringStatus.SUCCEEDED, 0, member.fire_at, 0, 9, 200)
        return outcome.with_note((CONTROL, control))

    def settle(self, *outcomes: Outcome) -> None:
        """Write them by way of the outbox, as where SQL was away, and once more."""
        for _ in range(2):
            self.wiring.firings.settle([Outcome.from_wire(one.to_wire()) for one in outcomes])

    def control(self, kind: ControlKind, until: int = 0) -> str:
        return ReplyControl(self.version, kind, until).text


def kept(world: V1World) -> int:
    store = world.wiring.reply_controls
    return sum(len(store.behind(FIRST_KEY, 99, are_gone=are_gone)) for are_gone in (True, False))


@pytest.fixture
def answered(world: V1World) -> Answered:
    return Answered(world)


def test_a_sweep_does_what_the_outcome_says_once(answered: Answered) -> None:
    until = answered.world.clock.now + 86_400_000
    answered.settle(answered.outcome(answered.control(ControlKind.DELAY, until)))
    assert kept(answered.world) == 1
    answered.wiring.control_applier.sweep()
    assert kept(answered.world) == 0
    assert answered.timer.next_fire_at is not None
    assert answered.timer.next_fire_at >= until
    assert answered.timer.definition.version == answered.version + 1


def test_what_is_on_record_once_more_is_not_done_again(answered: Answered) -> None:
    outcome = answered.outcome(answered.control(ControlKind.STOP))
    answered.settle(outcome)
    answered.wiring.control_applier.sweep()
    answered.wiring.registrar.enable("shop", answered.timer_id)
    answered.settle(outcome)
    answered.wiring.control_applier.sweep()
    assert answered.timer.definition.is_enabled
    assert kept(answered.world) == 0


def test_of_several_answers_that_of_the_latest_firing_counts(answered: Answered) -> None:
    until = answered.world.clock.now + 86_400_000
    stop = answered.outcome(answered.control(ControlKind.STOP), before_s=120)
    answered.settle(stop, answered.outcome(answered.control(ControlKind.DELAY, until)))
    answered.wiring.control_applier.sweep()
    assert answered.timer.definition.is_enabled
    assert answered.timer.definition.version == answered.version + 1


@pytest.mark.parametrize("text", ["1 halt 0", "nonsense", "1 stop"])
def test_what_this_version_cannot_read_holds_up_no_other(world: V1World, text: str) -> None:
    first, second = Answered(world, "first"), Answered(world, "second")
    first.settle(first.outcome(text), second.outcome(second.control(ControlKind.STOP)))
    world.wiring.control_applier.sweep()
    assert (first.timer.definition.is_enabled, second.timer.definition.is_enabled) == (True, False)
    assert kept(world) == 0


def test_one_that_cannot_be_changed_holds_up_no_other(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Answered(world, "first"), Answered(world, "second")
    first.settle(
        # Only the later one is tried.
        first.outcome(first.control(ControlKind.DELAY, 1), before_s=120),
        first.outcome(first.control(ControlKind.DELAY, 1)),
        second.outcome(second.control(ControlKind.STOP)),
    )
    monkeypatch.setattr("wangtimer.features.controls.control_applier.put_off", lambda *_: 1 // 0)
    world.wiring.control_applier.sweep()
    assert not second.timer.definition.is_enabled
    asked = {"timer": str(first.timer_id)}
    (told,) = [one for one in world.send("GET", "/v1/firings", query=asked).json["items"] if one["error"]]
    assert told["error"].startswith(
        "the answer's X-WangTimer-Control (delay 1) changed nothing: a fault of the service"
    )


def test_while_sql_is_away_it_stays_on_record(answered: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    answered.settle(answered.outcome(answered.control(ControlKind.STOP)))

    def be_away(*_: object) -> None:
        raise StoreAway("sql", "it is away")

    with monkeypatch.context() as patched:
        patched.setattr(type(answered.wiring.registrar), "disable", be_away)
        with pytest.raises(StoreAway):
            answered.wiring.control_applier.sweep()
    assert kept(answered.world) == 1
    answered.wiring.control_applier.sweep()
    assert not answered.timer.definition.is_enabled


def test_one_timer_for_which_sql_is_away_holds_up_no_other(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its row is held by somebody, or its edit is too long for a statement's time."""
    monkeypatch.setattr("wangtimer.features.controls.control_applier.PAGE", 1)
    first, *others = [Answered(world, f"paced-{number}") for number in range(3)]
    for one in (first, *others):
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    disable = type(world.wiring.registrar).disable

    def be_away_for_one(registrar: Registrar, app: str, timer_id: int, version: int | None = None) -> Timer:
        if timer_id == first.timer_id:
            raise StoreAway("sql", "the row is held")
        return disable(registrar, app, timer_id, version)

    with monkeypatch.context() as patched:
        patched.setattr(type(world.wiring.registrar), "disable", be_away_for_one)
        with pytest.raises(StoreAway):
            world.wiring.control_applier.sweep()
        assert [one.timer.definition.is_enabled for one in (first, *others)] == [True, False, False]
        assert kept(world) == 1
    world.wiring.control_applier.sweep()
    assert (first.timer.definition.is_enabled, kept(world)) == (False, 0)


def test_where_sql_is_away_for_several_no_further_one_is_tried(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [Answered(world, f"paced-{number}") for number in range(MOST_AWAY + 2)]
    for one in several:
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    tried = []

    def be_away(_: object, app: str, timer_id: int, version: int) -> None:
        tried.append(timer_id)
        raise StoreAway("sql", "it is away")

    monkeypatch.setattr(type(world.wiring.registrar), "disable", be_away)
    with pytest.raises(StoreAway):
        world.wiring.control_applier.sweep()
    assert len(tried) == MOST_AWAY
    assert kept(world) == len(several)


def test_several_timers_for_which_sql_is_away_hold_up_none_behind_them(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done beside them is forgotten, and the next sweep goes on behind them."""
    several = [Answered(world, f"paced-{number}") for number in range(MOST_AWAY + 3)]
    several.sort(key=lambda one: one.timer_id)
    for one in several:
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    held = {one.timer_id for one in several[1 : MOST_AWAY + 1]}
    disable = type(world.wiring.registrar).disable

    def be_away_for_some(registrar: Registrar, app: str, timer_id: int, version: int | None = None) -> Timer:
        if timer_id in held:
            raise StoreAway("sql", "the row is held")
        return disable(registrar, app, timer_id, version)

    monkeypatch.setattr(type(world.wiring.registrar), "disable", be_away_for_some)
    with pytest.raises(StoreAway):
        world.wiring.control_applier.sweep()
    assert kept(world) == len(several) - 1
    world.wiring.control_applier.sweep()
    assert kept(world) == MOST_AWAY
    assert [one.timer.definition.is_enabled for one in several] == [one.timer_id in held for one in several]


def test_a_sweep_that_takes_long_ends_within_its_page_and_the_next_goes_on_there(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [Answered(world, f"paced-{number}") for number in range(3)]
    for one in several:
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    disable = type(world.wiring.registrar).disable

    def be_slow(registrar: Registrar, *passed: Any) -> Timer:
        world.clock.sleep(LONGEST_S)
        return disable(registrar, *passed)

    monkeypatch.setattr(type(world.wiring.registrar), "disable", be_slow)
    for left in (2, 1, 0):
        world.wiring.control_applier.sweep()
        assert kept(world) == left


def ask_in(world: V1World) -> None:
    """Ask for what answers make of timers, as another thread does."""
    asking = Thread(target=world.wiring.control_applier.apply)
    asking.start()
    asking.join(10)
    assert not asking.is_alive(), "it waits for the one that is at it"


def test_what_is_asked_for_while_a_message_s_work_takes_long_is_done_by_it(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Answered(world, f"paced-{number}") for number in range(2))
    first.settle(first.outcome(first.control(ControlKind.STOP)))
    disable = type(world.wiring.registrar).disable

    def be_slow(registrar: Registrar, *passed: Any) -> Timer:
        monkeypatch.undo()
        world.clock.sleep(LONGEST_S)
        second.settle(second.outcome(second.control(ControlKind.STOP)))
        ask_in(world)
        return disable(registrar, *passed)

    monkeypatch.setattr(type(world.wiring.registrar), "disable", be_slow)
    world.wiring.control_applier.apply()
    assert kept(world) == 0


@pytest.mark.parametrize(("work", "rounds"), [("sweep", 1), ("apply", ROUNDS)])
def test_however_often_it_is_asked_for_it_ends(
    world: V1World, monkeypatch: pytest.MonkeyPatch, work: str, rounds: int
) -> None:
    """Else one app whose timers pace themselves would hold up what comes behind it in a sweep."""
    several = [Answered(world, f"paced-{number}") for number in range(ROUNDS + 3)]
    for one in several:
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    disable = type(world.wiring.registrar).disable

    def be_slow(registrar: Registrar, *passed: Any) -> Timer:
        world.clock.sleep(LONGEST_S)
        ask_in(world)
        return disable(registrar, *passed)

    monkeypatch.setattr(type(world.wiring.registrar), "disable", be_slow)
    getattr(world.wiring.control_applier, work)()
    assert kept(world) == len(several) - rounds


def test_more_than_a_page_is_done(world: V1World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.features.controls.control_applier.PAGE", 2)
    several = [Answered(world, f"paced-{number}") for number in range(5)]
    for one in several:
        one.settle(one.outcome(one.control(ControlKind.STOP)))
    world.wiring.control_applier.sweep()
    assert not any(one.timer.definition.is_enabled for one in several)


def test_a_deleted_timer_is_left_alone(answered: Answered) -> None:
    answered.settle(answered.outcome(answered.control(ControlKind.STOP)))
    answered.wiring.registrar.delete("shop", answered.timer_id)
    answered.wiring.control_applier.sweep()
    assert kept(answered.world) == 0


def test_an_answer_that_says_nothing_leaves_no_row(answered: Answered) -> None:
    answered.settle(answered.outcome(""))
    rows = answered.wiring.database.read(lambda sql: sql.execute(reply_controls.select()).all())
    assert rows == []


def test_who_has_the_most_controls_holds_up_nobody_behind(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.features.controls.control_applier.PAGE", 2)
    monkeypatch.setattr("wangtimer.features.controls.control_applier.LONGEST_S", 1e-9)
    many, last = Answered(world, "many"), Answered(world, "last")
    stop = ReplyControl(1, ControlKind.STOP).text
    world.wiring.firings.settle([last.outcome(stop)])
    ticking = iter(range(10**6))
    monkeypatch.setattr(world.wiring.control_applier.clock, "monotonic", lambda: next(ticking) * 0.6e-9)
    for number in range(4):
        again = [many.outcome(stop, before_s=60 + 2 * number + one) for one in range(2)]
        world.wiring.firings.settle(again)
        world.wiring.control_applier.sweep()
    assert not last.timer.definition.is_enabled


@pytest.mark.parametrize("schedule", [{"at": "in an hour"}, {"every": "1h"}])
def test_a_control_that_waited_until_its_moment_was_past_has_its_timer_fire_all_the_same(
    world: V1World, schedule: dict[str, str]
) -> None:
    """Nobody applied it for so long: a timer of one moment would stand still for ever."""
    given = {"delay": "1h"} if "at" in schedule else schedule
    made = world.made(key="paced", target={"url": URL, "allowControl": True}, schedule=given)
    answered = Answered.__new__(Answered)
    answered.world, answered.wiring = world, world.wiring
    answered.timer_id, answered.version = made.json["id"], made.json["version"]
    control = ReplyControl(answered.version, ControlKind.NEXT, world.clock.now + 30_000).text
    world.wiring.firings.settle([answered.outcome(control)])
    world.clock.now += 600_000
    world.wiring.control_applier.sweep()
    following = answered.timer.next_fire_at
    planned = world.wiring.firings.records(answered.timer_id, 9)
    moments = [one.firing.fire_at for one in planned if one.firing.status is FiringStatus.PENDING]
    assert min(moments) == world.clock.now + LEAST_AHEAD_MS or following == world.clock.now + LEAST_AHEAD_MS


def at_text(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1_000, UTC).isoformat()


def paced_once(world: V1World, key: str) -> str:
    at = world.clock.now + 3_600_000
    made = world.made(key=key, target={"url": URL, "allowControl": True}, schedule={"at": at_text(at)})
    return made.json["id"]


def control_each(world: V1World, timer_ids: list[str], kind: ControlKind) -> list[int]:
    """Let the answer of each say that it is due in a second; return the moments it then has, in ms from now."""
    now = world.clock.now
    for timer_id in timer_ids:
        version = world.wiring.timers.get("shop", timer_id).definition.version
        asked = {timer_id: ReplyControl(version, kind, now + 1_000).text}
        apply_controls(world.wiring, asked)
        apply_controls(world.wiring, asked)
    schedules = [world.wiring.timers.get("shop", one).definition.schedule for one in timer_ids]
    return [(as_bounded(one).first_after(now) or now) - now for one in schedules]


@pytest.mark.parametrize("is_interval", [False, True])
def test_moments_that_answers_set_are_bounded_by_the_firings_an_app_may_plan(
    small_world: V1World, is_interval: bool
) -> None:
    """With a limit of 2, forty one-shots that paced themselves made 29 calls a second."""
    world = small_world
    if is_interval:
        ids = [Answered(world, f"t{number}").timer_id for number in range(20)]
    else:
        ids = [paced_once(world, f"t{number}") for number in range(20)]
    assert set(control_each(world, ids[:3], ControlKind.NEXT)) == {1_000}
    world.wiring.apps.change("shop", world.clock.now, {"firingsPerSecond": 2})
    world.wiring.app_directory._kept.clear()
    world.clock.now += 600_000
    moments = control_each(world, ids, ControlKind.NEXT)
    assert moments == [1_000, *range(1_000, 10_001, 500)]


def test_a_delay_of_a_timer_that_recurs_leaves_moments_out_and_is_not_paced(small_world: V1World) -> None:
    ids = [Answered(small_world, f"t{number}").timer_id for number in range(9)]
    small_world.wiring.apps.change("shop", small_world.clock.now, {"firingsPerSecond": 1})
    small_world.wiring.app_directory._kept.clear()
    assert len(set(control_each(small_world, ids, ControlKind.DELAY))) == 1
    assert small_world.wiring.control_applier.pace.next_free("shop") == small_world.clock.now + 1_000


def test_of_what_answers_change_one_entry_a_minute_is_on_record_and_each_stop(answered: Answered) -> None:
    world = answered.world

    def noted() -> list[str]:
        wanted = AuditFilter(subject=str(answered.timer_id))
        return [one.action for one in world.wiring.audit.page(wanted, 99) if one.key_name == CALLER.name]

    for number in range(5):
        until = world.clock.now + 86_400_000 + number
        version = answered.timer.definition.version
        control = ReplyControl(version, ControlKind.DELAY, until).text
        apply_controls(world.wiring, {answered.timer_id: control})
        assert answered.timer.definition.version == version + 1
        world.clock.now += 15_000
    assert noted() == ["edit", "edit"]
    stop = ReplyControl(answered.timer.definition.version, ControlKind.STOP).text
    apply_controls(world.wiring, {answered.timer_id: stop})
    assert noted() == ["disable", "edit", "edit"]
