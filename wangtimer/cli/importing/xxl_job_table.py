"""XXL-JOB's table `xxl_job_info`, of versions 2.0 to 3.x."""

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.cron_readings import read_quartz
from wangtimer.cli.importing.entries import (
    Entry,
    Found,
    NotTaken,
    Refusal,
    TheirMoments,
    every_so_often,
    fit_for_key,
    numbering,
)
from wangtimer.cli.importing.sql_dump import Row
from wangtimer.cli.importing.tables import (
    moment_at,
    number_of,
    read_tables,
    shown_moment,
    table_of,
    text_of,
    whole_text_of,
)

TABLE = "xxl_job_info"
# All versions have these.
COLUMNS = ("id", "executor_handler", "trigger_status")
# A trigger that is this late is a misfire.
GRACE = "5s"
MISFIRES = {
    "DO_NOTHING": {"policy": "skip", "grace": GRACE},
    "FIRE_ONCE_NOW": {"policy": "fire_latest", "grace": GRACE},
}
# What `executor_block_strategy` becomes, and what that loses.
OVERLAPS = {
    "SERIAL_EXECUTION": ("queueOne", "lets any number wait: queueOne lets one wait"),
    "COVER_EARLY": ("cancelOlder", "breaks off the older run: cancelOlder lets a call under way end"),
    "DISCARD_LATER": ("skip", ""),
}
# Columns that a timer has no counterpart for, each with its empty value.
WITHOUT_COUNTERPART = {
    "child_jobid": ("", "the jobs that it starts afterwards"),
    "executor_fail_retry_count": ("0", "retries by XXL-JOB"),
    "executor_timeout": ("0", "its timeout, in s"),
    "alarm_email": ("", "mail about failures"),
}
_SECONDS = re.compile("[1-9][0-9]{0,9}")
BROADCAST = "SHARDING_BROADCAST"


def read_xxl_job(source: str, zone: ZoneInfo, now: int) -> list[Found]:
    """Return the jobs of an XXL-JOB; `zone` is that of its admin server. Raises `BadSource`."""
    rows = table_of(read_tables(source, {TABLE: ("id",)}), TABLE, source, *COLUMNS)
    key_of = numbering()
    return [_found(row, zone, now, key_of(_key(row))) for row in sorted(rows, key=_id)]


def _found(row: Row, zone: ZoneInfo, now: int, key: str) -> Found:
    place = f"{TABLE} {_id(row)}"
    original = text_of(row, "schedule_conf") or text_of(row, "job_cron")
    try:
        handler = _handler(row)
        schedule, moments = _schedule(row, original, zone, now)
        return Entry(
            place,
            original,
            key,
            handler,
            schedule,
            {"handler": handler, "param": whole_text_of(row, "executor_param")},
            moments,
            is_enabled=number_of(row, "trigger_status") == 1,
            misfire=MISFIRES.get(text_of(row, "misfire_strategy") or "DO_NOTHING"),
            overlap=_overlap(row)[0],
            notes=tuple(_notes(row)),
        )
    except NotTaken as error:
        return Refusal(place, original, str(error))


def _schedule(row: Row, original: str, zone: ZoneInfo, now: int) -> tuple[Mapping[str, Any], TheirMoments]:
    # Up to 2.2 every job had a cron expression.
    kind = text_of(row, "schedule_type") or ("CRON" if original else "NONE")
    if kind == "CRON":
        schedule = {"cron": " ".join(original.split()), "dialect": "quartz", "timezone": zone.key}
        return schedule, read_quartz(original, zone).moments
    if kind == "FIX_RATE":
        if not _SECONDS.fullmatch(original):
            raise NotTaken(f"its interval {original!r} is not a number of seconds")
        interval_s, anchor_ms = int(original), number_of(row, "trigger_next_time") or now
        anchor = shown_moment(moment_at(anchor_ms))
        return {"every": f"{interval_s}s", "anchorAt": anchor}, every_so_often(interval_s * 1_000, anchor_ms)
    if kind == "NONE":
        raise NotTaken("it has no schedule: it is started by hand or by another job")
    raise NotTaken(f"its schedule_type {kind} is not CRON, FIX_RATE or NONE")


def _handler(row: Row) -> str:
    kind = text_of(row, "glue_type")
    if kind and kind != "BEAN":
        raise NotTaken(
            f"its glue_type is {kind}, code that XXL-JOB keeps: make it a service that can be called"
        )
    handler = text_of(row, "executor_handler")
    if not handler:
        raise NotTaken("it names no executor_handler to call")
    return handler


def _overlap(row: Row) -> tuple[str | None, str]:
    return OVERLAPS.get(text_of(row, "executor_block_strategy"), (None, ""))


def _notes(row: Row) -> list[str]:
    notes = [
        f"not taken over: {meaning} ({name} {text_of(row, name)})"
        for name, (nothing, meaning) in WITHOUT_COUNTERPART.items()
        if text_of(row, name) not in ("", nothing)
    ]
    if text_of(row, "executor_route_strategy") == BROADCAST:
        notes.append("not taken over: it runs on every executor; one call is made here")
    if lost := _overlap(row)[1]:
        notes.append(f"executor_block_strategy {text_of(row, 'executor_block_strategy')} {lost}")
    return notes


def _key(row: Row) -> str:
    return fit_for_key(text_of(row, "executor_handler") or f"job-{_id(row)}")


def _id(row: Row) -> int:
    return number_of(row, "id") or 0
