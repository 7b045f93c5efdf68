"""The patches keep up with the code: each still applies, says what it breaks, and names tests that exist."""

from pathlib import Path

import pytest

from tests.broken.promises import FOLDER, BadHeader, promises, read
from tests.broken.session import Session, not_found
from tests.broken.tree import ROOT, apply

PATCHES = sorted(FOLDER.glob("*.patch"))
DIFF = "\n--- a/wangtimer/scheduler.py\n+++ b/wangtimer/scheduler.py\n"
# What is run and deployed; never a test.
PRODUCT = ("wangtimer/", "deploy/", "docker-compose.yml", "Dockerfile")
TEST = "tests/test_settings.py::test_the_defaults_are_accepted"


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_patch_applies_to_the_code_as_it_is(patch: Path) -> None:
    apply(patch, ROOT, "--check")


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_patch_has_a_complete_header_and_breaks_the_product_alone(patch: Path) -> None:
    assert read(patch).tests
    broken = [line for line in patch.read_text().splitlines() if line.startswith(("--- ", "+++ "))]
    assert broken
    assert all(line[6:].startswith(PRODUCT) for line in broken)


@pytest.mark.processes
def test_every_named_test_exists() -> None:
    assert not not_found(ROOT, sorted({test for promise in promises() for test in promise.tests}))


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"Promise: a\nRed: {TEST}",
        "Promise: a\nBreaks: b",
        f"Promise:\nBreaks: b\nRed: {TEST}",
        f"Promise: a\nPromise: b\nBreaks: c\nRed: {TEST}",
        f"Promise: a\nBreaks: b\nTest: {TEST}",
    ],
)
def test_a_header_that_leaves_something_out_is_refused(tmp_path: Path, header: str) -> None:
    patch = tmp_path / "a-promise.patch"
    patch.write_text(header + DIFF)
    with pytest.raises(BadHeader, match=r"a-promise\.patch"):
        read(patch)


def test_a_header_is_read_over_its_lines(tmp_path: Path) -> None:
    patch = tmp_path / "a-promise.patch"
    patch.write_text(f"Promise: told in\n  two lines\nBreaks: it\nRed: {TEST}\nRed: {TEST}[1]\n{DIFF}")
    one = read(patch)
    assert (one.name, one.words, one.breaks) == ("a-promise", "told in two lines", "it")
    assert one.tests == (TEST, f"{TEST}[1]")


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
