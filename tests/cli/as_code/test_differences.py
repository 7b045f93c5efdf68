"""What has to change, told from files and rows alone."""

from typing import Any

import pytest

from wangtimer.cli.as_code.differences import differences_of, shown_value
from wangtimer.cli.as_code.timer_files import TimerInFile
from wangtimer.cli.as_code.wanted_timers import Wanted, any_calendar, read_wanted_set

NOW = 1_795_200_000_000


def wanted(document: dict[str, Any], set_name: str | None = "shop") -> list[Wanted]:
    full = {"key": "a", "schedule": {"every": "1h"}, "target": {"url": "http://x/y"}, **document}
    return read_wanted_set([TimerInFile("f", 1, full)], "shop", set_name, NOW, any_calendar)


def row(document: dict[str, Any], **other: Any) -> dict[str, Any]:
    """Return how the service shows a timer of this document."""
    (one,) = wanted(document)
    return {**one.timer.shown, "id": 7, **other}


def changes(was: dict[str, Any], is_now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    found = differences_of(wanted(is_now), [row(was)], "shop")
    return {one.name: (one.old, one.new) for change in found.changed for one in change.fields}


@pytest.mark.parametrize("tags", [[], ["set=other"], ["set=Shop"], ["shop"]])
def test_a_timer_that_the_set_has_not_marked_is_never_to_be_deleted(tags: list[str]) -> None:
    """A database may find `set=Shop` where `set=shop` is asked for."""
    assert differences_of([], [row({}, tags=tags)], "shop").unlisted == []
    assert len(differences_of([], [row({}, tags=["set=shop"])], "shop").unlisted) == 1


def test_without_a_set_nothing_is_to_be_deleted() -> None:
    assert differences_of([], [row({})], None).unlisted == []


def test_ways_to_write_the_same_are_no_difference() -> None:
    one = {
        "schedule": {"cron": "0  9 * * *", "startAt": "2027-01-01T08:00:00+08:00", "jitter": "PT90S"},
        "target": {
            "url": "http://x/y",
            "json": {"a": 1},
            "headers": {"X": ["a"]},
            "method": "post",
            "timeout": "PT1.5S",
        },
        "tags": ["b", "a"],
        "misfire": {"grace": "60s"},
    }
    other = {
        "schedule": {"cron": "0 9 * * *", "startAt": 1_798_761_600_000, "jitter": "1m30s", "timezone": "UTC"},
        "target": {
            "url": "http://x/y",
            "body": '{"a":1}',
            "headers": {"X": "a", "Content-Type": "application/json"},
            "timeout": "1s500ms",
        },
        "tags": ["a", "b"],
        "enabled": True,
    }
    assert changes(one, other) == {}


def test_every_field_that_differs_is_told() -> None:
    assert changes(
        {
            "schedule": {"cron": "0 9 * * *", "endAt": "2030-01-01T00:00:00Z"},
            "target": {"url": "http://x/y", "timeout": "2s"},
            "retentionDays": 3,
        },
        {"schedule": {"every": "5m", "startAt": "2027-01-01T00:00:00Z"}, "deleteAfterFinish": True},
    ) == {
        "schedule.anchorAt": (None, "2027-01-01T00:00:00.000Z"),
        "schedule.cron": ("0 9 * * *", None),
        "schedule.dialect": ("unix", None),
        "schedule.endAt": ("2030-01-01T00:00:00.000Z", None),
        "schedule.every": (None, "5m"),
        "target.timeout": ("2s", None),
        "schedule.startAt": (None, "2027-01-01T00:00:00.000Z"),
        "deleteAfterFinish": (False, True),
        "retentionDays": (3, None),
    }


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("target.headers.Authorization", "Bearer x", "***"),
        ("target.headers.X-Session", "x", "***"),
        ("target.headers.X-Passwd", "x", "***"),
        ("target.headers.X-Credential", "x", "***"),
        ("target.headers.X-Api-Key", ["a", "b"], ["***", "***"]),
        ("target.headers.Accept", "text/plain", "text/plain"),
        ("target.headers.Authorization", None, None),
        ("target.url", "http://x/token", "http://x/token"),
        ("target.url", "http://me:pass@x/y?token=abc&a=1", "http://***@x/y?token=***&a=1"),
        ("target.url", None, None),
        ("target.body", "password=abc", "***"),
        ("target.body", None, None),
        ("schedule.cron", "0 9 * * *", "0 9 * * *"),
    ],
)
def test_secrets_of_a_call_are_not_shown(name: str, value: Any, shown: Any) -> None:
    assert shown_value(name, value) == shown
