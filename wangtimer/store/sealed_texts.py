"""How rules of alerts, apps' signing and named targets are written in SQL and Redis: JSON, with their secrets sealed.

Where the deployment has no key to seal with, a signing secret, a webhook and addresses of mail are text; robots are
refused.
"""

from typing import Any

import orjson

from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind, Per
from wangtimer.core.errors import InvalidInput
from wangtimer.core.retry import policy_from_text
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret, read_key
from wangtimer.core.timers.call_options import TIMEOUT_NAMES, UNTOUCHED, KeepOutput, form_from, form_text
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.store.call_text import notify_of, notify_text, timeouts_fields, timeouts_from
from wangtimer.store.seals import Seals

_TARGET_FIELDS = frozenset({"call", *TIMEOUT_NAMES, "keep_output", "retry", "form"})


def target_text(target: NamedTarget) -> str:
    """Return the JSON of a target, without its app, name, version and moments."""
    fields: dict[str, Any] = {"call": notify_text(target.call)}
    fields |= timeouts_fields(target.timeouts)
    if target.keep_output is not KeepOutput.ALWAYS:
        fields["keep_output"] = target.keep_output.value
    if target.retry is not None:
        fields["retry"] = target.retry.text()
    if target.form != UNTOUCHED:
        fields["form"] = form_text(target.form)
    return orjson.dumps(fields).decode()


def target_from(
    app: str, name: str, version: int, text: str, created_at: int = 0, updated_at: int = 0
) -> NamedTarget:
    """Read back what `target_text` wrote. Raises an error for what this version does not know."""
    fields: dict[str, Any] = orjson.loads(text)
    if unknown := fields.keys() - _TARGET_FIELDS:
        raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
    keep_output = KeepOutput(fields.get("keep_output", KeepOutput.ALWAYS.value))
    retry = fields.get("retry")
    return NamedTarget(
        app,
        name,
        version,
        notify_of(fields["call"]),
        timeouts_from(fields),
        keep_output,
        None if retry is None else policy_from_text(retry),
        form_from(fields.get("form")),
        created_at,
        updated_at,
    )


class UnopenedSigning(ValueError):
    """A signing secret is sealed under a key that this process does not have."""


def signing_text(signing: AppSigning, seals: Seals) -> str:
    """Return the JSON of an app's signing, without its app and version."""
    written = [_fields(secret, signing.app, seals) for secret in signing.secrets]
    return orjson.dumps({"on": signing.is_on, "secrets": written}).decode()


def signing_from(
    app: str, version: int, text: str, seals: Seals, *, may_be_unopened: bool = False
) -> AppSigning:
    """Read back what `signing_text` wrote.

    Raises an error for a text that this version does not know, and `UnopenedSigning` for secrets under a key that is
    not among `seals`. Where they may be unopened, they have an empty key: such signing is to be shown, or replaced by
    one without them, and is never stored or signed with.
    """
    fields: dict[str, Any] = orjson.loads(text)
    if unknown := fields.keys() - {"on", "secrets"}:
        raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
    secrets = tuple(_secret(secret, app, seals, may_be_unopened) for secret in fields["secrets"])
    is_on = bool(fields["on"])
    if is_on and (not secrets or secrets[-1].ends_at is not None):
        raise ValueError("signing is on, and no secret goes on signing")
    return AppSigning(app, version, is_on, secrets)


def needs_sealing(text: str, seals: Seals) -> bool:
    """Tell whether what `signing_text` wrote has a secret that is not sealed under the first key."""
    return any(not seals.is_newest(secret.get("sealed", "")) for secret in orjson.loads(text)["secrets"])


def _fields(secret: SigningSecret, app: str, seals: Seals) -> dict[str, Any]:
    return {
        "id": secret.id,
        **_written(secret, app, seals),
        "created_at": secret.created_at,
        "ends_at": secret.ends_at,
        "shown": secret.was_shown,
    }


def _written(secret: SigningSecret, app: str, seals: Seals) -> dict[str, str]:
    if seals.sealing_id is None:
        return {"secret": secret.text}
    return {"sealed": seals.seal_bytes(secret.key, _bound_to_signing(app, secret.id))}


def _secret(fields: dict[str, Any], app: str, seals: Seals, may_be_unopened: bool) -> SigningSecret:
    sealed = fields.get("sealed")
    try:
        key = (
            seals.open_bytes(sealed, _bound_to_signing(app, fields["id"]))
            if sealed
            else read_key(fields["secret"])
        )
    except ValueError as error:
        if not sealed:
            raise
        if not may_be_unopened:
            raise UnopenedSigning(str(error)) from None
        key = b""
    return SigningSecret(fields["id"], key, fields["created_at"], fields["ends_at"], fields["shown"])


def _bound_to_signing(app: str, secret_id: int) -> bytes:
    return f"signing\n{app}\n{secret_id}".encode()


_ALERT_FIELDS = frozenset({"events", "in_a_row", "key_prefix", "per", "repeat_ms", "kind", "to", "sealed"})


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
        fields["sealed"] = seals.seal_bytes(orjson.dumps(written), _bound_to_rule(rule.app, rule.name))
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
    if unknown := fields.keys() - _ALERT_FIELDS:
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
            written = orjson.loads(seals.open_bytes(sealed, _bound_to_rule(row.app, row.name)))
        except ValueError as error:
            if not may_be_unopened:
                raise UnopenedDestination(str(error)) from None
            written = {"url": "", "secret": "", "to": []}
    return Destination(kind, written["url"], written["secret"], tuple(written["to"]))


def _bound_to_rule(app: str, name: str) -> bytes:
    return f"alert\n{app}\n{name}".encode()
