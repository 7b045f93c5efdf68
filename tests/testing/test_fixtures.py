"""How the fixtures come, and what is said where pytest is missing."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import wangtimer.testing
from wangtimer.testing import WangTimer

FOLDER = Path(wangtimer.testing.__file__).parent


@pytest.fixture
def without_pytest(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`wangtimer.testing` as it is where pytest is not installed."""
    monkeypatch.setitem(sys.modules, "pytest", None)
    spec = spec_from_file_location("wangtimer_testing_without_pytest", wangtimer.testing.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pytest_finds_the_fixtures_in_what_is_named_as_a_plugin() -> None:
    assert {"make_wangtimer", "wangtimer"} <= set(wangtimer.testing.__all__)


def test_all_but_the_fixtures_is_there_without_pytest(without_pytest: ModuleType) -> None:
    assert without_pytest.WangTimer is WangTimer
    assert set(without_pytest.__all__) == {"Answer", "MadeCall", "WangTimer"}


@pytest.mark.parametrize("name", ["make_wangtimer", "wangtimer"])
def test_a_fixture_without_pytest_says_what_to_install(without_pytest: ModuleType, name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"the fixture {name} needs pytest: pip install pytest"):
        getattr(without_pytest, name)


def test_another_name_is_unknown_as_anywhere(without_pytest: ModuleType) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'wangtimers'"):
        without_pytest.wangtimers  # noqa: B018


def test_only_the_fixtures_import_pytest() -> None:
    importing = {
        path.name
        for path in FOLDER.rglob("*.py")
        if re.search(r"^\s*(import|from) _?pytest\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importing == {"fixtures.py"}
