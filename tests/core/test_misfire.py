"""What becomes of firings found long after their moment."""

import pytest

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule

MINUTE = 60_000
NOON = 1_795_000_020_000
EACH_MINUTE = Cron("* * * * *", "UTC")


def made(rule: MisfireRule, late_minutes: list[int]) -> dict[int, str]:
    """Return why each firing that many minutes late is not made, at noon."""
    return {late: rule.why_not(EACH_MINUTE, NOON - late * MINUTE, NOON) for late in late_minutes}


def test_noon_is_a_moment_of_the_schedule() -> None:
    assert EACH_MINUTE.matches(NOON)


@pytest.mark.parametrize("policy", list(MisfirePolicy))
def test_within_the_grace_every_policy_makes_it(policy: MisfirePolicy) -> None:
    assert made(MisfireRule(policy, grace_ms=5 * MINUTE), [0, 1, 5]) == {0: "", 1: "", 5: ""}


def test_fire_all_makes_every_missed_one() -> None:
    assert made(MisfireRule(grace_ms=MINUTE), [2, 3, 600]) == {2: "", 3: "", 600: ""}


def test_skip_makes_none_of_them() -> None:
    assert made(MisfireRule(MisfirePolicy.SKIP, MINUTE), [2, 600]) == {2: "missed", 600: "missed"}


def test_fire_latest_makes_the_newest_alone() -> None:
    rule = MisfireRule(MisfirePolicy.FIRE_LATEST, MINUTE)
    assert rule.why_not(Cron("0 * * * *", "UTC"), NOON - 20 * MINUTE, NOON - 19 * MINUTE + MINUTE) == ""
    assert made(rule, [2, 3]) == {2: "coalesced", 3: "coalesced"}


def test_fire_latest_gives_way_to_no_moment_that_an_edit_brought_too_late() -> None:
    rule, missed = MisfireRule(MisfirePolicy.FIRE_LATEST, MINUTE), NOON - 20 * MINUTE
    assert rule.why_not(EACH_MINUTE, missed, NOON + 500, edited_at=NOON) == ""
    assert rule.why_not(EACH_MINUTE, missed, NOON + MINUTE, edited_at=NOON) == "coalesced"


def test_fire_latest_makes_a_late_one_shot() -> None:
    assert MisfireRule(MisfirePolicy.FIRE_LATEST, 1_000).why_not(Once(5_000), 5_000, 50_000) == ""


def test_past_the_window_none_is_made_whatever_the_policy() -> None:
    rule = MisfireRule(MisfirePolicy.FIRE_ALL, MINUTE, window_ms=10 * MINUTE)
    assert made(rule, [2, 10, 11]) == {2: "", 10: "", 11: "missed"}


@pytest.mark.parametrize("policy", list(MisfirePolicy))
def test_a_window_shorter_than_the_grace_is_held_to_as_well(policy: MisfirePolicy) -> None:
    rule = MisfireRule(policy, grace_ms=10 * MINUTE, window_ms=2 * MINUTE)
    assert made(rule, [1, 2, 3]) == {1: "", 2: "", 3: "missed"}
