"""`wangtimer up`: the whole service on this machine."""

import sys
from pathlib import Path

import click

from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.stack.embedded import (
    DEFAULT_DATA_DIRECTORY,
    DEFAULT_PORT,
    STREAM_BEHIND,
    run_embedded,
)
from wangtimer.stack.own_keys import DEFAULT_APP


@click.command(cls=OnceCommand)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DATA_DIRECTORY,
    show_default=True,
    help="Where timers, firings and logs are kept.",
)
@click.option(
    "--port", type=click.IntRange(1, 65_535 - STREAM_BEHIND), default=DEFAULT_PORT, show_default=True
)
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
