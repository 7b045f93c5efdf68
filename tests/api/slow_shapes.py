"""Requests made up to be slow: each the largest of its kind that the API lets in."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from tests.api.world import URL

MOST_BODY = 65_536
MOST_BATCH = 8 * 1_048_576

Shape = tuple[str, bytes]

DAY_MS = 86_400_000
TARGET = {"url": URL}
# Crons that are dear to read, to search or to expand; `{n}` tells each timer's from the others'.
CRONS = {
    "never in 29 feb": "{s} {m} {h} 29 2 1#5 2099",
    "never 30 feb": "{s} {m} {h} 30 2 *",
    "never 31 of short months": "{s} {m} {h} 31 2,4,6,9,11 *",
    "last year": "{s} {m} {h} 31 12 * 2099",
    "leap friday 13": "{s} {m} {h} 29 2 5#5",
    "lists": "0-58/2,59 {m},1,3,5,7,9,11-59 {h},1-23/2 1-31/2,L mon,tue,wed * *"[:0]
    or "0-58/2,59 {m},1-59 {h},0-23 1-31/2,L 1-12/2 *",
    "both days": "{s} {m} {h} 13,15W * 5#2",
    "every second": "* * * * * *",
    "unreadable": "{s} {m} {h} 1-x * *",
    "long": "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 {m} {h} 1-31 1-12 0-6",
}


# Of these every kind of bounds is tried too.
VARIED = ("leap friday 13", "every second", "both days")


def cron_of(pattern: str, number: int) -> str:
    """A cron that no other number has."""
    return pattern.format(s=number % 60, m=number // 60 % 60, h=number // 3_600 % 24)


def dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def filled(before: bytes, unit: bytes, after: bytes, most: int) -> bytes:
    """So many units, with commas between, as fit."""
    number = (most - len(before) - len(after)) // (len(unit) + 1)
    return before + b",".join([unit] * max(1, number)) + after


def distinct(before: bytes, after: bytes, most: int, unit: str = '"{}":0') -> bytes:
    """So many different fields as fit."""
    found, size, number = [], len(before) + len(after), 0
    while size < most - 20:
        found.append(unit.format(number).encode())
        size += len(found[-1]) + 1
        number += 1
    return before + b",".join(found) + after


def any_body(most: int) -> Iterator[Shape]:
    """Bodies that are no operation's, by the way JSON is read."""
    yield "unknown fields", distinct(b"{", b"}", most)
    yield "the same field again, last", distinct(b"{", b',"0":1}', most)
    yield "fields within", distinct(b'{"a":{', b"}}", most)
    yield "empty objects", filled(b'{"app":[', b"{}", b"]}", most)
    yield "empty lists", filled(b'{"app":[', b"[]", b"]}", most)
    yield "small objects", filled(b'{"app":[', b'{"a":1}', b"]}", most)
    yield "numbers", filled(b'{"app":[', b"1", b"]}", most)
    yield "broken numbers", filled(b'{"app":[', b"1.5e3", b"]}", most)
    yield "long numbers", filled(b'{"app":[', b"9" * 4_300, b"]}", most)
    yield "one long number", b'{"id":' + b"9" * (most - 10) + b"}"
    yield "empty texts", filled(b'{"app":[', b'""', b"]}", most)
    yield "escapes", b'{"app":"' + b"\\u00e9" * ((most - 20) // 6) + b'"}'
    yield "half a pair at the end", b'{"app":"' + b"\\u00e9" * ((most - 40) // 6) + b'\\ud800"}'
    yield "quotes", b'{"app":"' + b'\\"' * ((most - 20) // 2) + b'"}'
    yield "deep lists", b'{"app":' + b"[" * (most // 2 - 10) + b"]" * (most // 2 - 10) + b"}"
    yield "deep objects", b'{"a":' * (most // 6 - 2) + b"1" + b"}" * (most // 6 - 2)
    yield "deep enough, often", filled(b'{"app":[', b"[" * 28 + b"]" * 28, b"]}", most)
    yield "line breaks", b"\n" * (most - 20) + b"{"
    yield "spaces", b" " * (most - 20) + b"{}"
    yield "no UTF-8 at the end", b'{"app":"' + b"a" * (most - 20) + b'\xff"}'
    yield "a long text", b'{"app":"' + b"a" * (most - 20) + b'"}'
    yield "emojis", b'{"app":"' + "\U0001f552".encode() * ((most - 20) // 4) + b'"}'


def fields_of(field: str, rest: dict[str, Any], most: int) -> Iterator[Shape]:
    """One field of an operation, filled with what is not its."""
    before = dumped(rest)[:-1] + (b"," if rest else b"") + f'"{field}":'.encode()
    for title, unit in (
        ("numbers", b"1"),
        ("texts", b'"a"'),
        ("objects", b"{}"),
        ("nulls", b"null"),
        ("lists", b"[]"),
    ):
        yield f"{field} of {title}", filled(before + b"[", unit, b"]}", most)
    yield f"{field} of many fields", distinct(before + b"{", b"}}", most)
    yield f"{field} of a long text", before + b'"' + b"a" * (most - len(before) - 10) + b'"}'
    yield f"{field} of blanks", before + b'"' + b" " * (most - len(before) - 10) + b'a"}'
    yield f"{field} of a long number", before + b"9" * 4_300 + b"}"
    yield f"{field} of digits", before + b'"' + b"9" * (most - len(before) - 10) + b'"}'


def timer(
    number: int, schedule: dict[str, Any] | None = None, enabled: bool = False, **fields: Any
) -> dict[str, Any]:
    """One timer of a batch."""
    given = {"cron": "0 0 * * *"} if schedule is None else schedule
    return {"key": f"t{number}", "schedule": given, "target": TARGET, "enabled": enabled} | fields


def timers_of(
    number: int, schedule: dict[str, Any] | None = None, enabled: bool = False, **fields: Any
) -> list[dict[str, Any]]:
    return [timer(one, schedule, enabled, **fields) for one in range(number)]


def batch(timers: list[Any]) -> bytes:
    """As many timers as fit."""
    while len(body := dumped({"timers": timers})) > MOST_BATCH:
        timers = timers[: len(timers) * 7 // 8]
    return body


def batches() -> Iterator[Shape]:
    """Bodies of many timers."""
    for title, timers in _kinds_of_timers():
        yield title, batch(timers)


def _kinds_of_timers() -> Iterator[tuple[str, list[Any]]]:
    for title, pattern in CRONS.items():
        crons = [{"cron": cron_of(pattern, one)} for one in range(1_000)]
        yield f"crons: {title}", [timer(one, cron) for one, cron in enumerate(crons)]
        if title not in VARIED:
            continue
        yield f"crons, enabled: {title}", [timer(one, cron, True) for one, cron in enumerate(crons)]
        bounds = {"excludeCalendar": "weekends", "jitter": "1h", "maxFirings": 10_000, "startAt": 0}
        yield f"crons, bounded: {title}", [timer(one, cron | bounds) for one, cron in enumerate(crons)]
        zone = {"timezone": "Africa/Casablanca", "endAt": 7_000_000_000_000, "excludeCalendar": "cn-off-days"}
        yield f"crons, in a zone: {title}", [timer(one, cron | zone) for one, cron in enumerate(crons)]
    yield "large bodies", timers_of(1_000, target=TARGET | {"body": '\\"' * 2_000})
    yield "wide tags", timers_of(1_000, tags=['"' * 62 + f"{n:02}" for n in range(16)])
    yield "plain tags", timers_of(1_000, enabled=True, tags=["t" * 62 + f"{n:02}" for n in range(16)])
    yield "unknown fields", timers_of(1_000, **{f"f{n}": 1 for n in range(600)})
    yield "60 unknown fields", timers_of(1_000, **{f"f{n}": 1 for n in range(60)})
    yield "many header values", timers_of(1_000, target=TARGET | {"headers": {"A": ["x"] * 12_000}})
    headers = {f"X-{n}": "x" * 100 for n in range(50)}
    yield "50 headers", timers_of(1_000, target=TARGET | {"headers": headers})
    yield "many tags", timers_of(1_000, tags=["t"] * 2_000)
    yield "tags of numbers", timers_of(1_000, tags=[1] * 4_000)
    yield "tags of objects", timers_of(1_000, tags=[{}] * 2_600)
    nightly = {"cron": "0 0 * * *"}
    yield "long zone", timers_of(1_000, nightly | {"timezone": "Z" * 8_000})
    yield "long cron", timers_of(1_000, {"cron": "1 " * 4_000})
    yield "long calendar", timers_of(1_000, nightly | {"excludeCalendar": "c" * 8_000})
    yield "long url", timers_of(1_000, target={"url": "http://" + "a." * 4_000})
    yield "long url of the longest", timers_of(1_000, target={"url": "http://" + "a." * 1_010})
    yield "long moments", timers_of(1_000, {"at": "2030-01-01T00:00:00." + "0" * 7_000 + "Z"})
    yield "long numbers", timers_of(1_000, {"everyDays": int("9" * 4_000)})
    yield "long spans", timers_of(1_000, {"every": "9" * 4_000 + "s"})
    yield "1 ms intervals", timers_of(1_000, {"every": "1ms"})
    yield "second intervals", timers_of(1_000, {"every": "1s", "jitter": "1s"}, True)
    counted = {"maxFirings": 10_000, "excludeCalendar": "weekends", "startAt": 0}
    yield "counted intervals", timers_of(1_000, {"every": "1s"} | counted, True)
    counted |= {"anchorAt": 2 * DAY_MS, "excludeCalendar": "cn-off-days"}
    yield "counted days", timers_of(1_000, {"every": "1d"} | counted, True)
    weekly = {"every": "7d", "excludeCalendar": "weekends"}
    never = (weekly | {"anchorAt": n + 2 * DAY_MS} for n in range(1_000))
    yield "intervals that never fire", [timer(n, schedule) for n, schedule in enumerate(never)]
    saturdays = (cron_of("{s} {m} {h} * * 6", n) for n in range(1_000))
    yield (
        "saturday crons",
        [timer(n, {"cron": cron, "excludeCalendar": "weekends"}) for n, cron in enumerate(saturdays)],
    )
    yield "own calendar", timers_of(1_000, nightly | {"excludeCalendar": "long"})
    yield "own calendar, enabled", timers_of(1_000, {"cron": "* * * * * *", "excludeCalendar": "long"}, True)
    yield "moments of now", timers_of(1_000, {"delay": "0s"}, True)
    yield "the same key", [timer(0, enabled=True) for _ in range(1_000)]
    yield "keys of emojis", [timer(n, key="\U0001f552" * 120 + str(n)) for n in range(1_000)]


def single_schedules() -> Iterator[tuple[str, dict[str, Any]]]:
    """Schedules that are dear alone."""
    for title, pattern in CRONS.items():
        cron = cron_of(pattern, 4_242)
        yield title, {"cron": cron}
        yield f"{title}, counted", {"cron": cron, "maxFirings": 10_000, "startAt": 0}
        yield (
            f"{title}, put off",
            {"cron": cron, "jitter": "1h", "excludeCalendar": "long", "endAt": 7_200_000_000_000},
        )
        yield (
            f"{title}, of days",
            {"cron": cron, "excludeCalendar": "cn-off-days", "timezone": "America/Sao_Paulo"},
        )
    counted = {"maxFirings": 10_000, "excludeCalendar": "weekends"}
    yield "interval, counted", {"every": "1s", "startAt": 0} | counted
    yield "interval, long ago", {"every": "1s", "anchorAt": 0, "jitter": "1h", "maxFirings": 10_000}
    yield "interval of Saturdays", {"every": "7d", "anchorAt": 2 * DAY_MS} | counted
    shut = {"maxFirings": 10_000, "excludeCalendar": "shut"}
    yield "open one day in a thousand", {"cron": "* * * * * *"} | shut
    yield "cron, open seldom", {"cron": "59 59 23 * * *", "startAt": 0} | shut


def sundays(number: int) -> list[str]:
    """So many Sundays from November 2026 on."""
    first = date(2026, 11, 1)
    return [(first + timedelta(days=7 * one)).isoformat() for one in range(number)]
