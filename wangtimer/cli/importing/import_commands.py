"""`wangtimer import ...`: makes a file of timers for `wangtimer apply` from another scheduler's entries."""

import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import click

from wangtimer.cli.importing.entries import Found, NotTaken, Refusal, TargetMapping, zone_of
from wangtimer.cli.importing.tables import BadSource, shown_source
from wangtimer.cli.terminal.asking import Failed, end_of_many
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.parameter_types import FILE, SPAN, BadText, decoded
from wangtimer.cli.timers.timer_options import options, timer_fields
from wangtimer.client.timer_fields import Overlap

EXIT_CODES = (
    "Exit codes: 0 all entries became timers; 1 none did, or the source cannot be read; 2 wrong use; "
    "3 some were refused."
)


class ZoneName(click.ParamType[ZoneInfo]):
    """An IANA zone."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ZoneInfo:
        """Return the zone; wrong use otherwise."""
        if isinstance(value, ZoneInfo):
            return value
        try:
            return zone_of(value)
        except NotTaken as error:
            self.fail(str(error), param, ctx)


ZONE = ZoneName()
# The fields of a timer that an import may be given.
_TERMS = ("target_timeout", "target_acktimeout", "retry_attempts", "overlap")


@click.group("import", cls=OnceGroup, epilog=EXIT_CODES)
def import_timers() -> None:
    """Show what another scheduler's entries become, and write them as a file of timers.

    It needs no server. It compares the next 100 moments of each entry: the timer's by WangTimer's rules, the
    scheduler's by a separate reading. An entry whose moments differ is refused.
    """


_TARGET_URL = click.option(
    "--target-url",
    metavar="URL",
    help="The URL to call; {name} in it stands for what the source calls, {key} for the timer's key.",
)
_OPTIONS = (
    click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="NAME=URL",
        help="Another URL for this name; may be repeated.",
    ),
    click.option("--method", help="POST by default."),
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Again for more."),
    click.option("--timeout", "target_timeout", type=SPAN, help="So long a call may take; 10m by default."),
    click.option(
        "--ack-timeout",
        "target_acktimeout",
        type=SPAN,
        help="So long a target that answers 202 may take until it says that it is done.",
    ),
    click.option(
        "--attempts",
        "retry_attempts",
        type=click.IntRange(1),
        help="How often a call is made at most; 1 by default.",
    ),
    click.option(
        "--overlap",
        type=click.Choice(get_args(Overlap)),
        help="What becomes of a firing while another one is not done; by default what the source says, else skip.",
    ),
    click.option("--tag", "tags", multiple=True, help="A tag of each timer; may be repeated."),
    click.option(
        "--out",
        type=FILE,
        help="The file to write. By default it is standard output, and the report goes to standard error.",
    ),
    click.option("--force", is_flag=True, help="Overwrite the file of --out."),
    click.option(
        "--accept-clock-changes",
        is_flag=True,
        help="Take entries whose moments differ only on days on which the clocks change.",
    ),
)


def _importing(
    source_name: str, *further: Any
) -> Callable[[Callable[..., list[Found]]], Callable[..., None]]:
    """Return a decorator that adds options, the source's `further` ones too, and makes timers of what is read."""

    def decorate(command: Callable[..., list[Found]]) -> Callable[..., None]:
        @click.argument("source")
        @options(_TARGET_URL, *further, *_OPTIONS)
        @wraps(command)
        def run(
            source: str,
            tags: tuple[str, ...],
            out: Path | None,
            force: bool,
            accept_clock_changes: bool,
            **arguments: Any,
        ) -> None:
            if out is not None and out.is_file() and not force:
                raise click.UsageError(
                    f"--out: {out} exists; name another file, or overwrite it with --force"
                )
            terms = timer_fields({name: arguments.pop(name) for name in _TERMS})
            mapping = _mapping(arguments)
            now = int(time.time() * 1_000)
            try:
                found = command(source, now=now, **arguments)
            except BadSource as error:
                raise Failed(str(error)) from None
            except NotTaken as error:
                raise Failed(f"{shown_source(source)}: {error}") from None
            if not found:
                raise Failed(f"{shown_source(source)} has no entry; nothing is written")
            # Imported here: the API's rules take a second to import, and no other command needs them.
            from wangtimer.cli.importing.imported import Importing

            importing = Importing(source_name, mapping, now, accept_clock_changes, tags, terms)
            _finish(shown_source(source), list(importing.each(found)), now, out)

        return run

    return decorate


@import_timers.command(cls=OnceCommand, epilog=EXIT_CODES)
@_importing("crontab")
@click.option("--timezone", type=ZONE, help="The zone of cron's machine; needed unless CRON_TZ names it.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["user", "system"]),
    help="system: each line has a user before its command. It is the default for /etc/crontab and /etc/cron.d. "
    "Needed where another file looks like one.",
)
@click.option("--tz-of-job", is_flag=True, help="A variable TZ is for the job, not for the schedule.")
def crontab(
    source: str,
    now: int,  # noqa: ARG001 - all sources get it
    timezone: ZoneInfo | None,
    file_format: str | None,
    tz_of_job: bool,
) -> list[Found]:
    """Import a crontab; SOURCE is a file, or - for standard input."""
    from wangtimer.cli.importing.crontab_file import is_system_crontab, may_be_of_a_system, read_crontab_file

    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        text = decoded(raw)
    except (OSError, BadText) as error:
        raise BadSource(f"{source}: {error}") from None
    is_system = file_format == "system" if file_format else is_system_crontab(source)
    if file_format is None and not is_system and may_be_of_a_system(text):
        raise BadSource(
            f"{source}: is this a system's crontab, with a user in each line? "
            "write --format system, or --format user"
        )
    return read_crontab_file(text, source, is_system, timezone, tz_of_job)


@import_timers.command("xxl-job", cls=OnceCommand, epilog=EXIT_CODES)
@_importing("xxl-job")
@click.option("--timezone", type=ZONE, required=True, help="The zone of XXL-JOB's admin server.")
def xxl_job(source: str, now: int, timezone: ZoneInfo) -> list[Found]:
    """Import the jobs of XXL-JOB.

    SOURCE is the SQLAlchemy URL of its database, a dump of its table xxl_job_info, or a CSV file of it.
    """
    from wangtimer.cli.importing.xxl_job_table import read_xxl_job

    return read_xxl_job(source, timezone, now)


@import_timers.command(cls=OnceCommand, epilog=EXIT_CODES)
@_importing("quartz")
@click.option("--table-prefix", default="QRTZ_", show_default=True, help="Of its tables.")
def quartz(source: str, now: int, table_prefix: str) -> list[Found]:  # noqa: ARG001 - all sources get it
    """Import the triggers of Quartz.

    SOURCE is the SQLAlchemy URL of its job store, a dump of its tables, or a folder with a CSV file of each.
    """
    from wangtimer.cli.importing.quartz_tables import read_quartz_tables

    return read_quartz_tables(source, table_prefix)


@import_timers.command("celery-beat", cls=OnceCommand, epilog=EXIT_CODES)
@_importing(
    "celery-beat",
    click.option(
        "--through",
        metavar="TARGET",
        help="In place of --target-url: a target whose Celery workers run the tasks (wangtimer targets set --celery).",
    ),
)
@click.option(
    "--timezone",
    type=ZONE,
    help="Replaces the app's own zone. Of tables: the zone of moments without an offset, which is UTC if Django has "
    "USE_TZ = True, else its TIME_ZONE. Each crontab there has its own.",
)
def celery_beat(source: str, now: int, timezone: ZoneInfo | None) -> list[Found]:
    """Import the entries of Celery beat.

    SOURCE is a Python module (package.module, package.module:app, a file), which is run; or django-celery-beat's
    tables: an SQLAlchemy URL, a dump, or a folder with a CSV file of each.
    """
    is_file = source.endswith((".sql", ".csv")) or (Path(source).is_file() and not source.endswith(".py"))
    if "://" in source or is_file or Path(source).is_dir():
        from wangtimer.cli.importing.django_beat_tables import read_django_beat

        return read_django_beat(source, timezone, now)
    from wangtimer.cli.importing.celery_beat import read_celery_module

    return read_celery_module(source, None if timezone is None else timezone.key, now)


def _finish(source: str, outcomes: list[Any], now: int, out: Path | None) -> None:
    from wangtimer.cli.importing.imported import show_report, timers_file

    text = timers_file(source, outcomes, now)
    if out is None:
        # A file of timers is UTF-8, whatever the terminal is.
        click.echo(text.encode(), nl=False)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Failed(f"{out}: {error}") from None
    show_report(outcomes, to_stderr=out is None)
    refused = sum(isinstance(outcome, Refusal) for outcome in outcomes)
    end_of_many(len(outcomes) - refused, refused)


def _mapping(arguments: dict[str, Any]) -> TargetMapping:
    url, targets, method, headers = (
        arguments.pop(name) for name in ("target_url", "targets", "method", "headers")
    )
    through = arguments.pop("through", None)
    if through is not None and (url is not None or targets or method or headers):
        raise click.UsageError("--through: a target of Celery has no URL, method or headers of a timer's own")
    if through is None and url is None:
        raise click.UsageError("say what to call: --target-url, as in https://shop.example/jobs/{name}")
    try:
        return TargetMapping(
            url or "",
            dict(_pair(pair, "=", "--target", "NAME=URL") for pair in targets),
            method,
            dict(_pair(pair, ":", "--header", "NAME:VALUE") for pair in headers),
            through,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _pair(text: str, sign: str, option: str, wanted: str) -> tuple[str, str]:
    name, there, value = text.partition(sign)
    if not there or not name.strip():
        raise click.UsageError(f"{option}: {text!r} is not {wanted}")
    return name.strip(), value.strip()
