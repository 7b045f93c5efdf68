"""`wangtimer-testing`, installed as test-your-timers.md says, where nothing else of the service is."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.docs.blocks import blocks
from tests.linked_environment import LinkedEnvironment
from tests.testing.test_how_to_page import EXAMPLES, PAGE
from wangtimer import VERSION

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "wangtimer" / "testing"
ANOTHER_APP = """
from celery import current_app


def test_the_celery_app_of_who_tests_stays_that_of_the_process(wangtimer: WangTimer) -> None:
    wangtimer.client.create_timer(schedule={"every": "1h"}, target={"url": CLOSE})
    assert len(wangtimer.advance(hours=3)) == 3
    assert current_app.main == "mine"
"""


def project(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_the_page_s_tests_pass_where_nothing_else_of_the_service_is(tmp_path: Path) -> None:
    (install,) = [block for block in blocks(PAGE) if block.language == "sh"]
    needs = project(SOURCES)["dependencies"]
    environment = LinkedEnvironment.by_command(tmp_path / "venv", install.text, ROOT, *needs, "pytest")
    tests = tmp_path / "tests"
    tests.mkdir()
    # `mine` is made before the fixtures are loaded, as by code that the tests import.
    for name, code in [("conftest.py", "from celery import Celery\n\nmine = Celery('mine')\n"), *EXAMPLES]:
        with (tests / name).open("a") as file:
            file.write(code)
    with (tests / "test_shop.py").open("a") as file:
        file.write(ANOTHER_APP)
    run = [
        str(environment.python),
        "-I",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tests),
    ]
    done = subprocess.run([*run, str(tests)], cwd=tests, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_binds_nothing_that_the_code_under_test_may_have_in_another_version() -> None:
    its_own = {one.name: one for one in map(Requirement, project(SOURCES)["dependencies"])}
    for name, version in (("celery", "5.4.0"), ("redis", "5.3.1"), ("kombu", "5.4.2")):
        assert its_own.get(name, Requirement(name)).specifier.contains(version), name


def test_what_it_binds_else_is_as_the_service_has_it() -> None:
    services = {one.name: one for one in map(Requirement, project(ROOT)["dependencies"])}
    for one in map(Requirement, project(SOURCES)["dependencies"]):
        if one.name not in ("celery", "redis", "tzlocal"):
            assert (one.name, one.specifier) == (one.name, services[one.name].specifier)


def test_all_are_of_one_version() -> None:
    folders = (ROOT, SOURCES, ROOT / "wangtimer" / "client")
    assert {project(folder)["version"] for folder in folders} == {VERSION}
    assert {SpecifierSet(project(folder)["requires-python"]) for folder in folders} == {
        SpecifierSet(">=3.11")
    }
