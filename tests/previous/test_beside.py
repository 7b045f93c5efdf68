"""The version before this one beside it, on one database and one Redis: what either makes fires on time, once."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.previous.beside import APP, Beside, Version
from tests.servers.server_process import ServerMissingError
from wangtimer.store.sql.tables import timers

# Alone: it judges lateness.
pytestmark = [pytest.mark.alone, pytest.mark.processes, pytest.mark.timeout(240)]

# By the old version too, a call is made within its lead; the rest is room for a machine that is busy otherwise.
LATE_MS = 5_000
RUN_MS = 10_000
JITTER_MS = 500
# A worker of the old version drops the tasks that it does not know; each sweep asks for one again.
FOLLOWED_MS = 120_000


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    try:
        with Beside(tmp_path) as it:
            yield it
    except ServerMissingError as missing:
        pytest.skip(str(missing))


def made_by(version: Version, it: Beside, at_ms: int) -> dict[str, int]:
    """Make one timer of each kind by a version; return their ids by kind."""
    url, own = it.target.url, f"{version.name}-"
    version.calendar(f"{own}days", ["2001-01-01"])
    return {
        "cron": version.timer(url, f"{own}cron", cron="*/2 * * * * *"),
        "zone": version.timer(url, f"{own}zone", cron="*/3 * * * * *", timezone="Asia/Kathmandu"),
        "every": version.timer(url, f"{own}every", everyMs=2_000, jitterMs=JITTER_MS),
        "calendar": version.timer(url, f"{own}calendar", cron="*/10 * * * * *", excludeCalendar=f"{own}days"),
        "policy": version.timer(url, f"{own}policy", cron="*/5 * * * * *", misfire="fire_latest", tags=["a"]),
        **{f"once-{one}": version.timer(url, f"{own}once-{one}", at=at_ms + 700 * one) for one in range(8)},
    }


def test_what_either_version_makes_fires_on_time_and_once(beside: Beside) -> None:
    now = int(time.time() * 1_000)
    first = now + 9_000
    of_old, of_new = made_by(beside.old, beside, first), made_by(beside.new, beside, first)
    kept = beside.old.ask("GET", "timer/v1/calendar", app=APP, name="new-days")["data"]
    assert "following" not in kept, "the old version is the old one"
    # Each version changes what the other made.
    beside.new.ask("PATCH", "timer/v1/def", app=APP, id=of_old["cron"], cron="*/4 * * * * *")
    beside.old.ask("PATCH", "timer/v1/def", app=APP, id=of_new["cron"], cron="*/4 * * * * *")
    beside.new.ask("POST", "timer/v1/unable", app=APP, id=of_old["zone"])
    beside.old.ask("POST", "timer/v1/unable", app=APP, id=of_new["zone"])
    stopped = int(time.time() * 1_000) + 2_000
    # And lets those that name a calendar follow it.
    beside.new.calendar("old-days", ["2001-01-02"])
    beside.old.calendar("new-days", ["2001-01-02"])
    until = max(int(time.time() * 1_000), first) + RUN_MS
    beside.run_until(until + LATE_MS)

    calls = Counter((call.timer_id, call.fire_at) for call in beside.target.calls())
    late = [call for call in beside.target.calls() if not 0 <= call.lateness_ms < LATE_MS]
    assert not late, beside.logs("new") + beside.logs("old")
    twice = [key for key, number in calls.items() if number > 1]
    assert not twice
    for ids in (of_old, of_new):
        assert {ids[f"once-{one}"] for one in range(8)} <= {timer_id for timer_id, _ in calls}
        for kind, period_ms in (("cron", 4_000), ("every", 2_000), ("calendar", 10_000), ("policy", 5_000)):
            moments = sorted(fire_at for timer_id, fire_at in calls if timer_id == ids[kind])
            expected = RUN_MS // period_ms
            # A jittered moment may fall after the end of the run whose period it is in.
            within = [one for one in moments if first <= one <= until + JITTER_MS]
            assert len(within) >= expected, (kind, first, until, moments)
        assert not [key for key in calls if key[0] == ids["zone"] and key[1] > stopped]
    every = [*of_old.values(), *of_new.values()]
    records = {one: [*beside.old.records(one), *beside.new.records(one)] for one in every}
    outcomes = {record["statusName"] for found in records.values() for record in found}
    assert outcomes <= {"succeeded", "skipped", "pending"}

    def bounds() -> dict[str, str]:
        query = select(timers.c.name, timers.c.bounds).where(
            timers.c.name.in_(["old-calendar", "new-calendar"])
        )
        return {
            row.name: str(row.bounds) for row in beside.database.read(lambda sql: sql.execute(query).all())
        }

    def have_same_days() -> bool:
        found = bounds()
        return found["old-calendar"] == found["new-calendar"].replace("new-days", "old-days")

    beside.run_until(until + FOLLOWED_MS, or_once=have_same_days)
    assert have_same_days()
    following = beside.new.ask_v1("GET", "calendars/old-days")["following"]
    assert (following["followers"], following["left"], following["refused"]) == (1, 0, 0)
