"""The reading of Quartz expressions, against moments that Quartz 2.3.2 itself gave."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.cli.importing.quartz_expressions import quartz_cases
from wangtimer.cli.importing.cron_readings import read_quartz
from wangtimer.cli.importing.entries import NotTaken
from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.cron.cron_dialect import CronDialect

# A line: expression, zone, ms UTC after which, and the moments in s. The cases are every fourth of seed 1.
GIVEN = [line.split("\t") for line in (Path(__file__).parent / "quartz_moments.txt").read_text().splitlines()]
UTC = ZoneInfo("UTC")


def test_it_gives_the_moments_that_quartz_gave() -> None:
    assert len(GIVEN) == 350
    for expression, zone, after, moments in GIVEN:
        wanted = [int(one) * 1_000 for one in moments.split()]
        found = read_quartz(expression, ZoneInfo(zone)).moments(int(after), len(wanted))
        assert found == wanted, expression


def test_the_cases_are_those_of_the_seed() -> None:
    made = [[expression, zone, str(after)] for expression, zone, after in list(quartz_cases(1, 1_400))[::4]]
    assert [case[:3] for case in GIVEN] == made


def test_ours_differ_from_quartz_only_as_clocks_change() -> None:
    differing = set()
    for expression, zone, after, moments in GIVEN:
        wanted = [int(one) * 1_000 for one in moments.split()]
        cron = Cron.read(expression, zone, CronDialect.QUARTZ)
        if cron.moments(int(after), END_MS, len(wanted)) != wanted:
            differing.add(zone)
    assert differing <= {"Africa/Cairo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_ours_where_no_clock_changes(seed: int) -> None:
    for expression, _, after in quartz_cases(seed + 1_000, 15):
        ours = Cron.read(expression, "Asia/Shanghai", CronDialect.QUARTZ).moments(after, END_MS, 30)
        assert read_quartz(expression, ZoneInfo("Asia/Shanghai")).moments(after, 30) == ours, expression


def test_weekday_2_is_monday() -> None:
    (moment,) = read_quartz("0 0 9 ? * 2", UTC).moments(0, 1)
    assert datetime.fromtimestamp(moment / 1_000, UTC).strftime("%A %H:%M") == "Monday 09:00"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("0 0 9 * * 2", "wants ? for exactly one"),
        ("0 0 9 ? * ?", "wants ? for exactly one"),
        ("0 9 * * 2", "has 5 fields"),
        ("0 0 9 31W * ?", "differs between its versions"),
        ("0 0 9 L-28 * ?", "differs between its versions"),
        ("0 0 9 ? * MON/2", "ignores a step"),
        ("0 60 9 * * ?", "it takes 0-59"),
        ("0 0/60 9 * * ?", "none that Quartz reads"),
        ("0 0 9 ? * 0", "it takes 1-7"),
        ("0 0 9 ? * 8", "it takes 1-7"),
        ("0 0 9 H * ?", "none that Quartz reads"),
    ],
)
def test_what_quartz_does_not_take_is_not_taken(expression: str, reason: str) -> None:
    with pytest.raises(NotTaken, match=reason.replace("?", r"\?")):
        read_quartz(expression, UTC)
