"""Celery beat: entries of a module, and django-celery-beat's tables."""

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.cli.importing.imports import NOW, SHANGHAI, database, imported, refusals
from wangtimer.cli.importing.celery_beat import read_celery_crontab, read_celery_module
from wangtimer.cli.importing.django_beat_tables import read_django_beat
from wangtimer.cli.importing.entries import Found, NotTaken
from wangtimer.cli.importing.tables import NO_ZONE, BadSource
from wangtimer.core.cron.cron import END_MS, Cron

UTC_ZONE = ZoneInfo("UTC")
ENTRIES = """
beat_schedule = {
    "monday": {"task": "shop.close", "schedule": crontab(minute=30, hour=9, day_of_week=1), "args": [7],
               "kwargs": {"all": True}, "options": {"queue": "slow"}},
    "sunday": {"task": "shop.week", "schedule": crontab(minute=0, hour=0, day_of_week="sun")},
    "quarter": {"task": "shop.poll", "schedule": crontab(minute="*/15", hour="8-18,22")},
    "first monday": {"task": "shop.month", "schedule": crontab(0, 9, day_of_week="mon", day_of_month="1-7")},
    "often": {"task": "shop.ping", "schedule": 90.0},
    "delta": {"task": "shop.pong", "schedule": timedelta(hours=2)},
}
"""
BAD_ENTRIES = """
class Odd(crontab):
    pass
# Its own way to make one needs a library for the sun.
sun = solar.__new__(solar)
sun.event, sun.lat, sun.lon = "sunset", 31.2, 121.5
beat_schedule = {
    "sun": {"task": "t", "schedule": sun},
    "both": {"task": "t", "schedule": crontab(0, 0, day_of_week=1, day_of_month=13)},
    "fast": {"task": "t", "schedule": 0.5},
    "round": {"task": "t", "schedule": timedelta(hours=1), "relative": True},
    "odd": {"task": "t", "schedule": Odd()},
    "own": {"task": "t", "schedule": crontab(nowfun=datetime.now)},
    "object": {"task": "t", "schedule": 60, "args": [datetime(2026, 1, 1)]},
    "nothing": {"schedule": 60},
    "text": {"task": "t", "schedule": "60"},
    "endless": {"task": "t", "schedule": float("inf")},
    "no number": {"task": "t", "schedule": float("nan")},
    "no list": {"task": "t", "schedule": 60, "args": 5, "options": [1]},
    7: 5,
}
"""
HEAD = """\
from datetime import datetime, timedelta
from celery import Celery
from celery.schedules import crontab, solar
"""


def module(path: Path, text: str) -> list[Found]:
    file = path / "beat_of_a_test.py"
    file.write_text(HEAD + text)
    return read_celery_module(str(file), None, NOW)


@pytest.mark.parametrize(
    "around",
    [
        ENTRIES + "timezone = 'Asia/Shanghai'\n",
        ENTRIES.replace("beat_schedule", "CELERY_BEAT_SCHEDULE") + "CELERY_TIMEZONE = 'Asia/Shanghai'\n",
        ENTRIES + "app = Celery('shop', set_as_current=False)\napp.conf.timezone = 'Asia/Shanghai'\n"
        "app.conf.beat_schedule = beat_schedule\n",
        ENTRIES + "app = Celery('shop', set_as_current=False)\napp.conf.timezone = 'Asia/Shanghai'\n"
        "@app.on_after_configure.connect\ndef add(sender, **_):\n"
        "    for name, one in beat_schedule.items():\n"
        "        sender.add_periodic_task(one['schedule'], sender.signature(one['task'], one.get('args'), "
        "one.get('kwargs')), name=name, **one.get('options', {}))\n",
    ],
    ids=["settings", "django settings", "app", "added by a signal"],
)
def test_entries_of_a_module_become_timers(tmp_path: Path, around: str) -> None:
    found = imported(module(tmp_path, around))
    crons = {key: one.document["schedule"].get("cron") for key, one in found.items()}
    assert crons == {
        "monday": "30 9 * * 1",
        "sunday": "0 0 * * 0",
        "quarter": "*/15 8-18,22 * * *",
        "first-monday": "0 9 * * 1#1",
        "often": None,
        "delta": None,
    }
    monday = found["monday"]
    assert monday.document["schedule"]["timezone"] == "Asia/Shanghai"
    assert monday.document["target"]["json"] == {"task": "shop.close", "args": [7], "kwargs": {"all": True}}
    assert monday.document["target"]["url"] == "https://jobs.example/shop.close"
    assert monday.notes == ("its options are not taken over: queue",)
    assert found["often"].document["schedule"] == {"every": "90s"}
    assert found["delta"].document["schedule"] == {"every": "7200s"}


def test_day_of_week_1_stays_monday(tmp_path: Path) -> None:
    first = imported(module(tmp_path, ENTRIES))["monday"].moments[0]
    assert datetime.fromtimestamp(first / 1_000, UTC).strftime("%A %H:%M") == "Monday 09:30"


def test_what_is_no_timer_is_refused(tmp_path: Path) -> None:
    found = {place.split("'")[1]: reason for place, reason in refusals(module(tmp_path, BAD_ENTRIES)).items()}
    assert len(found) == 13
    assert found["text"] == "its schedule is a str, not a crontab, a timedelta or seconds"
    assert found["endless"].startswith("its schedule is no interval (")
    assert found["no number"].startswith("its schedule is no interval (")
    assert found["no list"].startswith("its arguments are not JSON (")
    assert found["7"] == "it names no task"
    assert found["sun"] == "it is a solar schedule (sunset), which no cron expression can say"
    assert "both have to match in Celery" in found["both"]
    assert found["fast"] == "its interval is 500 ms, and the shortest here is a second"
    assert "it is relative" in found["round"]
    assert "its schedule is a Odd" in found["odd"]
    assert "nowfun" in found["own"]
    assert "its arguments are not JSON" in found["object"]
    assert found["nothing"] == "it names no task"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("no.such.module", "cannot be imported: ModuleNotFoundError"),
        ("json", "has neither a Celery app nor one of beat_schedule"),
        ("json:nothing", "json has no nothing"),
    ],
)
def test_a_module_without_entries_is_told(source: str, reason: str) -> None:
    with pytest.raises(BadSource, match=reason):
        read_celery_module(source, None, NOW)


def random_fields(draw: random.Random) -> dict[str, Any]:
    def values(low: int, high: int) -> Any:
        one, other = sorted(draw.sample(range(low, high + 1), 2))
        step = draw.randint(2, 7)
        return draw.choice(
            ["*", one, f"{one},{other}", f"{one}-{other}", f"{other}-{one}", f"*/{step}", {one, other}]
        )

    by_week = draw.random() < 0.5
    return {
        "minute": values(0, 59),
        "hour": values(0, 23),
        "day_of_week": values(0, 6) if by_week else "*",
        "day_of_month": "*" if by_week else values(1, 28),
        "month_of_year": draw.choice(["*", values(1, 12)]),
    }


@pytest.mark.parametrize("seed", range(10))
def test_what_is_made_of_a_crontab_has_the_moments_of_celerys_own_code(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(20):
        fields = random_fields(draw)
        as_v1, theirs = read_celery_crontab(fields, "Asia/Shanghai")
        ours = Cron.read(as_v1["cron"], as_v1["timezone"])
        assert ours.moments(NOW, END_MS, 40) == theirs(NOW, 40), fields


def test_celerys_own_code_skips_where_ours_repeats_as_clocks_change() -> None:
    as_v1, theirs = read_celery_crontab({"minute": 30}, "America/New_York")
    evening = int(datetime(2026, 10, 31, 23, tzinfo=ZoneInfo("America/New_York")).timestamp()) * 1_000
    assert theirs(evening, 30) != Cron.read(as_v1["cron"], as_v1["timezone"]).moments(evening, END_MS, 30)


@pytest.mark.parametrize("fields", [{"day_of_week": 7}, {"minute": 60}, {"hour": "x"}, {"day_of_month": "0"}])
def test_what_celery_does_not_read_is_not_taken(fields: dict[str, Any]) -> None:
    with pytest.raises(NotTaken, match="Celery does not read it"):
        read_celery_crontab(fields, "UTC")


# As migration 0019 of django-celery-beat leaves them, less what is not read.
DDL = """\
CREATE TABLE django_celery_beat_crontabschedule (id integer PRIMARY KEY, minute varchar(240), hour varchar(96),
  day_of_week varchar(64), day_of_month varchar(124), month_of_year varchar(64), timezone varchar(63));
CREATE TABLE django_celery_beat_intervalschedule (id integer PRIMARY KEY, every integer, period varchar(24));
CREATE TABLE django_celery_beat_clockedschedule (id integer PRIMARY KEY, clocked_time datetime);
CREATE TABLE django_celery_beat_solarschedule (id integer PRIMARY KEY, event varchar(24), latitude decimal,
  longitude decimal);
CREATE TABLE django_celery_beat_periodictask (id integer PRIMARY KEY, name varchar(200), task varchar(200), args text,
  kwargs text, queue varchar(200), expires datetime, enabled bool, last_run_at datetime, total_run_count integer,
  one_off bool, start_time datetime, crontab_id integer, interval_id integer, solar_id integer, clocked_id integer);
INSERT INTO django_celery_beat_crontabschedule VALUES (1,'0','9','1','*','*','Asia/Shanghai');
INSERT INTO django_celery_beat_crontabschedule VALUES (2,'*/5','*','*','*','*','UTC');
INSERT INTO django_celery_beat_intervalschedule VALUES (1,10,'minutes');
INSERT INTO django_celery_beat_clockedschedule VALUES (1,'2026-12-24 18:00:00');
INSERT INTO django_celery_beat_solarschedule VALUES (1,'sunset',31.2,121.5);
"""


def task(
    number: int,
    name: str,
    *,
    expires: str = "NULL",
    enabled: int = 1,
    last: str = "NULL",
    once: int = 0,
    start: str = "NULL",
    crontab: str = "NULL",
    interval: str = "NULL",
    solar: str = "NULL",
    clocked: str = "NULL",
    args: str = "[]",
    dotted: str = "shop.task",
    queue: str = "NULL",
    runs: int = 0,
) -> str:
    return (
        f"INSERT INTO django_celery_beat_periodictask VALUES ({number},'{name}','{dotted}','{args}','{{}}',{queue},"
        f"{expires},{enabled},{last},{runs},{once},{start},{crontab},{interval},{solar},{clocked});\n"
    )


GOOD = (
    task(1, "weekly report", crontab="1", args="[1]", queue="'slow'")
    + task(2, "off", crontab="2", enabled=0)
    + task(3, "every", interval="1", last="'2026-11-24 23:55:00'")
    + task(4, "christmas", clocked="1", once=1)
    + task(5, "bounded", crontab="2", start="'2026-11-25 01:00:00'", expires="'2026-11-25 01:20:00'")
    + task(6, "once", crontab="1", once=1)
    + task(7, "late", crontab="1", once=1, start="'2026-11-01 00:00:00'")
)


@pytest.fixture(params=["sql", "dump"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sql":
        return database(tmp_path / "django.db", DDL + GOOD)
    (tmp_path / "django.sql").write_text(DDL + GOOD)
    return str(tmp_path / "django.sql")


def test_periodic_tasks_become_timers(source: str) -> None:
    found = imported(read_django_beat(source, UTC_ZONE, NOW))
    report = found["weekly-report"].document
    assert report["schedule"] == {"cron": "0 9 * * 1", "timezone": "Asia/Shanghai"}
    assert report["target"]["json"] == {"task": "shop.task", "args": [1], "kwargs": {}}
    assert found["weekly-report"].notes == ("its options are not taken over: queue",)
    assert found["off"].document["enabled"] is False
    assert found["every"].document["schedule"] == {
        "every": "600s",
        "anchorAt": "2026-11-24T23:55:00.000+00:00",
    }
    assert found["every"].moments[0] == NOW + 300_000
    assert found["christmas"].document["schedule"] == {"at": "2026-12-24T18:00:00.000+00:00"}
    hour = NOW + 3_600_000
    assert found["bounded"].moments == [hour + 300_000 * number for number in range(4)]
    assert len(found["once"].moments) == 1
    assert found["once"].document["schedule"]["startAt"] == "2026-11-25T00:00:00.000+00:00"
    assert len(found["late"].moments) == 1


def test_a_moment_without_an_offset_is_in_the_zone_that_is_named(source: str) -> None:
    """As MySQL and SQLite have it: in UTC, or by Django's wall clock where it has USE_TZ = False."""
    # In Shanghai `bounded` has ended.
    read = [one for one in read_django_beat(source, SHANGHAI, NOW) if "bounded" not in one.place]
    found = imported(read)
    assert found["christmas"].document["schedule"] == {"at": "2026-12-24T10:00:00.000+00:00"}
    assert found["every"].document["schedule"]["anchorAt"] == "2026-11-24T15:55:00.000+00:00"
    assert found["weekly-report"].document["schedule"]["timezone"] == "Asia/Shanghai"
    unknown = refusals(read_django_beat(source, None, NOW))
    assert unknown.keys() == {f"periodic task '{name}'" for name in ("every", "christmas", "bounded", "late")}
    assert (
        unknown["periodic task 'christmas'"]
        == f"its clocked_time '2026-12-24 18:00:00' has no offset: {NO_ZONE}"
    )


def test_a_crontab_without_a_zone_has_the_one_that_is_named(tmp_path: Path) -> None:
    old = DDL.replace(", timezone varchar(63)", "").replace(",'Asia/Shanghai'", "").replace(",'UTC'", "")
    source = database(tmp_path / "django.db", old + task(1, "report", crontab="1"))
    (reason,) = refusals(read_django_beat(source, None, NOW)).values()
    assert reason == "its crontab has no timezone: write --timezone, with the zone of the Celery app"
    found = imported(read_django_beat(source, SHANGHAI, NOW))["report"]
    assert found.document["schedule"]["timezone"] == "Asia/Shanghai"


def test_tasks_that_are_no_timers_are_refused(tmp_path: Path) -> None:
    bad = (
        task(1, "sun", solar="1")
        + task(2, "none")
        + task(3, "lost", crontab="9")
        + task(4, "own", crontab="1", dotted="celery.backend_cleanup")
        + task(5, "done", crontab="1", once=1, runs=1)
        + task(6, "broken", crontab="1", args="[")
        + task(7, "when", crontab="1", start="'soon'")
    )
    found = refusals(read_django_beat(database(tmp_path / "django.db", DDL + bad), UTC_ZONE, NOW))
    assert found == {
        "periodic task 'sun'": "it is a solar schedule (sunset), which no cron expression can say",
        "periodic task 'none'": "it has no schedule",
        "periodic task 'lost'": "its crontab_id is 9, which django_celery_beat_crontabschedule does not have",
        "periodic task 'own'": "it clears Celery's own results: leave it to Celery",
        "periodic task 'done'": "it is a one-off task that has already run",
        "periodic task 'broken'": "its args are not JSON: [",
        "periodic task 'when'": "its start_time 'soon' is not a moment",
    }
