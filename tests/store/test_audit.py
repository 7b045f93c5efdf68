"""Who changed what: a row in the transaction of each change, and none without a change."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, event

from tests.store.definitions import NOTIFY
from tests.store.members import outcome_of, row_at
from tests.store.plain_stores import plain_batches
from tests.store.test_timers import FIRST, NOW, ONE_BUCKET, near, new
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.apps.audited_change import AuditedKind, AuditEntry
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES
from wangtimer.core.apps.stored_key import new_key
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus
from wangtimer.core.flow.planning import firings_of
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.every import Every
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.core.timers.schedule_edits import without
from wangtimer.core.timers.timer import NewTimer, Notify, Timer, TimerStatus
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.audit import AuditFilter, AuditLog
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.demands import Replay
from wangtimer.store.sql.timer_batches import draft
from wangtimer.store.sql.timers import Revision
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.purger import PAGE, Purger

CALLER = Caller("3kTMd8Qx9LbA", "checkout", "shop", APP_SCOPES, "10.1.2.3")
OPERATOR = Caller(None, "WANGTIMER_AUTH=off", None, ALL_SCOPES, "")
DAY_MS = 86_400_000
FIRING = AuditedKind.FIRING
SECRET = Notify("http://a.example/?token=hush", NOTIFY.method, (("Authorization", "hush"),), "hush")


@pytest.fixture
def world(database: Database) -> Iterator[SqlWorld]:
    """The stores, and a caller whose changes they are."""
    with calling(CALLER):
        yield real_sql(database)


def entries(world: SqlWorld, **wanted: Any) -> list[AuditEntry]:
    """Return what is on record, the first entry first."""
    return world.audit.page(AuditFilter(**wanted), 1_000)[::-1]


def said(world: SqlWorld) -> list[tuple[Any, ...]]:
    return [(one.kind, one.action, one.fields, one.old_status, one.new_status) for one in entries(world)]


def edit(timer: Timer, **changes: Any) -> Callable[[Timer], Revision]:
    return lambda read: Revision(replace(read, **changes), [], [], read.definition.status)


def test_an_entry_says_who_when_from_where_what_and_on_what(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    (entry,) = entries(world)
    assert entry == AuditEntry(
        id=entry.id,
        at=NOW,
        key_id=CALLER.key_id,
        key_name="checkout",
        key_app="shop",
        address="10.1.2.3",
        action="create",
        kind="timer",
        subject=str(timer.id),
        app="shop",
        name="bill",
        fields=(),
        old_status=None,
        new_status="disabled",
        fire_at=None,
    )


def test_who_needs_no_key_is_named_by_why(world: SqlWorld) -> None:
    with calling(OPERATOR):
        world.timers.create(new(), NOW)
    (entry,) = entries(world)
    assert (entry.key_id, entry.key_name, entry.key_app) == (None, "WANGTIMER_AUTH=off", None)


def test_what_a_stage_changes_by_itself_is_not_on_record(database: Database) -> None:
    world = real_sql(database)
    timer = world.timers.create(new(), NOW)
    world.timers.enable("shop", timer.id, NOW, near())
    assert entries(world) == []


def test_each_change_of_a_timer_is_on_record(world: SqlWorld) -> None:
    timer, _ = world.timers.create_enabled(new(), NOW, near())
    world.timers.disable("shop", timer.id, NOW)
    world.timers.edit("shop", timer.id, NOW, edit(timer, name="other", tags=("a",)))
    world.timers.enable("shop", timer.id, NOW, near())
    world.timers.delete("shop", timer.id, NOW)
    assert said(world) == [
        ("timer", "create", (), None, "enabled"),
        ("timer", "disable", (), "enabled", "disabled"),
        ("timer", "edit", ("key", "tags"), None, None),
        ("timer", "enable", (), "disabled", "enabled"),
        ("timer", "delete", (), "enabled", "deleted"),
    ]
    assert {one.subject for one in entries(world)} == {str(timer.id)}
    assert [one.name for one in entries(world)] == ["bill", "bill", "other", "other", "other"]


def test_an_edit_that_enables_too_says_both(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)

    def revise(read: Timer) -> Revision:
        return Revision(replace(read, name="other"), [], [], TimerStatus.ENABLED)

    world.timers.edit("shop", timer.id, NOW, revise)
    assert said(world)[1:] == [("timer", "edit", ("key",), "disabled", "enabled")]


def test_an_edit_names_the_fields_of_schedule_and_call_and_shows_no_value(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    definition = timer.definition._replace(
        schedule=Every(60_000, 0, "UTC"), notify=SECRET, timeouts=Timeouts(5_000)
    )
    world.timers.edit("shop", timer.id, NOW, edit(timer, definition=definition))
    entry = entries(world)[-1]
    target = tuple(f"target.{name}" for name in ("url", "headers", "body", "timeout"))
    assert entry.fields == ("schedule", *target)
    assert "hush" not in repr(entry)


def test_what_changes_nothing_leaves_no_entry(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    world.timers.disable("shop", timer.id, NOW)
    world.timers.edit("shop", timer.id, NOW, edit(timer))
    assert len(entries(world)) == 1


def test_a_refused_change_leaves_no_entry(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    with pytest.raises(Conflict):
        world.timers.create(new(), NOW)
    with pytest.raises(Conflict):
        world.timers.delete("shop", timer.id, NOW, version=7)
    assert len(entries(world)) == 1


def test_without_its_entry_a_change_is_not_made(
    world: SqlWorld, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = world.timers.create(new(), NOW)

    def refuse(_sql: Connection, _cursor: Any, text: str, *_: Any) -> None:
        if text.startswith("INSERT INTO audit"):
            raise RuntimeError("the audit takes nothing")

    for engine in database.engines:
        event.listen(engine, "before_cursor_execute", refuse)
    for change in (
        lambda: world.timers.create(new("second"), NOW),
        lambda: world.timers.create_enabled(new("third"), NOW, near()),
        lambda: world.timers.enable("shop", timer.id, NOW, near()),
        lambda: world.timers.delete("shop", timer.id, NOW),
        lambda: CalendarStore(database).put("shop", Calendar("plant", frozenset(), frozenset()), NOW),
        lambda: AppStore(database).create("shop", {}, NOW),
    ):
        with pytest.raises(RuntimeError):
            change()
    assert world.timers.get("shop", timer.id) == timer
    assert [one.name for one in world.timers.page("shop", 0, 9)] == ["bill"]
    assert CalendarStore(database).all_of("shop") == []
    assert AppStore(database).find("shop") is None


def test_a_batch_leaves_one_entry_a_timer_in_one_statement(world: SqlWorld, mariadb: Database) -> None:
    batches = plain_batches(mariadb)
    drafts = [draft(new(f"t{number}"), batches.ids.next(NOW), NOW, NO_KEYS) for number in range(20)]
    ids = sorted(one.timer.id for one in drafts)
    sent: list[str] = []
    event.listen(mariadb.engine, "before_cursor_execute", lambda _sql, _cursor, text, *_: sent.append(text))
    batches.create("shop", drafts, NOW, lambda _plans: [])
    timers = [one.timer for one in drafts]
    plans = [near()(timer)[0] for timer in timers]
    batches.enable(plans, firings_of(plans, {}, ONE_BUCKET), NOW)
    batches.disable(ids, NOW)
    batches.delete(ids[:5], NOW)
    assert sum(text.startswith("INSERT INTO audit") for text in sent) == 4
    found = AuditLog(mariadb, HandClock()).page(AuditFilter(), 1_000)[::-1]
    actions = [one.action for one in found]
    assert actions == ["create"] * 20 + ["enable"] * 20 + ["disable"] * 20 + ["delete"] * 5
    assert sorted(one.subject for one in found[:20]) == sorted(map(str, ids))


def test_what_is_done_to_firings_is_on_record_with_their_moments(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    row = row_at(FIRST, timer.id)
    world.insert([row])
    world.firings.settle([outcome_of(row.member, FiringStatus.FAILED)])
    (failed,) = (one.firing for one in world.firings.records(timer.id, 9))
    world.demands.replay("shop", [Replay(failed, FIRST, NOW)])
    _, asked = world.demands.fire_now("shop", timer.id, NOW, 0)
    later = FIRST + 60_000
    world.demands.cancel("shop", timer.id, later, NOW, lambda read: without(read, later, NOW, 1_000))
    world.demands.backfill("shop", timer.id, [1, 2], NOW, lambda left: backfilled(timer, left))
    found = [
        (one.action, one.subject, one.old_status, one.new_status, one.fire_at)
        for one in entries(world, kind=FIRING)
    ]
    subject = str(timer.id)
    assert found == [
        ("replay", subject, "failed", "pending", FIRST),
        ("fire", subject, None, "pending", asked.fire_at),
        ("cancel", subject, None, "skipped", later),
        ("backfill", subject, None, "pending", 1),
        ("backfill", subject, None, "pending", 2),
    ]


def backfilled(timer: Timer, moments: list[int]) -> list[Firing]:
    return [Firing(timer.id, moment, 1, FiringKind.BACKFILL, due_at=FIRST) for moment in moments]


def test_what_is_asked_for_again_leaves_no_second_entry(world: SqlWorld) -> None:
    timer = world.timers.create(new(), NOW)
    for _ in range(2):
        world.demands.cancel("shop", timer.id, FIRST, NOW, lambda read: without(read, FIRST, NOW, 1_000))
        world.demands.backfill("shop", timer.id, [1, 2], NOW, lambda left: backfilled(timer, left))
    assert [one.action for one in entries(world, kind=FIRING)] == ["cancel", "backfill", "backfill"]


def test_a_change_whose_answer_was_lost_is_on_record_once(
    world: SqlWorld, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = world.timers.create(new(), NOW)
    write = database.write

    def write_twice(*arguments: Any, **named: Any) -> Any:
        write(*arguments, **named)
        return write(*arguments, **named)

    monkeypatch.setattr(database, "write", write_twice)
    world.timers.enable("shop", timer.id, NOW, near())
    world.timers.edit("shop", timer.id, NOW, edit(timer, name="other"))
    world.demands.fire_now("shop", timer.id, NOW, 0)
    world.demands.backfill("shop", timer.id, [1], NOW, lambda left: backfilled(timer, left))
    world.timers.delete("shop", timer.id, NOW)
    actions = [one.action for one in entries(world)]
    assert actions == ["create", "enable", "edit", "fire", "backfill", "delete"]


def test_calendars_apps_and_keys_are_on_record_too(world: SqlWorld, database: Database) -> None:
    calendars, apps, keys = CalendarStore(database), AppStore(database), ApiKeyStore(database)
    for _ in range(2):
        calendars.put("shop", Calendar("plant", frozenset(), frozenset()), NOW)
        calendars.remove("shop", "none", NOW)
    calendars.remove("shop", "plant", NOW)
    apps.create("bank", {}, NOW)
    apps.change("bank", NOW, {"callsPerSecond": 5})
    for _ in range(2):
        apps.change("bank", NOW, {}, True)
    _, key = new_key("bank", "till", APP_SCOPES, NOW)
    keys.add(key)
    for _ in range(2):
        keys.revoke("bank", key.id, NOW)
    assert said(world) == [
        ("calendar", "create", (), None, None),
        ("calendar", "edit", ("weekdays", "days", "working"), None, None),
        ("calendar", "delete", (), None, None),
        ("app", "create", (), None, None),
        ("app", "edit", ("limits.callsPerSecond",), None, None),
        ("app", "disable", (), "enabled", "disabled"),
        ("key", "create", (), None, None),
        ("key", "revoke", (), None, None),
    ]
    found = entries(world, app="bank")
    assert [(one.subject, one.name) for one in found[2:]] == [
        ("bank", None),
        (key.id, "till"),
        (key.id, "till"),
    ]


def test_entries_are_found_by_app_key_subject_and_time(world: SqlWorld) -> None:
    shop = world.timers.create(new(), NOW)
    world.demands.fire_now("shop", shop.id, NOW + 1, 0)
    with calling(OPERATOR):
        bank = world.timers.create(NewTimer("bank", "b", Every(60_000, 0, "UTC"), NOTIFY), NOW + 2)
    wanted = {
        "app": entries(world, app="bank"),
        "key": entries(world, key_id=CALLER.key_id),
        "subject": entries(world, subject=str(shop.id)),
        "kind": entries(world, subject=str(shop.id), kind=AuditedKind.TIMER),
        "since": entries(world, since=NOW + 2),
        "until": entries(world, until=NOW),
    }
    assert {name: [one.subject for one in found] for name, found in wanted.items()} == {
        "app": [str(bank.id)],
        "key": [str(shop.id)] * 2,
        "subject": [str(shop.id)] * 2,
        "kind": [str(shop.id)],
        "since": [str(bank.id)],
        "until": [str(shop.id)],
    }


def test_pages_go_on_behind_the_last_entry_latest_first(world: SqlWorld) -> None:
    made = [world.timers.create(new(f"t{number}"), NOW + number // 3) for number in range(7)]
    seen: list[AuditEntry] = []
    while page := world.audit.page(AuditFilter(app="shop"), 2, (seen[-1].at, seen[-1].id) if seen else None):
        seen += page
    assert [one.subject for one in seen] == [str(timer.id) for timer in reversed(made)]


def test_what_several_conditions_meet_is_looked_for_day_by_day_and_found_on_pages(world: SqlWorld) -> None:
    """An index is read by one condition: of another, the last entries may lie far back."""
    made = [
        world.timers.create(new(f"t{number}", app=("shop", "bank")[number % 2]), NOW + number * 9 * DAY_MS)
        for number in range(9)
    ]
    wanted = AuditFilter(app="bank", key_id=CALLER.key_id, kind=AuditedKind.TIMER)
    seen: list[AuditEntry] = []
    while page := world.audit.page(wanted, 3, (seen[-1].at, seen[-1].id) if seen else None):
        seen += page
    assert [one.subject for one in seen] == [str(timer.id) for timer in reversed(made[1::2])]
    assert world.audit.page(replace(wanted, app="nobody"), 3) == []


def test_what_is_past_its_retention_is_purged_page_by_page(world: SqlWorld) -> None:
    world.timers.create(new("old"), NOW)
    world.timers.create(new("older"), NOW - 1)
    assert [world.audit.purge(NOW, 1) for _ in range(2)] == [1, 0]
    assert [one.name for one in entries(world)] == ["old"]
    purger = Purger(
        world.firings,
        world.timers,
        world.answers,
        world.audit,
        world.dead_letters,
        HandClock(NOW + DAY_MS + 1),
        9 * DAY_MS,
        DAY_MS,
    )
    assert PAGE > 1
    purger.purge()
    assert entries(world) == []
