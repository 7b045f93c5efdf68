"""Some hundred cases of the comparison with cronsim and brute force; `make cron-oracle` runs 100,000."""

from datetime import datetime

import pytest

from tests.oracle.case import ALL, Case, make_case
from tests.oracle.comparison import compare
from tests.oracle.differences import Reason

SEED = 1
CASES = 400
A_TEST = 100


@pytest.mark.parametrize("first", range(0, CASES, A_TEST))
def test_cron_fires_what_its_oracles_do_or_the_difference_is_explained(first: int) -> None:
    for number in range(first, first + A_TEST):
        found = compare(make_case(SEED, number))
        assert not found.unexplained, f"make cron-oracle SEED={SEED} CASE={number}\n{found.case}"


def test_most_cases_have_moments_and_a_case_can_be_made_again() -> None:
    found = [compare(make_case(SEED, number)) for number in range(60)]
    assert sum(bool(one.ours) for one in found) > 30
    assert sum(one.is_read_by_cronsim for one in found) > 25
    assert [make_case(SEED, number) for number in range(60)] == [one.case for one in found]


@pytest.mark.parametrize(
    ("reason", "expression", "zone", "after", "until"),
    [
        (Reason.STARRED_DAYS, "0 0 */2 * 1", "UTC", "2026-12-01T00:00Z", "2026-12-31T00:00Z"),
        (Reason.STEPS_TO_SEVEN, "0 0 * * 5/2", "UTC", "2026-12-01T00:00Z", "2026-12-31T00:00Z"),
        (Reason.SIX_FIELDS, "0 30 1 * * *", "America/New_York", "2026-10-31T00:00Z", "2026-11-02T00:00Z"),
        (
            Reason.STEPPED_OVER,
            "* 3 * * *",
            "Australia/Lord_Howe",
            "2026-10-02T00:00Z",
            "2026-10-05T00:00Z",
        ),
        (
            Reason.AFTER_MIDNIGHT,
            "*/10 1 4 11 *",
            "America/Sao_Paulo",
            "2018-11-03T00:00Z",
            "2018-11-05T12:00Z",
        ),
        (Reason.NEVER_SHOWN, "*/10 0 4 11 *", "America/Sao_Paulo", "2018-11-03T00:00Z", "2018-11-05T12:00Z"),
    ],
)
def test_each_reason_is_recognised_where_it_is_one(
    reason: Reason, expression: str, zone: str, after: str, until: str
) -> None:
    after_ms, until_ms = (round(datetime.fromisoformat(text).timestamp() * 1_000) for text in (after, until))
    found = compare(Case(0, expression, zone, after_ms, until_ms, ALL))
    assert found.reasons == (reason,)
    assert not found.unexplained
