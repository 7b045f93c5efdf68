"""The `wangtimer` command and its sub-commands; docs/cli.md has their exit codes."""

import io
import sys
from pathlib import Path

import click

from wangtimer.cli.admin.certificate_commands import client_certificate
from wangtimer.cli.admin.schema_command import schema
from wangtimer.cli.admin.secrets_commands import secrets
from wangtimer.cli.admin.settings import settings
from wangtimer.cli.admin.signing_commands import signing
from wangtimer.cli.apps.alert_commands import alerts
from wangtimer.cli.apps.app_commands import apps
from wangtimer.cli.apps.audit_command import audit
from wangtimer.cli.apps.host_commands import hosts
from wangtimer.cli.apps.key_commands import keys
from wangtimer.cli.apps.pause_commands import pause, pauses, resume
from wangtimer.cli.as_code.apply_command import apply
from wangtimer.cli.bench.bench import bench
from wangtimer.cli.doctor.doctor import doctor
from wangtimer.cli.firings.dead_letter_commands import dead_letters
from wangtimer.cli.firings.failing_hosts_command import failing_hosts
from wangtimer.cli.firings.firing_commands import firings
from wangtimer.cli.firings.load_command import load
from wangtimer.cli.importing.import_commands import import_timers
from wangtimer.cli.terminal.asking import EXIT_CODES
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.timers.brokers_command import brokers
from wangtimer.cli.timers.cron_command import cron
from wangtimer.cli.timers.target_commands import targets
from wangtimer.cli.timers.timer_commands import timers
from wangtimer.core.errors import WangTimerError
from wangtimer.stack.embedded import DEFAULT_DATA_DIRECTORY, DEFAULT_PORT, run_embedded
from wangtimer.stack.own_keys import DEFAULT_APP


@click.group(cls=OnceGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="wangtimer")
def commands() -> None:
    """WangTimer: an alarm clock for other services."""


@commands.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DATA_DIRECTORY,
    show_default=True,
    help="Where timers, firings and logs are kept.",
)
@click.option("--port", type=click.IntRange(1, 65_535), default=DEFAULT_PORT, show_default=True)
@click.option(
    "--app",
    envvar="WANGTIMER_APP",
    show_envvar=True,
    default=DEFAULT_APP,
    show_default=True,
    help="An app to make, with a key in the file `key` of the data directory.",
)
def up(data_dir: Path, port: int, app: str) -> None:
    """Run the whole service on this machine, with SQLite and an embedded Valkey, until Ctrl-C."""
    sys.exit(run_embedded(data_dir, port, sys.argv[0], app))


commands.add_command(settings)
commands.add_command(bench)
commands.add_command(cron)
commands.add_command(timers)
commands.add_command(targets)
commands.add_command(brokers)
commands.add_command(firings)
commands.add_command(dead_letters)
commands.add_command(load)
commands.add_command(failing_hosts)
commands.add_command(alerts)
commands.add_command(apps)
commands.add_command(keys)
commands.add_command(signing)
commands.add_command(client_certificate)
commands.add_command(audit)
commands.add_command(hosts)
commands.add_command(pause)
commands.add_command(resume)
commands.add_command(pauses)
commands.add_command(apply)
commands.add_command(import_timers)
commands.add_command(schema)
commands.add_command(secrets)
commands.add_command(doctor)


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
