"""docs/operations.md names figures, events, settings and commands that there are."""

import re
from pathlib import Path

import pytest

from tests.cli.test_cli_page import command_of
from tests.in_one import in_one
from wangtimer.base.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text()
CODES = re.findall(r"`([^`\n]+)`", PAGE)
SOURCES = "".join(path.read_text() for path in (ROOT / "wangtimer").rglob("*.py"))
FIGURES = {name for name in CODES if name.startswith("wangtimer_")}
SETTINGS = {name for name in CODES if name.startswith("WANGTIMER_")}
EVENTS = {name for name in CODES if re.fullmatch(r"[a-z]+(_[a-z]+)+", name)} - FIGURES
COMMANDS = [name for name in CODES if re.match(r"wangtimer \w", name)]


def test_it_names_every_figure_and_no_other() -> None:
    sources = [path.read_text() for path in (ROOT / "wangtimer").rglob("metrics.py")]
    named = {name for source in sources for name in re.findall(r'"(wangtimer_\w+)"', source)}
    assert {name.removesuffix("_total") for name in FIGURES} == named


def test_every_event_it_names_is_logged() -> None:
    assert len(EVENTS) > 5
    assert [event for event in sorted(EVENTS) if f'"{event}"' not in SOURCES] == []


def test_every_setting_it_names_is_one() -> None:
    assert SETTINGS
    assert {name.removeprefix("WANGTIMER_").lower() for name in SETTINGS} <= set(Settings.model_fields)


@in_one("example", COMMANDS)
def test_every_command_can_be_typed(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_APP", "shop")
    _, command, arguments = command_of(example.replace("...", "UTC"))
    assert command.make_context(command.name, arguments).command is command


@pytest.mark.parametrize("page", ["docs/how-to/index.md", "docs/zh/how-to/index.md"])
def test_the_list_of_how_tos_leads_to_it(page: str) -> None:
    assert "(../operations.md)" in (ROOT / page).read_text()
