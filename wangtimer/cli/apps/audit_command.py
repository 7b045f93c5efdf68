"""`wangtimer audit`: who changed what."""

from typing import Any

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, operating
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import first_of, limited, show_table
from wangtimer.cli.terminal.parameter_types import PAST
from wangtimer.client.app_types import AuditedChange
from wangtimer.core.apps.audited_change import AuditedKind


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
    asked.tell(first_of(lambda most: asked.client.audit(most=most, **wanted), limit), _show)


def _show(found: list[AuditedChange]) -> None:
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
