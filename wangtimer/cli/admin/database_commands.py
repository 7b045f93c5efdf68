"""`wangtimer schema upgrade`, `backup` and `restore`: the database that the settings name."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from shutil import rmtree

import click

from wangtimer.base.settings import Settings, read_settings
from wangtimer.base.shown_url import shown_url
from wangtimer.cli.terminal.asking import Failed
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import show_json, show_line
from wangtimer.cli.terminal.parameter_types import DIRECTORY, FILE
from wangtimer.stack.data_directory import DataDirectory, held_directory, known_directory
from wangtimer.store.sql.database import missing_file, with_driver
from wangtimer.store.sql.dump import dump, load
from wangtimer.store.sql.upgrade import Lack, add_missing, lacks, patient_connection


@click.group(cls=OnceGroup)
def schema() -> None:
    """The tables of the database that the settings name."""


@schema.command()
@click.option("--apply", "is_applied", is_flag=True, help="Run the statements instead of printing them.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def upgrade(is_applied: bool, as_json: bool) -> None:
    """Print the statements that add the tables, columns and indexes the database lacks, or run them.

    Nothing is dropped, and nothing existing is changed, except that an index may get more columns at its end. After a
    failure, run it again: it continues. The first line of stderr names the database. Exits with 1 where a person must
    look, because something differs from what is expected.
    """
    settings = read_settings()
    click.echo(f"looking at {_shown(settings)}", err=True)
    url = settings.database_url
    # Looking creates no file: a missing file lacks the same as an empty one.
    if not is_applied and missing_file(url) is not None:
        url = "sqlite://"
    with patient_connection(url) as sql:
        found = lacks(sql)
        for lack in add_missing(sql) if is_applied else ():
            click.echo(f"added {lack.what}", err=True)
    _show(found, is_applied, as_json)
    if any(lack.statement is None for lack in found):
        sys.exit(1)


def _shown(settings: Settings) -> str:
    file = settings.unset_database
    if file is None:
        return shown_url(settings.database_url)
    return f"SQLite at {file}: WANGTIMER_DATABASE_URL is not set"


def _show(found: list[Lack], is_applied: bool, as_json: bool) -> None:
    if as_json:
        show_json([{"what": lack.what, "statement": lack.statement} for lack in found])
        return
    for lack in found:
        if lack.statement is None:
            click.echo(f"-- by hand: the database lacks {lack.what}")
        elif not is_applied:
            click.echo(f"{lack.statement};\n")
    if not found:
        click.echo("-- the database has all it needs")


DATA_DIR = click.option("--data-dir", type=DIRECTORY, help="Of the service that `wangtimer up` runs there.")
STDOUT = "-"
# What the database of a data directory is called once another one was restored.
SET_ASIDE = "wangtimer-before.db"


@click.command(cls=OnceCommand)
@click.argument("file", type=click.Path(dir_okay=False))
@DATA_DIR
def backup(file: str, data_dir: Path | None) -> None:
    """Write the database into FILE (`-`: standard output) while everything runs; it must not exist yet.

    FILE has what SQL has: sealed secrets, and no keys to open them. Only its owner may read it.
    """
    url = known_directory(data_dir).database_url if data_dir else read_settings().database_url
    if file == STDOUT:
        dump(url, sys.stdout.buffer)
        return
    _write_whole(url, Path(file))
    show_line(f"{Path(file).stat().st_size} bytes of {shown_url(url)} in {file}")


@click.command(cls=OnceCommand)
@click.argument("file", type=FILE)
@click.option(
    "--into",
    metavar="DATABASE",
    help="Another database of that server (SQLite: another file) than WANGTIMER_DATABASE_URL names; made if missing.",
)
@DATA_DIR
def restore(file: Path, into: str | None, data_dir: Path | None) -> None:
    """Load a backup into an empty database. It is refused while processes run.

    With --data-dir what was there is set aside. Otherwise the old database stays, and `wangtimer store clear` empties
    Redis before the processes start again.
    """
    if data_dir is not None and into is not None:
        raise click.UsageError("--into and --data-dir: name one of them")
    if data_dir is not None:
        with held_directory(data_dir) as held:
            was_there = _restore_directory(held.directory, file)
        show_line(f"restored; what was there is {data_dir / SET_ASIDE}" if was_there else "restored")
        return
    settings = read_settings()
    # Imported here: the schema needs no Celery, and the import of the app reads the settings.
    from wangtimer.celery import app
    from wangtimer.cli.admin.store_commands import require_stopped

    require_stopped(settings, app)
    url = with_driver(settings.database_url)
    if into is not None:
        url = url.set(database=into)
    load(url.render_as_string(hide_password=False), file)
    show_line(f"{url.database} has what {file} has; next: wangtimer store clear")


def _write_whole(url: str, file: Path) -> None:
    """Write a dump under its name once all of it is on the disk."""
    if file.exists():
        raise Failed(f"{file} is there already; name another file, or remove it")
    part = file.with_name(f"{file.name}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as out:
                dump(url, out)
                out.flush()
                os.fsync(out.fileno())
            part.rename(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{file}: {error.strerror}") from error


def _restore_directory(directory: DataDirectory, file: Path) -> bool:
    """Load a dump in the database's place; tell whether one was there, which is set aside."""
    present, coming = directory.path / "wangtimer.db", directory.path / "wangtimer-coming.db"
    set_aside = directory.path / SET_ASIDE
    if set_aside.exists():
        raise Failed(f"{set_aside} is what an earlier restore set aside; move it away, or remove it")
    coming.unlink(missing_ok=True)
    load(f"sqlite:///{coming}", file)
    coming.chmod(0o600)
    if was_there := present.exists():
        with closing(sqlite3.connect(present)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        present.rename(set_aside)
        for left in ("-wal", "-shm"):
            present.with_name(f"{present.name}{left}").unlink(missing_ok=True)
    rmtree(directory.valkey, ignore_errors=True)
    coming.rename(present)
    return was_there
