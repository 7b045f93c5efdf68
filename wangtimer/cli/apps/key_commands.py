"""`wangtimer keys ...` and `wangtimer audit`: who may ask the service, and who changed what."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, Failed, operating
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, first_of, limited, show_line
from wangtimer.cli.terminal.parameter_types import FILE, PAST
from wangtimer.client.app_types import ApiKey, AuditedChange, MadeApiKey
from wangtimer.core.apps.audited_change import AuditedKind
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.time.zones import DAY_MS


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
    type=FILE,
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
    run: CommandRun,
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
    if is_direct:
        # It needs SQLAlchemy, which no other command of keys does.
        from wangtimer.cli.apps.first_key import key_in_database

        made = key_in_database(app, name, scopes, expires_at)
    else:
        made = _made(run, app, name, list(scopes) or None, expires_at)
    if out is not None:
        _write(out, made["key"])
        run.show({**made, "key": ""}, lambda key: show_line(f"key {key['id']} is in {out}"))
    else:
        run.show(made, lambda key: show_line(key["key"]))


@keys.command("list")
@_whose
@operating
def list_keys(run: CommandRun, app: str | None, is_operators: bool) -> None:
    """List keys, those that have ended too; their secrets are nowhere."""
    _refuse_unclear(app, is_operators)
    found = run.client.operator_keys() if app is None else run.client.app_keys(app)
    run.show_rows(found, _KEYS)


@keys.command()
@click.argument("key_id", metavar="ID")
@_whose
@operating
def revoke(run: CommandRun, key_id: str, app: str | None, is_operators: bool) -> None:
    """Revoke the key with this ID: it is refused everywhere within 5 s."""
    _refuse_unclear(app, is_operators)
    client = run.client
    gone = client.revoke_operator_key(key_id) if app is None else client.revoke_app_key(app, key_id)
    run.show(gone, lambda key: show_line(f"key {key['id']} was revoked at {key['revokedAt']}"))


def _made(
    run: CommandRun, app: str | None, name: str, scopes: list[str] | None, expires_at: int | None
) -> MadeApiKey:
    if app is None:
        return run.client.create_operator_key(name, scopes=scopes, expires_at=expires_at)
    return run.client.create_app_key(app, name, scopes=scopes, expires_at=expires_at)


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


_KEYS: Columns[ApiKey] = {
    "id": "id",
    "name": "name",
    "scopes": lambda key: " ".join(key["scopes"]),
    "created": "createdAt",
    "last used": "lastUsedAt",
    "expires": "expiresAt",
    "revoked": "revokedAt",
}


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.option("--app", help="Changes of what is this app's.")
@click.option("--key", help="Changes made with the key of this id.")
@click.option("--kind", type=click.Choice([kind.value for kind in AuditedKind]), help="What was changed.")
@click.option(
    "--subject",
    help="The id of a timer, firing or key, or the name of an app or a calendar. Of a timer with its firings.",
)
@click.option("--since", type=PAST, help="From this moment on: RFC 3339, ms, or a time ago such as 2h.")
@click.option("--until", type=PAST, help="Up to this moment; now by default.")
@limited
@operating
def audit(run: CommandRun, limit: int, **wanted: Any) -> None:
    """Show who changed what, latest first; for operators."""
    run.show_rows(first_of(lambda most: run.client.audit(most=most, **wanted), limit), _CHANGES)


def _changed(change: AuditedChange) -> str | None:
    status = [f"{change['oldStatus'] or '-'} > {change['newStatus']}"] if change["newStatus"] else []
    return ", ".join(status + change["fields"]) or None


_CHANGES: Columns[AuditedChange] = {
    "at": "at",
    "key": lambda change: change["key"]["id"],
    "key name": lambda change: change["key"]["name"],
    "from": "address",
    "action": "action",
    "what": lambda change: f"{change['kind']} {change['subject']}",
    "app": "app",
    "name": "name",
    "changed": _changed,
}
