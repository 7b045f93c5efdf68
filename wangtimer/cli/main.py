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
from wangtimer.core.features import added

# The commands by the module under `wangtimer.cli` that has a function of their name, each with its line in the list.
# A command is imported when it is run. The list imports none of them: together they need a second.
_MODULES = {
    "admin.database_commands": {
        "backup": "Write the database into FILE (`-`: standard output) while everything runs; it must not exist yet.",
        "restore": "Load a backup into an empty database.",
        "schema": "The tables of the database that the settings name.",
    },
    "admin.secrets_commands": {"secrets": "The keys that secrets of timers are encrypted with."},
    "admin.settings": {"settings": "Show every setting: its variable, its value, its meaning."},
    "admin.store_commands": {
        "lanes": "List the lanes: for what firings wait, and how many, the fullest first.",
        "store": "The two Redis servers, as the settings name them; with the account `operator`.",
    },
    "admin.up_command": {
        "up": "Run the whole service on this machine, with SQLite and an embedded Valkey, until Ctrl-C."
    },
    "apps.alert_commands": {
        "alerts": "List, set, try and delete alert rules: of which trouble an app is "
        "told, by webhook, mail or chat robot."
    },
    "apps.app_commands": {
        "apps": "Make, list, limit and disable apps, set their way out and their retries; for operators."
    },
    "apps.key_commands": {
        "audit": "Show who changed what, latest first; for operators.",
        "keys": "Make, list and revoke API keys; for operators.",
    },
    "apps.signing_commands": {
        "client-certificate": "Show, set and remove the certificate that an app's callbacks show "
        "to targets which ask for one (mTLS).",
        "signing": "Show, rotate and end the secrets that sign an app's callbacks; switch signing off and on.",
    },
    "apps.traffic_commands": {
        "failing-hosts": (
            "Show the hosts that fail each call of an app, of all apps or of one, the longest failing first."
        ),
        "hosts": "Limit the calls to target hosts, over all apps; for operators.",
        "pause": "Pause all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators.",
        "pauses": "List what is paused; for operators.",
        "resume": "Let go on what is paused: all, an app NAME, a target's host "
        "NAME:PORT, or a timer ID; for operators.",
    },
    "as_code.apply_command": {
        "apply": "Make an app's timers what files say: those that are missing are "
        "created, those that differ are changed."
    },
    "bench": {
        "bench": "Make one-shot timers, receive their callbacks, print their lateness, delete the timers."
    },
    "doctor.doctor": {
        "doctor": "Look at servers, processes, clocks, calendars and certificates, "
        "and say what is wrong and what to do."
    },
    "firings.firing_commands": {
        "firings": "Show and request firings; a FIRING is its webhook-id, TIMER-MOMENT: 7-1795207483000.",
        "load": "Show the firings planned in each future minute, of all apps or of one.",
    },
    "firings.replay_commands": {
        "dead-letters": "Show, replay and discard firings that have failed for good."
    },
    "importing.import_commands": {
        "import": "Show what another scheduler's entries become, and write them as a file of timers."
    },
    "timers.cron_command": {
        "cron": "Show the next moments of a cron EXPRESSION, the schedule in words, and warnings."
    },
    "timers.target_commands": {
        "brokers": "Show the message brokers that the app may use, and what it may send there.",
        "targets": "List, show, set and delete named targets: calls in one place, which timers go through.",
    },
    "timers.timer_commands": {
        "timers": "Make, show, change and follow timers; a TIMER is its id or its key "
        "(key:NUMBER for a key that is a number)."
    },
}
COMMANDS = {
    name: (f"wangtimer.cli.{module}", line)
    for module, lines in _MODULES.items()
    for name, line in sorted(lines.items())
}
for _of_feature in added("commands", "COMMANDS"):
    COMMANDS |= _of_feature
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
            command: click.Command = getattr(import_module(module), function)
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
