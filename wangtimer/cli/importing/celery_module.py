"""Celery beat's entries in a Python module: of an app, or of a dict `beat_schedule`."""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from celery import Celery
from celery.schedules import BaseSchedule, crontab, maybe_schedule, schedule, solar

from wangtimer.cli.importing.celery_reading import read_celery_crontab
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
from wangtimer.cli.importing.tables import BadSource
from wangtimer.cli.importing.their_moments import zone_of

SCHEDULES = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
ZONES = ("timezone", "CELERY_TIMEZONE")
CRONTAB_FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")


@dataclass(frozen=True, slots=True)
class _Beat:
    """The entries of a beat, and the zone of their times."""

    entries: Mapping[str, Any]
    zone: str


def read_celery_module(source: str, zone: str | None, now: int) -> list[Found]:
    """Return the entries of a module: `package.module`, `package.module:app` or a file. The module is run.

    `zone` replaces the module's own zone. Raises `BadSource`.
    """
    beat = _beat_of(source, zone)
    key_of = numbering()
    return [
        _found(str(name), entry, str(beat.zone), now, key_of(fit_for_key(str(name))))
        for name, entry in beat.entries.items()
    ]


def _found(name: str, entry: Any, zone: str, now: int, key: str) -> Found:
    place = f"beat_schedule[{name!r}]"
    asked = entry.get("schedule") if isinstance(entry, Mapping) else None
    try:
        if not isinstance(entry, Mapping) or not entry.get("task"):
            raise NotTaken("it names no task")  # noqa: TRY301 - told like all other refusals
        as_v1, moments = _schedule(asked, bool(entry.get("relative")), zone, now)
        body = _body(entry)
        given = entry.get("options")
        options = {str(name): value for name, value in given.items()} if isinstance(given, Mapping) else {}
        return Entry(place, str(asked), key, str(entry["task"]), as_v1, body, moments, options=options)
    except NotTaken as error:
        return Refusal(place, str(asked), str(error))


def _schedule(asked: Any, is_relative: bool, zone: str, now: int) -> tuple[Mapping[str, Any], TheirMoments]:
    try:
        is_schedule = isinstance(asked, int | float | timedelta | BaseSchedule)
        found = maybe_schedule(asked, is_relative) if is_schedule else asked
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


def _beat_of(source: str, zone: str | None) -> _Beat:
    path, _, attribute = source.partition(":")
    module = _module(path)
    found = getattr(module, attribute, None) if attribute else module
    if found is None:
        raise BadSource(f"{path} has no {attribute}")
    if isinstance(found, ModuleType):
        apps = [one for one in vars(found).values() if isinstance(one, Celery)]
        found = apps[0] if apps else found
    if isinstance(found, Celery):
        return _beat_of_app(found, source, zone)
    if isinstance(found, Mapping):
        return _Beat(found, zone or _first(module, ZONES) or "UTC")
    entries = _first(found, SCHEDULES)
    if not isinstance(entries, Mapping):
        raise BadSource(f"{source} has neither a Celery app nor one of {', '.join(SCHEDULES)}")
    return _Beat(entries, zone or _first(found, ZONES) or "UTC")


def _beat_of_app(app: Any, source: str, zone: str | None) -> _Beat:
    try:
        app.finalize()
        entries, own, is_utc = app.conf.beat_schedule, app.conf.timezone, app.conf.enable_utc
    except Exception as error:
        raise BadSource(f"{source}: its configuration cannot be read: {error}") from None
    if not (zone or own or is_utc):
        raise BadSource(f"{source} has enable_utc off and no timezone: name its machine's with --timezone")
    return _Beat(entries, zone or own or "UTC")


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
