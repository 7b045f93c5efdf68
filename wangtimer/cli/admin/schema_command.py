"""`wangtimer schema upgrade`: bring an existing database to the tables this version expects."""

import sys

import click

from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_json
from wangtimer.settings import Settings, read_settings
from wangtimer.shown_url import shown_url
from wangtimer.store.sql.database import missing_file
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
