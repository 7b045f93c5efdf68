"""Celery's schedules, and beat's entries in a Python module: of an app, or of a dict `beat_schedule`.

The moments of a crontab are those of Celery's own code. `day_of_week` counts from 0, Sunday. Day of the month and day
of the week both have to match.
"""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from celery import Celery
from celery.schedules import BaseSchedule, ParseException, crontab, maybe_schedule, schedule, solar

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
    zone_of,
)
from wangtimer.cli.importing.tables import BadSource

SCHEDULES = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
ZONES = ("timezone", "CELERY_TIMEZONE")
CRONTAB_FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
DAYS_OF_WEEK, DAYS_OF_MONTH = 7, 31
ONE_SECOND = timedelta(seconds=1)
# From this many consecutive values on, they are written as a range.
FEWEST_OF_RANGE = 3


@dataclass(frozen=True, slots=True)
class _BeatEntries:
    entries: Mapping[str, Any]
    zone: str


def read_celery_module(source: str, zone: str | None, now: int) -> list[Found]:
    """Run a module (`package.module`, `package.module:app`, a file); return its entries. Raises `BadSource`.

    `zone` replaces the module's own.
    """
    beat = _beat_of(source, zone)
    key_of = numbering()
    return [
        _found(str(name), entry, str(beat.zone), now, key_of(fit_for_key(str(name))))
        for name, entry in beat.entries.items()
    ]


def _found(name: str, entry: Any, zone: str, now: int, key: str) -> Found:
    place = f"beat_schedule[{name!r}]"
    written = entry.get("schedule") if isinstance(entry, Mapping) else None
    try:
        if not isinstance(entry, Mapping) or not entry.get("task"):
            raise NotTaken("it names no task")  # noqa: TRY301 - told like all other refusals
        as_v1, moments = _schedule(written, bool(entry.get("relative")), zone, now)
        body = _body(entry)
        given = entry.get("options")
        options = {str(name): value for name, value in given.items()} if isinstance(given, Mapping) else {}
        return Entry(place, str(written), key, str(entry["task"]), as_v1, body, moments, options=options)
    except NotTaken as error:
        return Refusal(place, str(written), str(error))


def _schedule(written: Any, is_relative: bool, zone: str, now: int) -> tuple[Mapping[str, Any], TheirMoments]:
    try:
        is_schedule = isinstance(written, int | float | timedelta | BaseSchedule)
        found = maybe_schedule(written, is_relative) if is_schedule else written
    except (ValueError, OverflowError) as error:
        raise NotTaken(f"its schedule is no interval ({error})") from None
    # Only these classes are known; a subclass of one may mean anything.
    if type(found) is crontab:
        return read_celery_crontab(_crontab_fields(found), zone_of(zone).key)
    if type(found) is schedule:
        if found.relative:
            raise NotTaken(
                "it is relative: its interval is rounded to whole minutes, hours or days; write a crontab"
            )
        interval_ms = found.run_every // timedelta(milliseconds=1)
        return interval(interval_ms, now)
    if isinstance(found, solar):
        raise NotTaken(f"it is a solar schedule ({found.event}), which no cron expression can say")
    raise NotTaken(f"its schedule is a {type(found).__name__}, not a crontab, a timedelta or seconds")


def interval(interval_ms: int, now: int) -> tuple[dict[str, Any], TheirMoments]:
    """Return an interval that begins when its timer is made; raises `NotTaken` for one of less than a second."""
    if interval_ms < 1_000:
        raise NotTaken(f"its interval is {interval_ms} ms, and the shortest here is a second")
    return {"every": _span(interval_ms)}, every_so_often(interval_ms, now + interval_ms)


def _span(interval_ms: int) -> str:
    return f"{interval_ms}ms" if interval_ms % 1_000 else f"{interval_ms // 1_000}s"


def _crontab_fields(found: Any) -> dict[str, Any]:
    if found.nowfun is not None:
        raise NotTaken("its crontab has a nowfun of its own, so its zone is not known")
    return {name: getattr(found, name) for name in CRONTAB_FIELDS}


def _body(entry: Mapping[str, Any]) -> dict[str, Any]:
    try:
        args, kwargs = list(entry.get("args") or ()), dict(entry.get("kwargs") or {})
        json.dumps([args, kwargs], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotTaken(f"its arguments are not JSON ({error})") from None
    return {"task": str(entry["task"]), "args": args, "kwargs": kwargs}


def _beat_of(source: str, zone: str | None) -> _BeatEntries:
    path, _, attribute = source.partition(":")
    module = _module(path)
    found = getattr(module, attribute, None) if attribute else module
    if found is None:
        raise BadSource(f"{path} has no {attribute}")
    if isinstance(found, ModuleType):
        apps = [value for value in vars(found).values() if isinstance(value, Celery)]
        found = apps[0] if apps else found
    if isinstance(found, Celery):
        return _beat_of_app(found, source, zone)
    if isinstance(found, Mapping):
        return _BeatEntries(found, zone or _first(module, ZONES) or "UTC")
    entries = _first(found, SCHEDULES)
    if not isinstance(entries, Mapping):
        raise BadSource(f"{source} has neither a Celery app nor one of {', '.join(SCHEDULES)}")
    return _BeatEntries(entries, zone or _first(found, ZONES) or "UTC")


def _beat_of_app(app: Any, source: str, zone: str | None) -> _BeatEntries:
    try:
        app.finalize()
        entries, own, is_utc = app.conf.beat_schedule, app.conf.timezone, app.conf.enable_utc
    except Exception as error:
        raise BadSource(f"{source}: its configuration cannot be read: {error}") from None
    if not (zone or own or is_utc):
        raise BadSource(f"{source} has enable_utc off and no timezone: name its machine's with --timezone")
    return _BeatEntries(entries, zone or own or "UTC")


def _module(path: str) -> ModuleType:
    """Import a module by its name from the working directory, or by its file; raises `BadSource`."""
    sys.path.insert(0, os.getcwd())
    try:
        return _module_of_file(path) if path.endswith(".py") else importlib.import_module(path)
    except Exception as error:
        raise BadSource(f"{path} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)


def _module_of_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _first(owner: Any, names: tuple[str, ...]) -> Any:
    return next((getattr(owner, name) for name in names if getattr(owner, name, None) is not None), None)


@dataclass(slots=True)
class _BeatClock:
    """The clock that Celery's schedule reads."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def time(self) -> datetime:
        return self.now


def read_celery_crontab(fields: dict[str, Any], zone: str) -> tuple[dict[str, Any], TheirMoments]:
    """Return the schedule of v1 and the moments of a `crontab` with these arguments; raises `NotTaken`."""
    beat = _BeatClock()
    app = Celery("import", set_as_current=False)
    app.conf.timezone, app.conf.enable_utc = zone, True
    try:
        found = crontab(**fields, nowfun=beat.time, app=app)
    except (ValueError, TypeError, ParseException) as error:
        raise NotTaken(f"Celery does not read it: {error}") from None

    def moments(after_ms: int, count: int) -> list[int]:
        return _moments(found, beat, datetime.fromtimestamp(after_ms / 1_000, UTC), count)

    return {"cron": _cron_of(found), "timezone": zone}, moments


def _moments(schedule: Any, beat: _BeatClock, last: datetime, count: int) -> list[int]:
    """Return when beat finds it due, where beat runs it at each of these moments."""
    found: list[int] = []
    while len(found) < count:
        beat.now = last
        left = schedule.remaining_estimate(last)
        last += max(left, ONE_SECOND)
        if left > timedelta():
            found.append(ms_of(last))
    return found


def _cron_of(schedule: Any) -> str:
    """Return a crontab as an expression of the unix dialect; raises `NotTaken`."""
    of_month, of_week = schedule.day_of_month, schedule.day_of_week
    day, weekday = _field(of_month, 1, DAYS_OF_MONTH), _field(of_week, 0, DAYS_OF_WEEK - 1)
    if day != "*" and weekday != "*":
        day, weekday = "*", _weeks_of_month(of_month, of_week)
    minute, hour = _field(schedule.minute, 0, 59), _field(schedule.hour, 0, 23)
    return f"{minute} {hour} {day} {_field(schedule.month_of_year, 1, 12)} {weekday}"


def _weeks_of_month(of_month: Collection[int], of_week: Collection[int]) -> str:
    """Return weekdays within one of a month's first four weeks as `1#2`, the only both-of that cron can say."""
    week, odd_day = divmod(min(of_month) - 1, DAYS_OF_WEEK)
    first = week * DAYS_OF_WEEK + 1
    if odd_day or set(of_month) != set(range(first, first + DAYS_OF_WEEK)):
        raise NotTaken(
            "day of month and day of week both have to match in Celery, and cron can say that only for whole weeks "
            "of a month (1-7, 8-14, 15-21, 22-28): write one of the two, and let the called service check the other"
        )
    return ",".join(f"{day}#{week + 1}" for day in sorted(of_week))


def _field(values: Collection[int], low: int, high: int) -> str:
    found = sorted(values)
    if len(found) == high - low + 1:
        return "*"
    steps = {later - earlier for earlier, later in pairwise(found)}
    if len(found) > 1 and len(steps) == 1 and found[0] == low and found[-1] + min(steps) > high:
        return f"*/{min(steps)}"
    return ",".join(_run_text(run) for run in _runs(found))


def _runs(values: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def _run_text(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) >= FEWEST_OF_RANGE else ",".join(map(str, run))
