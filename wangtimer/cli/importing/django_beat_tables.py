"""The tables of django-celery-beat: periodic tasks with crontabs, intervals and clocked moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.celery_beat import interval, read_celery_crontab
from wangtimer.cli.importing.entries import (
    Entry,
    Found,
    NotTaken,
    Refusal,
    TheirMoments,
    every_so_often,
    fit_for_key,
    ms_of,
    numbering,
    only_once,
    zone_of,
)
from wangtimer.cli.importing.sql_dump import Row
from wangtimer.cli.importing.tables import (
    flag_of,
    moment_of,
    number_of,
    read_tables,
    shown_moment,
    table_of,
    text_of,
)
from wangtimer.core.numbers_as_written import read_json

TASKS = "django_celery_beat_periodictask"
CRONTABS = "django_celery_beat_crontabschedule"
INTERVALS = "django_celery_beat_intervalschedule"
CLOCKED = "django_celery_beat_clockedschedule"
SOLAR = "django_celery_beat_solarschedule"
# The columns by which a task names its schedule, with the table of each.
KINDS = {"crontab_id": CRONTABS, "interval_id": INTERVALS, "clocked_id": CLOCKED, "solar_id": SOLAR}
COLUMNS = ("id", "name", "task", "args", "kwargs", "enabled", "crontab_id", "interval_id")
CRONTAB_FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
OPTIONS = ("queue", "exchange", "routing_key", "priority", "headers", "expire_seconds")
# A task that Celery makes for its own results.
OWN_TASK = "celery.backend_cleanup"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Tables = Mapping[str, Mapping[int, Row]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the rows of a source are read by; `zone` is that of moments without an offset, `now` in ms UTC."""

    tables: Tables
    zone: ZoneInfo | None
    now: int

    def moment(self, row: Row, name: str) -> datetime | None:
        return moment_of(row, name, self.zone)


def read_django_beat(source: str, zone: ZoneInfo | None, now: int) -> list[Found]:
    """Return the periodic tasks of a database; `zone` is that of moments without an offset. Raises `BadSource`."""
    read = read_tables(source, dict.fromkeys((TASKS, *KINDS.values()), ("id",)))
    tasks = table_of(read, TASKS, source, *COLUMNS)
    tables = {name: {number_of(row, "id") or 0: row for row in read.get(name, [])} for name in KINDS.values()}
    reading, key_of = _Reading(tables, zone, now), numbering()
    return [
        _found(row, reading, key_of(fit_for_key(text_of(row, "name"))))
        for row in sorted(tasks, key=lambda row: number_of(row, "id") or 0)
    ]


def _found(row: Row, reading: _Reading, key: str) -> Found:
    place = f"periodic task {text_of(row, 'name')!r}"
    original = ""
    try:
        kind, of = _kind(row, reading.tables)
        original = _original(kind, of)
        if text_of(row, "task") == OWN_TASK:
            raise NotTaken("it clears Celery's own results: leave it to Celery")  # noqa: TRY301
        schedule, moments = _schedule(row, kind, of, reading)
        schedule, moments = _bounded(row, schedule, moments, kind, reading)
        body = {
            "task": text_of(row, "task"),
            "args": _json(row, "args", []),
            "kwargs": _json(row, "kwargs", {}),
        }
        return Entry(
            place,
            original,
            key,
            text_of(row, "task"),
            schedule,
            body,
            moments,
            is_enabled=flag_of(row, "enabled"),
            options={name: text for name in OPTIONS if (text := text_of(row, name)) not in ("", "{}")},
        )
    except NotTaken as error:
        return Refusal(place, original, str(error))


def _kind(row: Row, tables: Tables) -> tuple[str, Row]:
    for column, table in KINDS.items():
        if (number := number_of(row, column)) is not None:
            if number not in tables[table]:
                raise NotTaken(f"its {column} is {number}, which {table} does not have")
            return table, tables[table][number]
    raise NotTaken("it has no schedule")


def _original(kind: str, of: Row) -> str:
    if kind == CRONTABS:
        return " ".join(text_of(of, name) for name in CRONTAB_FIELDS)
    if kind == INTERVALS:
        return f"every {text_of(of, 'every')} {text_of(of, 'period')}"
    return text_of(of, "clocked_time") if kind == CLOCKED else text_of(of, "event")


def _schedule(row: Row, kind: str, of: Row, reading: _Reading) -> tuple[dict[str, Any], TheirMoments]:
    if kind == CRONTABS:
        fields = {name: text_of(of, name) or "*" for name in CRONTAB_FIELDS}
        return read_celery_crontab(fields, _zone_of_crontab(of, reading).key)
    if kind == CLOCKED:
        at = reading.moment(of, "clocked_time")
        if at is None:
            raise NotTaken("it has no clocked_time")
        return {"at": shown_moment(at)}, only_once(ms_of(at))
    if kind == SOLAR:
        raise NotTaken(f"it is a solar schedule ({text_of(of, 'event')}), which no cron expression can say")
    return _interval(row, of, reading)


def _zone_of_crontab(of: Row, reading: _Reading) -> ZoneInfo:
    # Up to 1.0 crontabs had no zone of their own.
    if name := text_of(of, "timezone"):
        return zone_of(name)
    if reading.zone is None:
        raise NotTaken("its crontab has no timezone: write --timezone, with the zone of the Celery app")
    return reading.zone


def _interval(row: Row, of: Row, reading: _Reading) -> tuple[dict[str, Any], TheirMoments]:
    period = text_of(of, "period")
    try:
        interval_ms = timedelta(**{period: number_of(of, "every") or 0}) // timedelta(milliseconds=1)
    except (TypeError, OverflowError):
        raise NotTaken(
            f"its period {period!r} is not days, hours, minutes, seconds or microseconds"
        ) from None
    last = reading.moment(row, "last_run_at") or reading.moment(row, "start_time")
    schedule, moments = interval(interval_ms, reading.now)
    if last is None:
        return schedule, moments
    return schedule | {"anchorAt": shown_moment(last)}, every_so_often(interval_ms, ms_of(last))


def _bounded(
    row: Row, schedule: dict[str, Any], moments: TheirMoments, kind: str, reading: _Reading
) -> tuple[dict[str, Any], TheirMoments]:
    """Return the schedule within the task's start and end. A one-off task has one moment from now on."""
    start, end = reading.moment(row, "start_time"), reading.moment(row, "expires")
    is_once = flag_of(row, "one_off")
    if is_once and (number_of(row, "total_run_count") or 0):
        raise NotTaken("it is a one-off task that has already run")
    if kind == CLOCKED:
        return schedule, moments
    if is_once:
        # Its one moment is counted from a start; a file of timers has to say which.
        start = max(start or EPOCH, EPOCH + timedelta(milliseconds=reading.now))
    if start is not None:
        schedule = schedule | {"startAt": shown_moment(start)}
    if end is not None:
        # It does not run at the end itself.
        schedule = schedule | {"endAt": shown_moment(end - timedelta(milliseconds=1))}
    if is_once:
        schedule = schedule | {"maxFirings": 1}

    def bounded(after_ms: int, count: int) -> list[int]:
        from_ms = after_ms if start is None else max(after_ms, ms_of(start) - 1)
        found = moments(from_ms, 1 if is_once else count)
        return [moment for moment in found if end is None or moment < ms_of(end)]

    return schedule, bounded


def _json(row: Row, name: str, nothing: Any) -> Any:
    try:
        text = text_of(row, name)
        return read_json(text) if text else nothing
    except (ValueError, RecursionError):
        raise NotTaken(f"its {name} are not JSON: {text_of(row, name)[:60]}") from None
