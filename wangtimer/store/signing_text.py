"""How an app's signing is written in SQL and Redis: JSON, with its secrets sealed.

Where the deployment has no key to seal with, a secret is text as people pass it on.
"""

from typing import Any

import orjson

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret, read_key
from wangtimer.store.seals import Seals


class UnopenedSigning(ValueError):
    """A signing secret is sealed under a key that this process does not have."""


def signing_text(one: AppSigning, seals: Seals) -> str:
    """Return the JSON of an app's signing, without its app and version."""
    written = [_fields(secret, one.app, seals) for secret in one.secrets]
    return orjson.dumps({"on": one.is_on, "secrets": written}).decode()


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
    secrets = tuple(_secret(one, app, seals, may_be_unopened) for one in fields["secrets"])
    is_on = bool(fields["on"])
    if is_on and (not secrets or secrets[-1].ends_at is not None):
        raise ValueError("signing is on, and no secret goes on signing")
    return AppSigning(app, version, is_on, secrets)


def needs_sealing(text: str, seals: Seals) -> bool:
    """Tell whether what `signing_text` wrote has a secret that is not sealed under the first key."""
    return any(not seals.is_newest(one.get("sealed", "")) for one in orjson.loads(text)["secrets"])


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
    return {"sealed": seals.seal_bytes(secret.key, _bound_to(app, secret.id))}


def _secret(fields: dict[str, Any], app: str, seals: Seals, may_be_unopened: bool) -> SigningSecret:
    sealed = fields.get("sealed")
    try:
        key = seals.open_bytes(sealed, _bound_to(app, fields["id"])) if sealed else read_key(fields["secret"])
    except ValueError as error:
        if not sealed:
            raise
        if not may_be_unopened:
            raise UnopenedSigning(str(error)) from None
        key = b""
    return SigningSecret(fields["id"], key, fields["created_at"], fields["ends_at"], fields["shown"])


def _bound_to(app: str, secret_id: int) -> bytes:
    return f"signing\n{app}\n{secret_id}".encode()
