"""An option that takes one value refuses a second one, in every command."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from tests.in_one import in_one
from wangtimer.cli.main import commands
from wangtimer.cli.terminal.once import takes_one_value


def _options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each such option with the command it belongs to, from the top of the command line down."""
    yield from ((path, one.opts[0]) for one in command.params if takes_one_value(one))
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _options(inner, (*path, name))


OPTIONS = list(_options(commands))


def test_there_are_options_to_look_at() -> None:
    assert (("timers", "create"), "--cron") in OPTIONS
    assert (("up",), "--port") in OPTIONS
    assert len({path for path, _ in OPTIONS}) > 20


@in_one(("path", "option"), OPTIONS)
def test_a_second_value_is_refused(path: tuple[str, ...], option: str) -> None:
    result = CliRunner().invoke(
        commands, [*path, option, "1", f"{option}=1" if option.startswith("--") else f"{option}1"]
    )
    assert result.exit_code == (
        1 if path == ("apply",) else 2
    )  # there 2 says that a dry run found differences
    assert f"{option} takes one value, but is given 2 times; give it once" in result.stderr


def _all_commands(command: click.Command, path: str = "wangtimer") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _all_commands(inner, f"{path} {name}")


def test_no_command_has_two_options_of_one_name() -> None:
    """The one before would be swallowed: those of every command, such as --url of the service, stand behind."""
    for path, command in _all_commands(commands):
        names = [one.name for one in command.params]
        options = [option for one in command.params for option in one.opts]
        assert len(set(names)) == len(names), path
        assert len(set(options)) == len(options), path


def test_an_unknown_command_gets_the_one_that_was_meant() -> None:
    for written, meant in (("get", "show"), ("rm", "delete"), ("crate", "create")):
        told = CliRunner().invoke(commands, ["timers", written, "x"])
        assert told.exit_code == 2
        assert f"{written!r} is no command here; did you mean {meant}? there are " in told.output


def test_a_command_of_another_group_is_named_with_its_group() -> None:
    for words, meant in ((("timers", "fire"), "firings fire"), (("fire",), "firings fire")):
        told = CliRunner().invoke(commands, [*words, "x"])
        assert (told.exit_code, f"did you mean {meant}? there are " in told.output) == (2, True), told.output
    # Several groups have it.
    assert "did you mean" not in CliRunner().invoke(commands, ["list"]).output


def test_a_body_behind_json_is_told_to_be_given_by_body() -> None:
    words = ("timers", "create", "k", "--in", "5m", "--target", "http://x", "--json")
    for written in ('{"a":1}', "@body.json"):
        told = CliRunner().invoke(commands, [*words, written])
        assert (told.exit_code, f"write --body {written!r}" in told.output) == (2, True), told.output


def test_a_delay_is_given_by_the_name_of_its_field_too() -> None:
    told = CliRunner().invoke(commands, ["timers", "create", "--help"])
    assert "--in, --delay" in told.output


@pytest.mark.parametrize(
    "words",
    [
        ("timers", "create", "x", "--cron", "0", "9", "before.txt", "bench.sh"),
        ("timers", "put", "x", "--cron", "before.txt", "bench.sh", "--target", "http://x"),
        ("cron", "*/5", "*", "*", "*", "*"),
    ],
)
def test_a_cron_expression_without_quotes_is_told_to_have_them(words: tuple[str, ...]) -> None:
    told = CliRunner().invoke(commands, words)
    assert (told.exit_code, "put it in quotes, as in " in told.output) == (2, True)


@pytest.mark.parametrize("words", [("cron", "0 9 * * *", "x"), ("cron", "@daily", "x")])
def test_other_words_too_many_are_told_as_ever(words: tuple[str, ...]) -> None:
    assert "unexpected extra argument" in CliRunner().invoke(commands, words).output
