"""`wangtimer keys ...` and `wangtimer audit`: who may ask the service, and who changed what."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, Failed, operating
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import first_of, limited, show_line, show_table
from wangtimer.cli.terminal.parameter_types import PAST
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
    if is_direct:
        # It needs SQLAlchemy, which no other command of keys does.
        from wangtimer.cli.apps.first_key import key_in_database

        made = key_in_database(app, name, scopes, expires_at)
    else:
        made = _made(asked, app, name, list(scopes) or None, expires_at)
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
def audit(asked: Asked, limit: int, **wanted: Any) -> None:
    """Show who changed what, latest first; for operators."""
    asked.tell(first_of(lambda most: asked.client.audit(most=most, **wanted), limit), _show_changes)


def _show_changes(found: list[AuditedChange]) -> None:
    show_table(
        found,
        {
            "at": "at",
            "key": lambda one: one["key"]["id"],
            "key name": lambda one: one["key"]["name"],
            "from": "address",
            "action": "action",
            "what": lambda one: f"{one['kind']} {one['subject']}",
            "app": "app",
            "name": "name",
            "changed": _changed,
        },
    )


def _changed(one: AuditedChange) -> str | None:
    status = [f"{one['oldStatus'] or '-'} > {one['newStatus']}"] if one["newStatus"] else []
    return ", ".join(status + one["fields"]) or None
