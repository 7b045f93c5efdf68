"""Only a failure that a mutation could have caused counts as red."""

import pytest

from tests.broken.session import Session

TEST = "tests/test_settings.py::test_the_defaults_are_accepted"


def test_a_failure_of_the_test_itself_is_red_in_any_of_its_parameters() -> None:
    assert Session(1, "", {TEST: "assert 1 == 2"}).red(TEST)
    assert Session(1, "", {f"{TEST}[redis]": "assert 1 == 2"}).red(TEST)
    assert Session(1, "", {TEST: "Failed: DID NOT RAISE builtins.ImportError"}).red(TEST)


@pytest.mark.parametrize(
    "session",
    [
        Session(0, "", {}),
        Session(1, "", {}),
        Session(1, "", {f"{TEST}_too": "assert 1 == 2"}),
        Session(2, "", {TEST: "assert 1 == 2"}),
        Session(1, "", {TEST: "NameError: name 'due' is not defined"}),
        Session(1, "", {TEST: "NameError: name 'x' is not defined. Did you mean: 'y'?"}),
        Session(1, "", {TEST: "builtins.ImportError: no module"}),
        Session(1, "", {TEST: "ModuleNotFoundError: No module named 'wangtimer.gone'"}),
        Session(
            1, "", {TEST: "ImportError: cannot import name 'a' from 'wangtimer.core.due' (/a/core/due.py)"}
        ),
        Session(1, "", {TEST: "SyntaxError: invalid syntax (firings.py, line 3)"}),
        Session(1, "", {TEST: "IndentationError: unexpected indent (firings.py, line 3)"}),
    ],
)
def test_no_failure_another_test_s_and_a_mere_stumble_are_not_red(session: Session) -> None:
    assert not session.red(TEST)
