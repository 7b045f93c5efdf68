"""A rule that is checked for many cases in one test."""

import pytest

from tests.in_one import in_one


@in_one(("number", "word"), [(1, "one"), pytest.param(2, "two")])
def test_each_case_is_given_with_the_fixtures(number: int, word: str, request: pytest.FixtureRequest) -> None:
    assert (number, word) in ((1, "one"), (2, "two"))
    assert request.node.name == "test_each_case_is_given_with_the_fixtures"


def test_every_case_that_does_not_hold_is_listed() -> None:
    @in_one("number", range(5))
    def is_even(number: int) -> None:
        assert number % 2 == 0, "odd"

    with pytest.raises(pytest.fail.Exception) as caught:
        is_even()
    listed = str(caught.value)
    assert listed.startswith("2 of 5:\n1: AssertionError: odd")
    assert "\n3: AssertionError: odd" in listed


def test_a_rule_without_a_case_does_not_hold() -> None:
    with pytest.raises(AssertionError, match="there is no case"):
        in_one("number", [])(lambda number: None)()
