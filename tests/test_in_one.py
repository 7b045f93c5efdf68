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


def test_a_missing_error_and_a_skip_are_listed_like_any_failure() -> None:
    @in_one("number", range(3))
    def fails(number: int) -> None:
        if number == 0:
            pytest.skip("not here")
        with pytest.raises(ZeroDivisionError):
            1 // (number - 1)

    with pytest.raises(pytest.fail.Exception) as caught:
        fails()
    assert str(caught.value).startswith("2 of 3:\n0: Skipped: not here\n2: Failed: DID NOT RAISE")


def test_code_that_stumbles_says_so_itself() -> None:
    @in_one("number", range(2))
    def stumbles(number: int) -> None:
        raise NameError("name 'due' is not defined")

    with pytest.raises(NameError):
        stumbles()


def test_a_case_with_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(1,\) has marks"):
        in_one("number", [pytest.param(1, marks=pytest.mark.alone)])
