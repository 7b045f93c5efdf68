"""`wangtimer doctor` warns of calendars whose days end while enabled timers still go by them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta

import pytest

from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.plain_stores import plain_timers
from wangtimer.cli.doctor.findings import Finding, Severity
from wangtimer.cli.doctor.stored_checkups import CALENDAR_SOON, of_calendars
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.schedule import Bounded
from wangtimer.core.timers.timer import NewTimer, TimerStatus
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import calendars, timers

CHINA = built_in()["cn-off-days"]
WEEKENDS = built_in()["weekends"]
NEW_YEAR = date(2027, 1, 1)
PLANT = Calendar("plant", frozenset({5, 6}), frozenset({NEW_YEAR}), frozenset({date(2027, 1, 9)}))


class Office:
    """Timers and calendars of a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.calendars = CalendarStore(database)

    def timer(self, calendar: Calendar, app: str = "shop", status: TimerStatus = TimerStatus.ENABLED) -> None:
        schedule = Bounded(EVERY_MINUTE, excluded=calendar)
        new = NewTimer(app, f"{calendar.name}-{status}", schedule, NOTIFY)
        made = plain_timers(self.database).create(new, 1)
        changed = timers.update().where(timers.c.id == made.id).values(status=status)
        self.database.write(lambda sql: sql.execute(changed))

    def found(self, today: date) -> list[Finding]:
        return list(of_calendars(self.calendars, today))

    def warned(self, today: date) -> list[str]:
        return [one.text for one in self.found(today) if one.severity is Severity.WARNING]


@pytest.fixture(params=["sqlite_url", "mariadb_url"])
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    with closing(Database(request.getfixturevalue(request.param), pool_size=2)) as database:
        database.create_tables()
        yield Office(database)


def test_a_built_in_calendar_is_told_once_from_60_days_before_its_end(office: Office) -> None:
    assert CHINA.known_until is not None
    office.timer(CHINA)
    office.timer(CHINA, "bank")
    assert office.warned(CHINA.known_until - CALENDAR_SOON - timedelta(days=1)) == []
    for today in (CHINA.known_until - CALENDAR_SOON, CHINA.known_until + timedelta(days=400)):
        (said,) = office.warned(today)
        assert said.startswith("calendar cn-off-days (of app ")
        assert f"names no day after {CHINA.known_until}: from then on only its weekdays count" in said
        assert "chinesecalendar" in office.found(today)[0].mend


def test_an_uploaded_calendar_is_told_of_each_app_that_has_it(office: Office) -> None:
    for app in ("shop", "bank"):
        office.calendars.put(app, PLANT, 1)
        office.timer(PLANT, app)
    for app in ("shop", "bank"):
        said = (
            f"calendar plant of app {app} names no day after 2027-01-09: from then on only its weekdays count"
        )
        assert said in office.warned(NEW_YEAR)
    assert office.found(NEW_YEAR)[0].mend.startswith("upload the calendar")
    assert office.warned(NEW_YEAR - CALENDAR_SOON) == []


def test_without_an_enabled_timer_no_calendar_is_told(office: Office) -> None:
    office.calendars.put("shop", PLANT, 1)
    office.timer(PLANT, status=TimerStatus.DISABLED)
    office.timer(CHINA, status=TimerStatus.DELETED)
    office.timer(WEEKENDS)
    (finding,) = office.found(date(2100, 1, 1))
    assert finding.severity is Severity.OK


def test_one_that_cannot_be_read_hides_no_other(office: Office) -> None:
    office.timer(replace(PLANT, name="deleted"))
    for name, content in (("no JSON", "{"), ("of another version", "{}"), ("a list", "[]")):
        row = calendars.insert().values(app="shop", name=name, content=content, updated_at=1)
        office.timer(replace(PLANT, name=name))
        office.database.write(lambda sql, row=row: sql.execute(row))
    office.timer(CHINA)
    assert len(office.warned(date(2100, 1, 1))) == 1


def test_it_goes_on_page_by_page_past_timers_without_a_calendar(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.store.sql.calendars.PAGE", 2)
    for app in ("a", "b", "c"):
        for number in range(3):
            plain_timers(office.database).create(NewTimer(app, f"plain{number}", EVERY_MINUTE, NOTIFY), 1)
        for calendar in (PLANT, replace(PLANT, name="yard")):
            office.calendars.put(app, calendar, 1)
            office.timer(calendar, app)
            office.timer(calendar, app, TimerStatus.DISABLED)
    assert len(office.warned(NEW_YEAR)) == 6
