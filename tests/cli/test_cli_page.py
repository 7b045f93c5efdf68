"""docs/cli.md: every example is read by the command line as it is written, every command has one."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.in_one import in_one
from wangtimer.cli.main import commands

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [line for block in BLOCKS for line in block.splitlines()]


def command_of(example: str) -> tuple[str, click.Command, list[str]]:
    """Return an example's command with its whole name, and its arguments."""
    program, *words = shlex.split(example)
    assert program == "wangtimer"
    command: click.Command = commands
    name = ""
    while isinstance(command, click.Group):
        name = f"{name} {words[0]}".strip()
        command = command.commands[words.pop(0)]
    return name, command, words


def names(group: click.Group, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from names(command, f"{before}{name} ")
        else:
            yield before + name


@in_one("example", EXAMPLES)
def test_it_can_be_typed(example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANGTIMER_APP", "shop")
    monkeypatch.chdir(tmp_path)
    _, command, arguments = command_of(example)
    assert command.make_context(command.name, arguments).params


def test_every_command_has_an_example() -> None:
    assert {command_of(example)[0] for example in EXAMPLES} == set(names(commands))


def test_no_example_replays_what_somebody_stopped() -> None:
    replays = [example for example in EXAMPLES if " replay " in example]
    assert replays
    assert not any("skipped" in example for example in replays)


def test_what_an_example_creates_fires() -> None:
    creates = [example for example in EXAMPLES if " timers create " in example]
    assert creates
    assert not any("--disabled" in example for example in creates)
