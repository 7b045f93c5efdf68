"""What all commands that call the service share: its URL, the app, the exit codes, work in rounds."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from wangtimer.cli.terminal.once import EXIT_CODES as EXIT_CODES
from wangtimer.cli.terminal.output import Columns, Row, printable, progress, show_json, show_rows
from wangtimer.client import BadAnswer, Client, ClientError, Refused, Unreachable
from wangtimer.client.api_key import APP_KEY_FILE, OPERATOR_KEY_FILE, found_key
from wangtimer.client.transport import Round
from wangtimer.client.values import read_span

DEFAULT_URL = "http://127.0.0.1:5000"
REFUSED, PARTLY = 1, 3
HINT = "; is the service running (wangtimer up)? --url names another"
KEY_WAS_SENT = "; --url is the service's address; the key was sent there: revoke it if that was not meant"
# What a command calls by is mixed up with --url: the API calls it `url`.
CALLED_BY = {"url_to_call": "--target", "post_to": "--post-to"}
MISSING_FIELD, SCOPE_MISSING = 40005, 40301
APP_HINT = "; in a command write --app shop, or set WANGTIMER_APP"
OF_KEY = "That of the API key by default."

Data = TypeVar("Data")
_ID = re.compile(r"\d{1,19}", re.ASCII)
_KEY = "key:"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run of a command: a client of the service, and whether JSON is wanted."""

    client: Client
    as_json: bool
    url: str

    def another_client(self) -> Client:
        """Return a client of the same service and app, for another thread."""
        return Client(self.url, self.client.app)

    def of_all_apps(self, ask: Callable[[], Data], even_if_one_is_named: bool) -> Data | None:
        """Return what is asked of all apps; None where an app is named, or the key is of one, and so may not."""
        if even_if_one_is_named:
            return ask()
        if self.client.app is not None:
            return None
        try:
            return ask()
        except Refused as error:
            if error.code == SCOPE_MISSING:
                return None
            raise

    def show(self, data: Data, show: Callable[[Data], None]) -> None:
        """Print data as JSON, or for people."""
        if self.as_json:
            show_json(data)
        else:
            show(data)

    def show_rows(self, rows: Iterable[Row], columns: Columns[Row], *, tells_app: bool = False) -> None:
        """Print rows as JSON, or as a table; `tells_app`: it begins with the app, where rows may be of any."""
        is_of_any = tells_app and self.client.app is None
        show_rows(list(rows), {"app": "app", **columns} if is_of_any else columns, self.as_json)


class Failed(click.ClickException):
    """The service did not do it; one line says why."""

    exit_code = REFUSED

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"wangtimer: {printable(self.format_message())}", err=True, file=file)


class InDoubt(Failed):
    """An answer was lost: the service may have done it."""

    exit_code = PARTLY


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--url`, `--app` and `--json`, and a `CommandRun` as its first argument."""
    return _asking(command, OF_KEY)


def asking_of_any_app(command: Callable[..., None]) -> Callable[..., None]:
    """The same, where no app means all of them."""
    return _asking(command, "All of them by default.")


URL = click.option(
    "--url",
    envvar="WANGTIMER_URL",
    show_envvar=True,
    default=DEFAULT_URL,
    show_default=True,
    help="The service's API.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")


def _asking(command: Callable[..., None], without_app: str) -> Callable[..., None]:
    @URL
    @click.option(
        "--app",
        envvar="WANGTIMER_APP",
        show_envvar=True,
        help=f"The business service. {without_app}",
    )
    @JSON
    @wraps(command)
    def ask(url: str, app: str | None, as_json: bool, **arguments: Any) -> None:
        _refuse_url_of_a_call(url, arguments)
        _call_service(command, APP_KEY_FILE, app, url, as_json, arguments)

    return ask


def operating(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--url` and `--json`, and a `CommandRun` with an operator's key as its first argument."""

    @URL
    @JSON
    @wraps(command)
    def operate(url: str, as_json: bool, **arguments: Any) -> None:
        _call_service(command, OPERATOR_KEY_FILE, None, url, as_json, arguments)

    return operate


def _refuse_url_of_a_call(url: str, arguments: Mapping[str, Any]) -> None:
    """Refuse an `--url` with a path where a command could name what is called, and does not: no secret goes there."""
    option = next(
        (CALLED_BY[name] for name in CALLED_BY if name in arguments and arguments[name] is None), None
    )
    is_written = click.get_current_context().get_parameter_source("url") is ParameterSource.COMMANDLINE
    if option and is_written and url.partition("://")[2].partition("/")[2].strip("/"):
        raise click.UsageError(
            f"the service is --url, what is called is {option}; name a service under a path in WANGTIMER_URL"
        )


def _call_service(
    command: Callable[..., None],
    key_file: Path,
    app: str | None,
    url: str,
    as_json: bool,
    arguments: Mapping[str, Any],
) -> None:
    """Run a command with a client; what the service refuses, and a word that is no text, is one line and a code."""
    try:
        key = found_key(url, key_file) or ""
        client = Client(url, app, key=key)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with client:
        try:
            command(CommandRun(client, as_json, url), **arguments)
        except ClientError as error:
            sent = KEY_WAS_SENT if key and isinstance(error, BadAnswer) else ""
            if error.was_in_doubt:
                raise InDoubt(f"{error}{sent}") from error
            raise Failed(f"{error}{sent}{_hint(error)}") from error
        except UnicodeEncodeError as error:
            raise click.UsageError(_no_text(error)) from None


def _hint(error: ClientError) -> str:
    """Return what to do in a command line, where the service or the client speaks of HTTP."""
    if isinstance(error, Unreachable):
        return HINT
    if not isinstance(error, Refused):
        return ""
    return APP_HINT if (error.code, error.parameter) == (MISSING_FIELD, "WangTimer-App") else ""


def _no_text(error: UnicodeEncodeError) -> str:
    """Return the error for a word with a byte that is not UTF-8."""
    word = re.split(r'["\s]', error.object[: error.end])[-1]
    return f"{word!r} is not text in UTF-8"


def which_timer(timer: str) -> str:
    """Return the client's name of a timer that is written as its id, its key, or `key:` and its key."""
    if timer.startswith(_KEY) or _ID.fullmatch(timer):
        return timer
    if timer.isascii() and timer.isdecimal():
        raise click.UsageError(
            f"{timer[:19]}... is not an id; write a key that is a number as {_KEY}{timer[:19]}..."
        )
    return f"{_KEY}{timer}"


def show_trouble(text: str) -> None:
    """Print one line about what went wrong."""
    click.echo(f"wangtimer: {printable(text)}", err=True)


def end_of_many(done: int, undone: int) -> None:
    """Exit with 0 where all was done, 3 where a part was, 1 where nothing was."""
    if undone:
        click.get_current_context().exit(PARTLY if done else REFUSED)


Whole = TypeVar("Whole", bound=Round)

# Fields that each round counts for itself; other fields are taken from the last round.
_ADDED = frozenset({"done", "failed", "stopped", "replayed", "discarded", "notReplayed", "planned"})


def carry_out_rounds(name: str, counted: Whole, rounds: Iterable[Whole]) -> Whole:
    """Return the sum of all rounds; `counted`: of a dry run. Raises `ClientError` where nothing is known to be done."""
    whole = cast(Whole, {**counted, "wasInDoubt": False})
    with progress() as bar:
        task = bar.add_task(name, total=counted["matched"])
        try:
            for done in rounds:
                whole = joined(whole, done)
                bar.update(task, completed=counted["matched"] - whole["remaining"])
        except ClientError as error:
            if not (whole["wasInDoubt"] or any(whole.get(key) for key in _ADDED)):
                raise
            show_trouble(f"it broke off: {error}")
    return whole


def joined(whole: Whole, then: Whole) -> Whole:
    """Return the sum of two rounds, one after the other."""
    was, now = cast(dict[str, Any], whole), cast(dict[str, Any], then)
    sums = {key: was[key] + now[key] if key in was else now[key] for key in _ADDED & now.keys()}
    kept = {"matched": was["matched"], "wasInDoubt": was["wasInDoubt"] or now["wasInDoubt"]}
    # A later round no longer finds the timers that this one deleted.
    kept |= {"unknownKeys": was["unknownKeys"]} if "unknownKeys" in was else {}
    soon = [counts["countsWithin"] for counts in (was, now) if "countsWithin" in counts]
    kept |= {"countsWithin": max(soon, key=read_span)} if soon else {}
    dues = {
        key: nearer or further
        for key, nearer, further in (
            ("firstDueAt", was.get("firstDueAt"), now.get("firstDueAt")),
            ("lastDueAt", now.get("lastDueAt"), was.get("lastDueAt")),
        )
        if key in now
    }
    return cast(Whole, now | sums | kept | dues)


def end_of_rounds(whole: Round, done: int, undone: int) -> None:
    """Exit as `end_of_many` does, but with 3 where an answer was lost: more may be done than is counted."""
    if whole["wasInDoubt"]:
        show_trouble("an answer was lost: at least this much was done")
        click.get_current_context().exit(PARTLY)
    end_of_many(done, undone)
