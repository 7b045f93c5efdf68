"""The reading of crontabs, against cronsim, which reads as Debian's cron does."""

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from wangtimer.cli.importing.cron_readings import CrontabZone, read_crontab
from wangtimer.cli.importing.entries import NotTaken
from wangtimer.core.cron.cron import END_MS, Cron

FIRST_S, LAST_S = 1_767_225_600, 1_893_456_000
NEW_YORK = ZoneInfo("America/New_York")


def field(draw: random.Random, low: int, high: int) -> str:
    one, other = sorted(draw.sample(range(low, high + 1), 2))
    step = draw.randint(2, 9)
    return draw.choice(
        ["*", "*", str(one), f"{one},{other}", f"{one}-{other}", f"{one}-{other}/{step}", f"*/{step}"]
    )


def expression(draw: random.Random) -> str:
    bounds = ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))
    return " ".join(field(draw, *one) for one in bounds)


def cases(seed: int, count: int) -> list[tuple[str, int]]:
    draw = random.Random(seed)
    return [(expression(draw), draw.randint(FIRST_S, LAST_S) * 1_000) for _ in range(count)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize("seed", range(5))
def test_it_gives_the_moments_that_cronsim_gives(seed: int, zone: str) -> None:
    for text, after in cases(seed, 20):
        start = datetime.fromtimestamp(after / 1_000, ZoneInfo(zone))
        other = CronSim(text, start)
        wanted = [int(next(other).timestamp()) * 1_000 for _ in range(30)]
        assert read_crontab(text, CrontabZone(ZoneInfo(zone))).moments(after, 30) == wanted, text


def test_ours_are_the_same_unless_a_day_field_begins_with_a_star_and_a_step() -> None:
    differing = []
    for text, after in cases(77, 200):
        ours = Cron.read(text, "Europe/Berlin").moments(after, END_MS, 30)
        if read_crontab(text, CrontabZone(ZoneInfo("Europe/Berlin"))).moments(after, 30) != ours:
            differing.append(text.split()[2::2])
    assert differing
    assert all(
        (one.startswith("*/") and other != "*") or (other.startswith("*/") and one != "*")
        for one, other in differing
    )


def test_either_day_is_enough_where_both_are_named() -> None:
    found = read_crontab("0 0 13 * 5", CrontabZone(ZoneInfo("UTC"))).moments(1_767_225_600_000, 3)
    shown = [datetime.fromtimestamp(one / 1_000, UTC).strftime("%a %d") for one in found]
    assert shown == ["Fri 02", "Fri 09", "Tue 13"]


@pytest.mark.parametrize(
    ("text", "where", "wanted"),
    [
        # Of the daemon's own zone: right after the gap, and once in the repeated hour.
        ("30 2 8 3 *", CrontabZone(NEW_YORK), ["2026-03-08 03:00 -0400"]),
        ("30 1 1 11 *", CrontabZone(NEW_YORK), ["2026-11-01 01:30 -0400"]),
        (
            "30 * 1 11 *",
            CrontabZone(NEW_YORK),
            ["2026-11-01 00:30 -0400", "2026-11-01 01:30 -0400", "2026-11-01 01:30 -0500"],
        ),
        # Of another zone cron only looks at the clock.
        ("30 2 8 3 *", CrontabZone(ZoneInfo("UTC"), NEW_YORK), ["2027-03-08 02:30 -0500"]),
        (
            "30 1 1 11 *",
            CrontabZone(ZoneInfo("UTC"), NEW_YORK),
            ["2026-11-01 01:30 -0400", "2026-11-01 01:30 -0500"],
        ),
        ("30 1 1 11 *", CrontabZone(NEW_YORK, NEW_YORK), ["2026-11-01 01:30 -0400"]),
    ],
)
def test_clock_changes_are_cronies(text: str, where: CrontabZone, wanted: list[str]) -> None:
    found = read_crontab(text, where).moments(1_767_225_600_000, len(wanted))
    assert [
        datetime.fromtimestamp(one / 1_000, NEW_YORK).strftime("%Y-%m-%d %H:%M %z") for one in found
    ] == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5/10 * * * *", "crons differ in what it means; write 5-59/10 or 5"),
        ("0 0 * * 6-1", "it refuses the line"),
        ("0~30 * * * *", "none that cron reads"),
        ("60 * * * *", "it takes 0-59"),
        ("0 0 L * *", "it takes 1-31"),
        ("0 0 * * 5#2", "none that cron reads"),
        ("*/0 * * * *", "it refuses the line"),
    ],
)
def test_what_cron_does_not_take_is_not_taken(text: str, reason: str) -> None:
    with pytest.raises(NotTaken, match=reason):
        read_crontab(text, CrontabZone(ZoneInfo("UTC")))
