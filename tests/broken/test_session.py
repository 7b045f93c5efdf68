"""Only a failure that a mutation could have caused counts as red."""

import pytest

from tests.broken.session import Session

TEST = "tests/test_settings.py::test_the_defaults_are_accepted"


def test_a_failure_of_the_test_itself_is_red_in_any_of_its_parameters() -> None:
    assert Session(1, "", {TEST: "assert 1 == 2"}).red(TEST)
    assert Session(1, "", {f"{TEST}[redis]": "assert 1 == 2"}).red(TEST)


@pytest.mark.parametrize(
    "session",
    [
        Session(0, "", {}),
        Session(1, "", {}),
        Session(1, "", {f"{TEST}_too": "assert 1 == 2"}),
        Session(2, "", {TEST: "assert 1 == 2"}),
        Session(1, "", {TEST: "NameError: name 'due' is not defined"}),
        Session(1, "", {TEST: "builtins.ImportError: no module"}),
    ],
)
def test_no_failure_another_test_s_and_a_mere_stumble_are_not_red(session: Session) -> None:
    assert not session.red(TEST)
