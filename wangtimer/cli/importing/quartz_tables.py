"""Quartz's tables of a JDBC job store: its cron and simple triggers."""

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
    only_once,
    zone_of,
)
from wangtimer.cli.importing.sql_dump import Row
from wangtimer.cli.importing.tables import (
    flag_of,
    moment_at,
    number_of,
    read_tables,
    shown_moment,
    table_of,
    text_of,
    value_of,
)
from wangtimer.core.time.meant_zones import zone_of_offset

PREFIX = "QRTZ_"
TRIGGERS, CRON_TRIGGERS, SIMPLE_TRIGGERS, JOBS = (
    "TRIGGERS",
    "CRON_TRIGGERS",
    "SIMPLE_TRIGGERS",
    "JOB_DETAILS",
)
TRIGGER_KEY, JOB_KEY = (
    ("sched_name", "trigger_name", "trigger_group"),
    ("sched_name", "job_name", "job_group"),
)
KINDS = {"CRON": CRON_TRIGGERS, "SIMPLE": SIMPLE_TRIGGERS}
# With foreign keys a database has it; what makes a dump may leave it out.
NO_ROW = "its row of {} is missing: dump all of that table too"
COLUMNS = ("trigger_name", "trigger_group", "job_name", "trigger_state", "trigger_type", "start_time")
IGNORED, SMART = -1, 0
CRON_MISFIRES = {IGNORED: "fire_all", SMART: "fire_latest", 1: "fire_latest", 2: "skip"}
# The default of org.quartz.jobStore.misfireThreshold.
GRACE = "1m"
GOING_ON = frozenset({"WAITING", "ACQUIRED", "EXECUTING", "BLOCKED"})
PAUSED = frozenset({"PAUSED", "PAUSED_BLOCKED"})
JAVA_OBJECT = b"\xac\xed"
_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
# A comment, or a name and a value. An escaped end of line folds it.
_ESCAPE, _SPACE = r"\\(?:\r\n|.)", r"[ \t\f]*+"
_PROPERTY = re.compile(
    rf"[ \t\f\r\n]*+(?:[#!][^\r\n]*+|(?P<name>(?:[^\\=: \t\f\r\n]++|{_ESCAPE})*+){_SPACE}[=:]?{_SPACE}"
    rf"(?P<value>(?:[^\\\r\n]++|{_ESCAPE})*+))",
    re.DOTALL,
)
_ESCAPED = re.compile(
    r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<fold>(?:\r\n|\r|\n)[ \t\f]*)|(?P<sign>.))", re.DOTALL
)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_quartz_tables(source: str, prefix: str = PREFIX) -> list[Found]:
    """Return the triggers of a job store; raises `BadSource`."""
    names = {name: f"{prefix}{name}".lower() for name in (TRIGGERS, CRON_TRIGGERS, SIMPLE_TRIGGERS, JOBS)}
    tables = read_tables(
        source, {name: JOB_KEY if kind == JOBS else TRIGGER_KEY for kind, name in names.items()}
    )
    triggers = table_of(tables, names[TRIGGERS], source, *COLUMNS)
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
            jobs.get((*_identity(row)[:1], *_job(row))),
            key_of(fit_for_key(".".join(_identity(row)[1:]))),
        )
        for row in sorted(triggers, key=_identity)
    ]


def _found(row: Row, cron: Row | None, simple: Row | None, job: Row | None, key: str) -> Found:
    place = f"trigger {'.'.join(_identity(row)[1:])}"
    original = _original(row, cron, simple)
    try:
        _refuse_calendar(row)
        schedule, moments = _schedule(row, cron, simple)
        if job is None:
            raise NotTaken(NO_ROW.format(JOBS))  # noqa: TRY301
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
            is_enabled=text_of(row, "trigger_state") in GOING_ON,
            misfire=_misfire(row, cron is not None),
            overlap="queueOne" if flag_of(job, "is_nonconcurrent") else None,
            notes=(*notes, *_notes(row, job)),
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
    if (kind := text_of(row, "trigger_type")) in KINDS:
        raise NotTaken(NO_ROW.format(KINDS[kind]))
    raise NotTaken(f"its type is {kind}, and only CRON and SIMPLE can be read")


def _cron_schedule(row: Row, cron: Row) -> tuple[Mapping[str, Any], TheirMoments]:
    expression, zone = text_of(cron, "cron_expression"), _zone(text_of(cron, "time_zone_id"))
    start_ms, end_ms = number_of(row, "start_time") or 0, number_of(row, "end_time") or 0
    schedule: dict[str, Any] = {
        "cron": " ".join(expression.split()),
        "dialect": "quartz",
        "timezone": zone.key,
    }
    if start_ms:
        schedule["startAt"] = _shown_ms(start_ms)
    if end_ms:
        schedule["endAt"] = _shown_ms(end_ms)
    reading = read_quartz(expression, zone)

    def moments(after_ms: int, count: int) -> list[int]:
        found = reading.moments(max(after_ms, start_ms - 1), count)
        return [moment for moment in found if not end_ms or moment <= end_ms]

    return schedule, moments


def _zone(name: str) -> ZoneInfo:
    """Return the zone of a name of Java's: of IANA, or as in GMT+08:00, whose IANA name has the other sign."""
    fixed = zone_of_offset(name) if name.startswith("GMT") else None
    return zone_of(fixed or name)


def _simple_schedule(row: Row, simple: Row) -> tuple[Mapping[str, Any], TheirMoments]:
    interval_ms, repeats = number_of(simple, "repeat_interval") or 0, number_of(simple, "repeat_count") or 0
    start_ms, end_ms = number_of(row, "start_time") or 0, number_of(row, "end_time") or 0
    if repeats == 0:
        return {"at": _shown_ms(start_ms)}, only_once(start_ms)
    if interval_ms < 1_000:
        raise NotTaken(f"its interval is {interval_ms} ms, and the shortest here is a second")
    schedule: dict[str, Any] = {"every": f"{interval_ms}ms", "anchorAt": _shown_ms(start_ms)}
    schedule["startAt"] = _shown_ms(start_ms)
    if repeats > 0:
        schedule["maxFirings"] = repeats + 1
    if end_ms:
        # A simple trigger does not fire at its end itself.
        schedule["endAt"] = _shown_ms(end_ms - 1)
    all_moments = every_so_often(interval_ms, start_ms, None if repeats < 0 else repeats + 1)

    def moments(after_ms: int, count: int) -> list[int]:
        return [moment for moment in all_moments(after_ms, count) if not end_ms or moment < end_ms]

    return schedule, moments


def _misfire(row: Row, is_cron: bool) -> Mapping[str, Any] | None:
    instruction = number_of(row, "misfire_instr") or SMART
    # A simple trigger's smart policy depends on its remaining repeats. Our usual policy makes all calls.
    policy = CRON_MISFIRES.get(instruction) if is_cron else None
    return None if policy is None else {"policy": policy, "grace": GRACE}


def _notes(row: Row, job: Row) -> list[str]:
    notes = []
    if (state := text_of(row, "trigger_state")) not in GOING_ON | PAUSED:
        notes.append(f"its state is {state}: it becomes a disabled timer")
    if flag_of(job, "is_nonconcurrent"):
        notes.append(
            "is_nonconcurrent keeps all runs of a job apart: queueOne those of this timer, and lets one wait"
        )
    if text_of(row, "trigger_type") == "SIMPLE" and number_of(row, "misfire_instr") != IGNORED:
        notes.append("its misfire instruction is not taken over: late firings are all made")
    return notes


def _data(row: Row, job: Row) -> tuple[dict[str, str], list[str]]:
    """Return the text properties of trigger and job, the trigger's first, and notes on other data."""
    data: dict[str, str] = {}
    unread = False
    for holder in (job, row):
        raw = _bytes_of(value_of(holder, "job_data"))
        if raw.startswith(JAVA_OBJECT) or not (raw.startswith(b"#") or b"=" in raw or not raw):
            unread = True
        else:
            data |= read_properties(raw.decode("latin-1"))
    return data, ["its job data are a Java object and are not taken over"] if unread else []


def _bytes_of(value: Any) -> bytes:
    """Return a blob: a driver's, MySQL's text, or the hexadecimal digits of PostgreSQL."""
    if not isinstance(value, str):
        return bytes(value or b"")
    if found := _HEX.fullmatch(value):
        return bytes.fromhex(found[1])
    return value.encode(errors="surrogateescape")


def read_properties(text: str) -> dict[str, str]:
    """Return the properties of a text as `java.util.Properties.load` reads them."""
    found = (line for line in _PROPERTY.finditer(text) if line["name"] or line["value"])
    return {_unescaped(line["name"]): _unescaped(line["value"]) for line in found}


def _unescaped(text: str) -> str:
    def sign_of(escape: re.Match[str]) -> str:
        if escape["code"]:
            return chr(int(escape["code"], 16))
        return "" if escape["fold"] else _ESCAPES.get(escape["sign"], escape["sign"])

    # A sign beyond 16 bits is written as two.
    return _ESCAPED.sub(sign_of, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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


def _shown_ms(moment_ms: int) -> str:
    return shown_moment(moment_at(moment_ms))
