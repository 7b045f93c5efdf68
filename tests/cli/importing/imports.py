"""What the tests of imports have in common: a clock, and what becomes of entries."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import create_engine, text

from wangtimer.cli.importing.entries import Found, Refusal, TargetMapping
from wangtimer.cli.importing.imported import Imported, Importing

# 2026-11-25 08:00 in Shanghai.
NOW = int(datetime(2026, 11, 25, tzinfo=UTC).timestamp()) * 1_000
SHANGHAI = ZoneInfo("Asia/Shanghai")
MAPPING = TargetMapping("https://jobs.example/{name}", {}, None, {})


def imported(
    found: Iterable[Found], accepts_clock_changes: bool = False, terms: Mapping[str, Any] | None = None
) -> dict[str, Imported]:
    """Return what became of entries, all of which become timers, by key."""
    outcomes = list(Importing("test", MAPPING, NOW, accepts_clock_changes, terms=terms or {}).each(found))
    refused = [one for one in outcomes if isinstance(one, Refusal)]
    assert not refused
    return {one.entry.key: one for one in outcomes if isinstance(one, Imported)}


def refusals(found: Iterable[Found]) -> dict[str, str]:
    """Return the reason of each entry that is refused, by its place."""
    outcomes = Importing("test", MAPPING, NOW).each(found)
    return {one.place: one.reason for one in outcomes if isinstance(one, Refusal)}


def database(path: object, statements: str) -> str:
    """Make an SQLite database of SQL statements, and return its URL."""
    url = f"sqlite:///{path}"
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in filter(str.strip, re.split(r";\s*\n", statements)):
            connection.execute(text(statement.replace(":", r"\:")))
    engine.dispose()
    return url
