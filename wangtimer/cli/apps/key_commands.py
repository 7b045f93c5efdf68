"""`wangtimer keys ...`: make, list and revoke API keys."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, Failed, operating
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.client.app_types import ApiKey, MadeApiKey
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import KEY_NAME_CHARACTERS, new_key
from wangtimer.core.near_misses import near_miss
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.time.zones import DAY_MS
from wangtimer.settings import read_settings
from wangtimer.store.sql.api_keys import ApiKeyStore
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.database import Database

# Whose changes these are, in the audit.
CALLER = Caller(None, "wangtimer keys create --database", None, ALL_SCOPES, "")


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def keys() -> None:
    """Make, list and revoke API keys; for operators."""


def _whose(command: Callable[..., None]) -> Callable[..., None]:
    operator = click.option("--operator", "is_operators", is_flag=True, help="Of operators.")
    return click.option("--app", help="Of this app.")(operator(command))


@keys.command()
@click.argument("name")
@_whose
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What it may do, may be repeated; all that its kind may by default.",
)
@click.option("--expires-in", type=click.IntRange(1), metavar="DAYS", help="It ends by itself after so long.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it into this new file, as the line of an HTTP header for `curl -H @FILE`, readable by you alone.",
)
@click.option(
    "--database",
    "is_direct",
    is_flag=True,
    help="Write it straight into the database of WANGTIMER_DATABASE_URL: for the first key.",
)
@operating
def create(
    asked: Asked,
    name: str,
    app: str | None,
    is_operators: bool,
    scopes: tuple[str, ...],
    expires_in: int | None,
    out: Path | None,
    is_direct: bool,
) -> None:
    """Make a key with a NAME that says who or what it is for. It is shown this once."""
    _refuse_unclear(app, is_operators)
    if out is not None and out.exists():
        raise click.UsageError(f"--out: {out} exists; name a new file")
    expires_at = None if expires_in is None else int(time.time() * 1_000) + expires_in * DAY_MS
    made = (
        _key_in_database(app, name, scopes, expires_at)
        if is_direct
        else _made(asked, app, name, list(scopes) or None, expires_at)
    )
    if out is not None:
        _write(out, made["key"])
        asked.tell({**made, "key": ""}, lambda one: show_line(f"key {one['id']} is in {out}"))
    else:
        asked.tell(made, lambda one: show_line(one["key"]))


@keys.command("list")
@_whose
@operating
def list_keys(asked: Asked, app: str | None, is_operators: bool) -> None:
    """List keys, those that have ended too; their secrets are nowhere."""
    _refuse_unclear(app, is_operators)
    found = asked.client.operator_keys() if app is None else asked.client.app_keys(app)
    asked.tell(list(found), _show)


@keys.command()
@click.argument("key_id", metavar="ID")
@_whose
@operating
def revoke(asked: Asked, key_id: str, app: str | None, is_operators: bool) -> None:
    """Revoke the key with this ID: it is refused everywhere within 5 s."""
    _refuse_unclear(app, is_operators)
    client = asked.client
    gone = client.revoke_operator_key(key_id) if app is None else client.revoke_app_key(app, key_id)
    asked.tell(gone, lambda one: show_line(f"key {one['id']} was revoked at {one['revokedAt']}"))


def _made(
    asked: Asked, app: str | None, name: str, scopes: list[str] | None, expires_at: int | None
) -> MadeApiKey:
    if app is None:
        return asked.client.create_operator_key(name, scopes=scopes, expires_at=expires_at)
    return asked.client.create_app_key(app, name, scopes=scopes, expires_at=expires_at)


def _refuse_unclear(app: str | None, is_operators: bool) -> None:
    if (app is None) != is_operators:
        raise click.UsageError("say whose key it is: --app NAME, or --operator")


def _write(file: Path, key: str) -> None:
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(f"Authorization: Bearer {key}\n")
    except OSError as error:
        raise Failed(
            f"the key was made, but {file} cannot be written: {error.strerror}; it is {key}"
        ) from error


def _show(found: list[ApiKey]) -> None:
    show_table(
        found,
        {
            "id": "id",
            "name": "name",
            "scopes": lambda key: " ".join(key["scopes"]),
            "created": "createdAt",
            "last used": "lastUsedAt",
            "expires": "expiresAt",
            "revoked": "revokedAt",
        },
    )


def _key_in_database(app: str | None, name: str, scopes: Sequence[str], expires_at: int | None) -> MadeApiKey:
    """Make a key in the database of the settings: the first one, which no other key could make. Raises `Failed`."""
    may_have = ALL_SCOPES if app is None else APP_SCOPES
    wanted = frozenset(map(Scope, scopes)) or may_have
    if not wanted <= may_have:
        raise click.UsageError(f"--scope: an app's key cannot have {' '.join(sorted(wanted - may_have))}")
    if not (0 < len(name) <= KEY_NAME_CHARACTERS and name.isprintable() and name == name.strip()):
        raise click.UsageError(f"NAME: write 1 to {KEY_NAME_CHARACTERS} printable characters")
    text, key = new_key(app, name, wanted, int(time.time() * 1_000), expires_at)
    with closing(Database(read_settings().database_url, pool_size=1)) as database:
        if database.is_sqlite:
            database.create_tables()
        database.ping()
        _refuse_unknown(AppStore(database), app)
        with calling(CALLER):
            ApiKeyStore(database).add(key)
    return {
        "id": key.id,
        "app": key.app,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "createdAt": show_moment(key.created_at),
        "expiresAt": None if expires_at is None else show_moment(expires_at),
        "revokedAt": None,
        "lastUsedAt": None,
        "key": text.text,
    }


def _refuse_unknown(apps: AppStore, app: str | None) -> None:
    if app is None or apps.find(app) is not None:
        return
    meant = near_miss(app, apps.names())
    mend = "make it first: wangtimer apps create" if meant is None else f"did you mean {meant!r}?"
    raise Failed(f"there is no app {app!r}; {mend}")
