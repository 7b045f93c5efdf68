"""What a command does not need is not imported: a list of commands is there at once."""

import subprocess
import sys

import pytest

from wangtimer.cli.main import COMMANDS, commands

RUN = """
import sys
from wangtimer.cli import main
sys.argv = ["wangtimer", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
# Each takes a tenth of a second or more.
OF_THE_SERVICE = {"celery", "kombu", "sqlalchemy", "redis", "pydantic", "flask", "starlette", "cryptography"}
OF_THE_CLIENT = {"requests", "rich"}


def imported(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=False)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_the_list_of_commands_needs_no_package_but_click(words: list[str]) -> None:
    assert imported(*words) & (OF_THE_SERVICE | OF_THE_CLIENT) == set()


@pytest.mark.parametrize(
    "words",
    [
        ["timers", "list"],
        ["firings", "list", "7"],
        ["apply", "--help"],
        ["dead-letters", "list"],
        ["targets", "list"],
        ["keys", "list"],
    ],
    ids=" ".join,
)
def test_a_command_that_asks_the_service_needs_nothing_of_it(words: list[str]) -> None:
    assert imported(*words) & OF_THE_SERVICE == set()


def test_the_list_has_each_command_s_own_line() -> None:
    lines = {name: command.get_short_help_str(limit=1_000) for name, command in commands.commands.items()}
    assert lines == {name: line for name, (_, line) in COMMANDS.items()}
    assert [command.name for command in commands.commands.values()] == list(COMMANDS)
