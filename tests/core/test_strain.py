"""When calls come too close to their moments."""

from itertools import count

import pytest

from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.strain import COUNTS_MS, PERIOD_S, Strain

LEAD_MS = 1_000
NOW_MS = 1_800_000_000_000
_ids = count(1)


def members(number: int, ahead_ms: float) -> list[DueMember]:
    return [DueMember(Member(next(_ids), NOW_MS, 1), int(NOW_MS + ahead_ms)) for _ in range(number)]


def noted(*taken: list[DueMember]) -> bool:
    """Tell whether a period in which these were taken was strained."""
    strain = Strain(LEAD_MS)
    for one in taken:
        assert not strain.note(one, NOW_MS, 0.0)
    return strain.note([], NOW_MS, PERIOD_S)


@pytest.mark.parametrize(
    ("ahead_ms", "is_strained"), [(900, False), (200, False), (199, True), (0, True), (-5_000, True)]
)
def test_what_is_taken_close_to_its_moment_or_late_is_a_strain(ahead_ms: float, is_strained: bool) -> None:
    assert noted(members(10, ahead_ms)) is is_strained


@pytest.mark.parametrize(("close", "is_strained"), [(25, False), (26, True)])
def test_a_few_close_ones_are_none(close: int, is_strained: bool) -> None:
    assert noted(members(100 - close, 900), members(close, 0)) is is_strained


@pytest.mark.parametrize(("close", "is_strained"), [(9, False), (10, True)])
def test_so_few_that_somebody_asked_for_are_none(close: int, is_strained: bool) -> None:
    assert noted(members(close, 0)) is is_strained


def test_a_period_that_is_long_over_is_not_told_of() -> None:
    strain = Strain(LEAD_MS)
    strain.note(members(10, 0), NOW_MS, 0.0)
    assert not strain.note(members(10, 900), NOW_MS, PERIOD_S + COUNTS_MS / 1_000)


def test_nothing_taken_is_none() -> None:
    assert not noted()


def test_each_period_is_told_of_once_and_by_itself() -> None:
    strain = Strain(LEAD_MS)
    strain.note(members(10, 0), NOW_MS, 0.0)
    assert strain.note(members(10, 900), NOW_MS, PERIOD_S)
    assert not strain.note(members(10, 900), NOW_MS, PERIOD_S + 0.1)
    assert not strain.note(members(10, 900), NOW_MS, 2 * PERIOD_S + 0.1)


def test_its_word_outlasts_a_period() -> None:
    assert COUNTS_MS >= 2 * PERIOD_S * 1_000


def test_how_far_ahead_firings_are_armed_says_what_is_close() -> None:
    strain = Strain(lead_ms=200)
    strain.note(members(10, 50), NOW_MS, 0.0)
    assert not strain.note([], NOW_MS, PERIOD_S)
