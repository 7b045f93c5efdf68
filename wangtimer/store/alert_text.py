"""How a rule of alerts is written in SQL: JSON, and where its messages go sealed.

Where the deployment has no key to seal with, a webhook and addresses of mail are text; robots are refused.
"""

from typing import Any

import orjson

from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind, Per
from wangtimer.core.errors import InvalidInput
from wangtimer.store.seals import Seals

_KNOWN = frozenset({"events", "in_a_row", "key_prefix", "per", "repeat_ms", "kind", "to", "sealed"})


class UnopenedDestination(ValueError):
    """Where the messages of a rule go is sealed under a key that this process does not have."""


def rule_text(rule: AlertRule, seals: Seals) -> str:
    """Return the JSON of a rule; raises `InvalidInput` for a robot where there is no key."""
    to = rule.destination
    fields: dict[str, Any] = {"events": sorted(rule.events), "kind": to.kind.value, "per": rule.per.value}
    optional = {"in_a_row": rule.in_a_row, "key_prefix": rule.key_prefix, "repeat_ms": rule.repeat_ms}
    fields |= {name: value for name, value in optional.items() if value}
    written = {"url": to.url, "secret": to.secret, "to": to.to}
    if seals.sealing_id is not None:
        fields["sealed"] = seals.seal_bytes(orjson.dumps(written), _bound_to(rule.app, rule.name))
    elif to.has_secrets:
        raise InvalidInput(
            "destination.url",
            "it is a secret, and this deployment has no key to encrypt secrets with",
            "let its operator set WANGTIMER_SECRET_KEYS_FILE (`wangtimer secrets key` makes a key)",
        )
    else:
        fields["to"] = written
    return orjson.dumps(fields).decode()


def rule_from(row: Any, seals: Seals, *, may_be_unopened: bool = False) -> AlertRule:
    """Read a row back.

    Raises an error for one that this version does not know, and `UnopenedDestination`. Where it may be unopened, it has
    neither URL nor addresses then: it is to be shown, or replaced.
    """
    fields: dict[str, Any] = orjson.loads(row.content)
    if unknown := fields.keys() - _KNOWN:
        raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
    events = frozenset(map(AlertEvent, fields["events"]))
    return AlertRule(
        row.app,
        row.name,
        events,
        _destination(row, fields, seals, may_be_unopened),
        fields.get("in_a_row"),
        row.late_ms,
        fields.get("key_prefix", ""),
        fields.get("repeat_ms"),
        row.created_at,
        row.updated_at,
        row.told_at,
        row.error,
        Per(fields["per"]),
    )


def sealed_anew(row: Any, seals: Seals) -> str | None:
    """Return the text with its seal under the first key; None where it is so. Raises `UnopenedDestination`."""
    if seals.sealing_id is None or seals.is_newest(orjson.loads(row.content).get("sealed", "")):
        return None
    return rule_text(rule_from(row, seals), seals)


def _destination(row: Any, fields: dict[str, Any], seals: Seals, may_be_unopened: bool) -> Destination:
    kind, sealed = DestinationKind(fields["kind"]), fields.get("sealed")
    if sealed is None:
        written = fields["to"]
    else:
        try:
            written = orjson.loads(seals.open_bytes(sealed, _bound_to(row.app, row.name)))
        except ValueError as error:
            if not may_be_unopened:
                raise UnopenedDestination(str(error)) from None
            written = {"url": "", "secret": "", "to": []}
    return Destination(kind, written["url"], written["secret"], tuple(written["to"]))


def _bound_to(app: str, name: str) -> bytes:
    return f"alert\n{app}\n{name}".encode()
