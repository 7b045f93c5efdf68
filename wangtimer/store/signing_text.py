"""How an app's signing is written in SQL and Redis: JSON, in which a secret is text as people pass it on."""

from typing import Any

import orjson

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret, read_key


def signing_text(one: AppSigning) -> str:
    """Return the JSON of an app's signing, without its app and version."""
    return orjson.dumps({"on": one.is_on, "secrets": [_fields(secret) for secret in one.secrets]}).decode()


def signing_from(app: str, version: int, text: str) -> AppSigning:
    """Read back what `signing_text` wrote; raises an error for a text that this version does not know."""
    fields: dict[str, Any] = orjson.loads(text)
    if unknown := fields.keys() - {"on", "secrets"}:
        raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
    secrets = tuple(_secret(one) for one in fields["secrets"])
    is_on = bool(fields["on"])
    if is_on and (not secrets or secrets[-1].ends_at is not None):
        raise ValueError("signing is on, and no secret goes on signing")
    return AppSigning(app, version, is_on, secrets)


def _fields(secret: SigningSecret) -> dict[str, Any]:
    return {
        "id": secret.id,
        "secret": secret.text,
        "created_at": secret.created_at,
        "ends_at": secret.ends_at,
        "shown": secret.was_shown,
    }


def _secret(fields: dict[str, Any]) -> SigningSecret:
    return SigningSecret(
        fields["id"], read_key(fields["secret"]), fields["created_at"], fields["ends_at"], fields["shown"]
    )
