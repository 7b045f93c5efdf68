"""Every kind of rule in both stores: the columns and the texts stay as they are, and a further kind needs no others."""

from collections.abc import Iterator

import orjson
import pytest

from tests.buckets import buckets
from tests.further_kind import Workday, registered
from tests.store.definitions import NOTIFY, definition
from tests.store.worlds import HotWorld, SqlWorld
from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.flow.planning import firings_of, plan
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.redis.definitions import definition_text
from wangtimer.store.sql.timer_rows import terms

NOW = 1_799_999_990_000
YEAR_MS = 366 * 86_400_000
RULE = Workday(3, "Europe/Berlin")
NONE = {"cron": None, "every_ms": None, "anchor_ms": None, "at_ms": None}
COLUMNS = {
    Cron("*/5 * * * *", "Asia/Shanghai"): {"cron": "*/5 * * * *", "timezone": "Asia/Shanghai"},
    Cron("0 0 9 ? * 2", "UTC", CronDialect.QUARTZ): {"cron": "quartz 0 0 9 ? * 2", "timezone": "UTC"},
    Every(90_000, NOW, "Europe/Berlin"): {"every_ms": 90_000, "anchor_ms": NOW, "timezone": "Europe/Berlin"},
    Once(NOW): {"at_ms": NOW, "timezone": "UTC"},
}
TEXTS = {
    Cron("*/5 * * * *", "Asia/Shanghai"): b'"at_ms":null,"cron":["*/5 * * * *","Asia/Shanghai"],"every":null',
    Cron("0 0 9 ? * 2", "UTC", CronDialect.QUARTZ): b'"cron":["quartz 0 0 9 ? * 2","UTC"],"every":null',
    Every(
        90_000, NOW, "Europe/Berlin"
    ): b'"at_ms":null,"cron":null,"every":[90000,1799999990000,"Europe/Berlin"]',
    Once(NOW): b'"at_ms":1799999990000,"cron":null,"every":null,"bounds":null',
}


@pytest.fixture(autouse=True)
def further_kind() -> Iterator[None]:
    with registered():
        yield


def columns(schedule: Schedule) -> dict[str, object]:
    row = terms(NewTimer("shop", "payday", schedule, NOTIFY))
    return {name: row[name] for name in (*NONE, "timezone")}


@pytest.mark.parametrize("schedule", COLUMNS)
def test_a_rule_has_the_columns_it_always_had(schedule: Schedule) -> None:
    assert columns(schedule) == NONE | COLUMNS[schedule]


@pytest.mark.parametrize("schedule", TEXTS)
def test_a_rule_has_the_text_in_redis_it_always_had(schedule: Schedule) -> None:
    assert TEXTS[schedule].decode() in definition_text(definition(schedule=schedule))


def test_a_further_kind_is_stored_as_text_in_its_zone() -> None:
    assert columns(RULE) == NONE | {"cron": "workday 3", "timezone": "Europe/Berlin"}
    _, _, json = definition_text(definition(schedule=RULE)).partition(" ")
    assert orjson.loads(json)["cron"] == ["workday 3", "Europe/Berlin"]


@pytest.mark.parametrize("schedule", [RULE, Bounded(RULE, NOW, NOW + YEAR_MS)])
def test_a_timer_of_a_further_kind_is_made_read_and_planned(sql: SqlWorld, schedule: Schedule) -> None:
    timer = sql.timers.create(NewTimer("shop", "payday", schedule, NOTIFY), NOW)
    assert sql.timers.get("shop", timer.id).definition.schedule == schedule

    def year(read: Timer) -> object:
        near = plan(read, NOW + YEAR_MS, 100)
        return near, firings_of([near], {}, buckets(1_000, 1))

    enabled, firings = sql.timers.enable("shop", timer.id, NOW, year)  # type: ignore[arg-type]
    assert [one.fire_at for one in firings] == RULE.moments(NOW, NOW + YEAR_MS, 100)
    assert enabled.definition.schedule == schedule


@pytest.mark.parametrize("schedule", [RULE, Bounded(RULE, NOW, NOW + YEAR_MS)])
def test_a_definition_of_a_further_kind_is_read_from_redis(hot: HotWorld, schedule: Schedule) -> None:
    written = definition(schedule=schedule)
    hot.definitions.put([written])
    assert hot.definitions_elsewhere.get([1]).definitions == {1: written}
