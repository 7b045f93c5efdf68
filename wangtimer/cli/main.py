"""The `wangtimer` command and its sub-commands; docs/cli.md has their exit codes."""

import gc
import io
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import cast

import click

from wangtimer.cli.terminal.once import EXIT_CODES, OnceGroup
from wangtimer.core.errors import WangTimerError

# Each command: the module under `wangtimer.cli` that has a function of its name, and its line in the list of commands.
# A command is imported when it is run. The list imports none of them: together they need a second.
COMMANDS = {
    "alerts": (
        "apps.alert_commands",
        "List, set, try and delete alert rules: of which trouble an app is told, by webhook, mail or chat robot.",
    ),
    "apply": (
        "as_code.apply_command",
        "Make an app's timers what files say: those that are missing are created, those that differ are changed.",
    ),
    "apps": (
        "apps.app_commands",
        "Make, list, limit and disable apps, set their way out and their retries; for operators.",
    ),
    "audit": ("apps.key_commands", "Show who changed what, latest first; for operators."),
    "backup": (
        "admin.database_commands",
        "Write the database into FILE (`-`: standard output) while everything runs; it must not exist yet.",
    ),
    "bench": (
        "bench",
        "Make one-shot timers, receive their callbacks, print their lateness, delete the timers.",
    ),
    "brokers": (
        "timers.target_commands",
        "Show the message brokers that the app may use, and what it may send there.",
    ),
    "client-certificate": (
        "apps.signing_commands",
        "Show, set and remove the certificate that an app's callbacks show to targets which ask for one (mTLS).",
    ),
    "cron": (
        "timers.cron_command",
        "Show the next moments of a cron EXPRESSION, the schedule in words, and warnings.",
    ),
    "dead-letters": (
        "firings.replay_commands",
        "Show, replay and discard firings that have failed for good.",
    ),
    "doctor": (
        "doctor.doctor",
        "Look at servers, processes, clocks, calendars and certificates, and say what is wrong and what to do.",
    ),
    "failing-hosts": (
        "apps.traffic_commands",
        "Show the hosts that fail each call of an app, of all apps or of one, the longest failing first.",
    ),
    "firings": (
        "firings.firing_commands",
        "Show and request firings; a FIRING is its webhook-id, TIMER-MOMENT: 7-1795207483000.",
    ),
    "hosts": ("apps.traffic_commands", "Limit the calls to target hosts, over all apps; for operators."),
    "import": (
        "importing.import_commands",
        "Show what another scheduler's entries become, and write them as a file of timers.",
    ),
    "keys": ("apps.key_commands", "Make, list and revoke API keys; for operators."),
    "lanes": (
        "admin.store_commands",
        "List the lanes: for what firings wait, and how many, the fullest first.",
    ),
    "load": (
        "firings.firing_commands",
        "Show the firings planned in each future minute, of all apps or of one.",
    ),
    "pause": (
        "apps.traffic_commands",
        "Pause all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators.",
    ),
    "pauses": ("apps.traffic_commands", "List what is paused; for operators."),
    "restore": ("admin.database_commands", "Load a backup into an empty database."),
    "resume": (
        "apps.traffic_commands",
        "Let go on what is paused: all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators.",
    ),
    "schema": ("admin.database_commands", "The tables of the database that the settings name."),
    "secrets": ("admin.secrets_commands", "The keys that secrets of timers are encrypted with."),
    "settings": ("admin.settings", "Show every setting: its variable, its value, its meaning."),
    "signing": (
        "apps.signing_commands",
        "Show, rotate and end the secrets that sign an app's callbacks; switch signing off and on.",
    ),
    "store": (
        "admin.store_commands",
        "The two Redis servers, as the settings name them; with the account `operator`.",
    ),
    "targets": (
        "timers.target_commands",
        "List, show, set and delete named targets: calls in one place, which timers go through.",
    ),
    "timers": (
        "timers.timer_commands",
        "Make, show, change and follow timers; a TIMER is its id or its key (key:NUMBER for a key that is a number).",
    ),
    "up": (
        "admin.up_command",
        "Run the whole service on this machine, with SQLite and an embedded Valkey, until Ctrl-C.",
    ),
}
# The functions that cannot have the name of their command.
_FUNCTIONS = {"import": "import_timers"}


class ImportedWhenRun(Mapping[str, click.Command]):
    """The commands by name; looking one up imports its module."""

    def __getitem__(self, name: str) -> click.Command:
        module, _ = COMMANDS[name]
        function = _FUNCTIONS.get(name, name.replace("-", "_"))
        # A tenth of the time went into looking for garbage, and imports leave none.
        gc.disable()
        try:
            command: click.Command = getattr(import_module(f"wangtimer.cli.{module}"), function)
        finally:
            gc.enable()
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandList(OnceGroup):
    """The group of all commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list from the lines above."""
        lines = [click.Command(name, help=line) for name, (_, line) in COMMANDS.items()]
        click.Group(commands=lines).format_commands(ctx, formatter)


@click.group(
    cls=CommandList,
    # click only looks up what is in it.
    commands=cast("MutableMapping[str, click.Command]", ImportedWhenRun()),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
@click.version_option(package_name="wangtimer")
def commands() -> None:
    """WangTimer: an alarm clock for other services."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A pipe or a terminal in another encoding: what it does not have is escaped.
            stream.reconfigure(errors="backslashreplace")
    try:
        commands()
    except WangTimerError as error:
        click.echo(f"wangtimer: {error}", err=True)
        sys.exit(1)
