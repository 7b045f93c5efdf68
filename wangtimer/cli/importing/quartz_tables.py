"""Quartz's tables of a JDBC job store: its cron and simple triggers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from wangtimer.cli.importing.entries import Entry, Found, NotTaken, Refusal, TheirMoments
from wangtimer.cli.importing.intervals import every_so_often, only_once
from wangtimer.cli.importing.keys import fit_for_key, numbering
from wangtimer.cli.importing.quartz_reading import read_quartz
from wangtimer.cli.importing.sql_dump import Row
from wangtimer.cli.importing.tables import number_of, read_tables, table_of, text_of

PREFIX = "QRTZ_"
TRIGGERS, CRON_TRIGGERS, SIMPLE_TRIGGERS, JOBS = (
    "TRIGGERS",
    "CRON_TRIGGERS",
    "SIMPLE_TRIGGERS",
    "JOB_DETAILS",
)
IGNORED, SMART = -1, 0
CRON_MISFIRES = {IGNORED: "fire_all", SMART: "fire_latest", 1: "fire_latest", 2: "skip"}
# The default of org.quartz.jobStore.misfireThreshold.
GRACE = "1m"
PAUSED = frozenset({"PAUSED", "PAUSED_BLOCKED", "ERROR"})
JAVA_OBJECT = b"\xac\xed"


def read_quartz_tables(source: str, prefix: str = PREFIX) -> list[Found]:
    """Return the triggers of a job store; raises `BadSource`."""
    names = {name: f"{prefix}{name}".lower() for name in (TRIGGERS, CRON_TRIGGERS, SIMPLE_TRIGGERS, JOBS)}
    tables = read_tables(source, names.values())
    triggers = table_of(tables, names[TRIGGERS], source)
    details = {
        kind: {_identity(row): row for row in tables.get(names[kind], [])}
        for kind in (CRON_TRIGGERS, SIMPLE_TRIGGERS)
    }
    jobs = {(*_identity(row)[:1], *_job(row)): row for row in tables.get(names[JOBS], [])}
    key_of = numbering()
    return [
        _found(
            row,
            details[CRON_TRIGGERS].get(_identity(row)),
            details[SIMPLE_TRIGGERS].get(_identity(row)),
            jobs.get((*_identity(row)[:1], *_job(row)), {}),
            key_of(fit_for_key(".".join(_identity(row)[1:]))),
        )
        for row in sorted(triggers, key=_identity)
    ]


def _found(row: Row, cron: Row | None, simple: Row | None, job: Row, key: str) -> Found:
    place = f"trigger {'.'.join(_identity(row)[1:])}"
    original = _original(row, cron, simple)
    try:
        _refuse_calendar(row)
        schedule, moments = _schedule(row, cron, simple)
        job_group, job_name = _job(row)
        body = {"job": f"{job_group}.{job_name}", "class": text_of(job, "job_class_name")}
        data, notes = _data(row, job)
        return Entry(
            place,
            original,
            key,
            job_name,
            schedule,
            {name: value for name, value in body.items() if value} | ({"data": data} if data else {}),
            moments,
            is_enabled=text_of(row, "trigger_state") not in PAUSED,
            misfire=_misfire(row, cron is not None),
            notes=(*notes, *_notes(row)),
        )
    except NotTaken as error:
        return Refusal(place, original, str(error))


def _original(row: Row, cron: Row | None, simple: Row | None) -> str:
    if cron is not None:
        return text_of(cron, "cron_expression")
    return (
        text_of(row, "trigger_type") if simple is None else f"every {text_of(simple, 'repeat_interval')} ms"
    )


def _schedule(row: Row, cron: Row | None, simple: Row | None) -> tuple[Mapping[str, Any], TheirMoments]:
    if cron is not None:
        return _cron_schedule(row, cron)
    if simple is not None:
        return _simple_schedule(row, simple)
    raise NotTaken(f"its type is {text_of(row, 'trigger_type')}, and only CRON and SIMPLE can be read")


def _cron_schedule(row: Row, cron: Row) -> tuple[Mapping[str, Any], TheirMoments]:
    expression, name = text_of(cron, "cron_expression"), text_of(cron, "time_zone_id")
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NotTaken(f"its zone {name!r} is not an IANA zone") from None
    start_ms, end_ms = number_of(row, "start_time") or 0, number_of(row, "end_time") or 0
    schedule: dict[str, Any] = {"cron": " ".join(expression.split()), "dialect": "quartz", "timezone": name}
    if start_ms:
        schedule["startAt"] = _shown(start_ms)
    if end_ms:
        schedule["endAt"] = _shown(end_ms)
    reading = read_quartz(expression, zone)

    def moments(after_ms: int, count: int) -> list[int]:
        found = reading.moments(max(after_ms, start_ms - 1), count)
        return [moment for moment in found if not end_ms or moment <= end_ms]

    return schedule, moments


def _simple_schedule(row: Row, simple: Row) -> tuple[Mapping[str, Any], TheirMoments]:
    interval_ms, repeats = number_of(simple, "repeat_interval") or 0, number_of(simple, "repeat_count") or 0
    start_ms, end_ms = number_of(row, "start_time") or 0, number_of(row, "end_time") or 0
    if repeats == 0:
        return {"at": _shown(start_ms)}, only_once(start_ms)
    if interval_ms < 1_000:
        raise NotTaken(f"its interval is {interval_ms} ms, and the shortest here is a second")
    schedule: dict[str, Any] = {"every": f"{interval_ms}ms", "anchorAt": _shown(start_ms)}
    schedule["startAt"] = _shown(start_ms)
    if repeats > 0:
        schedule["maxFirings"] = repeats + 1
    if end_ms:
        # A simple trigger does not fire at its end itself.
        schedule["endAt"] = _shown(end_ms - 1)
    theirs = every_so_often(interval_ms, start_ms, None if repeats < 0 else repeats + 1)

    def moments(after_ms: int, count: int) -> list[int]:
        return [moment for moment in theirs(after_ms, count) if not end_ms or moment < end_ms]

    return schedule, moments


def _misfire(row: Row, is_cron: bool) -> Mapping[str, Any] | None:
    instruction = number_of(row, "misfire_instr") or SMART
    # A simple trigger's smart policy depends on its remaining repeats. Our usual policy makes all calls.
    policy = CRON_MISFIRES.get(instruction) if is_cron else None
    return None if policy is None else {"policy": policy, "grace": GRACE}


def _notes(row: Row) -> list[str]:
    notes = []
    if text_of(row, "trigger_state") == "ERROR":
        notes.append("its state is ERROR: it becomes a disabled timer")
    if text_of(row, "trigger_type") == "SIMPLE" and number_of(row, "misfire_instr") != IGNORED:
        notes.append("its misfire instruction is not taken over: late firings are all made")
    return notes


def _data(row: Row, job: Row) -> tuple[dict[str, str], list[str]]:
    """Return the data of job and trigger that are text properties, and notes on data that are not.

    For the same name the trigger's value wins.
    """
    data: dict[str, str] = {}
    unread = 0
    for one in (job, row):
        value = one.get("job_data")
        raw = value.encode(errors="surrogateescape") if isinstance(value, str) else value
        if not raw:
            continue
        if bytes(raw).startswith(JAVA_OBJECT) or b"=" not in bytes(raw):
            unread += 1
            continue
        data |= _properties(bytes(raw).decode("latin-1"))
    notes = ["its job data are a Java object and are not taken over"] if unread else []
    return data, notes


def _properties(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def _refuse_calendar(row: Row) -> None:
    if name := text_of(row, "calendar_name"):
        raise NotTaken(
            f"it excludes the days of the Quartz calendar {name!r}, which its table keeps as a Java object: "
            "upload the calendar here, and write excludeCalendar"
        )


def _identity(row: Row) -> tuple[str, str, str]:
    return text_of(row, "sched_name"), text_of(row, "trigger_group"), text_of(row, "trigger_name")


def _job(row: Row) -> tuple[str, str]:
    return text_of(row, "job_group"), text_of(row, "job_name")


def _shown(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1_000, UTC).isoformat(timespec="milliseconds")
