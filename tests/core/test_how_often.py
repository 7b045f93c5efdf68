"""How many firings a day a schedule counts as."""

import pytest

from tests.further_kind import Workday, registered
from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.kinds.kinds import firings_a_day
from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Once

DAY_S = 86_400


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        (Cron("* * * * * *", "UTC"), DAY_S),
        (Cron("*/5 9-17 * * 1-5", "Asia/Shanghai"), 12 * 9),
        (Cron("0 3 1 * *", "UTC"), 1),
        (Cron("@hourly", "UTC"), 24),
        (Cron("0/10 0 8,20 ? * 6L", "UTC", CronDialect.QUARTZ), 12),
        (Every(1_000, 0), DAY_S),
        (Every(90_000, 0), 960),
        (Every(7_000, 0), 12_343),
        (Every(30 * DAY_S * 1_000, 0), 1),
        (Once(1_800_000_000_000), 0),
    ],
    ids=str,
)
def test_a_rule_counts_as_on_a_day_on_which_it_fires(rule: Rule, number: int) -> None:
    assert firings_a_day(rule) == number


def test_what_only_leaves_firings_out_does_not_count() -> None:
    bounded = Bounded(Every(60_000, 0), start_ms=9, last_ms=99, excluded=built_in()["cn-off-days"])
    assert firings_a_day(bounded) == 1_440


def test_a_kind_that_says_nothing_is_counted_from_its_first_moment() -> None:
    with registered():
        assert firings_a_day(Workday(3, "UTC")) == 1


def test_a_rule_that_cannot_be_read_counts_as_none() -> None:
    assert firings_a_day(Cron("later version's words", "UTC")) == 0
