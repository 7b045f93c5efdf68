"""The operations on the secrets with which an app's callbacks are signed."""

import secrets
from base64 import b64encode

from .calls import Calls
from .timer_types import ChangedSigning, Rotation, Signing
from .transport import Call
from .values import Span, given
from .verification import PREFIX

SIGNING = "/v1/signing-secrets"
MADE_BYTES = 32


class SigningCalls(Calls):
    """Rotate and end signing secrets, switch signing on and off. Each method raises `ClientError`."""

    def get_signing(self) -> Signing:
        """Return whether callbacks are signed, and which secrets sign; their values are not shown."""
        return self._get(SIGNING).typed(Signing, "enabled", "secrets")

    def rotate_secret(self, *, overlap: Span | None = None, secret: str | None = None) -> Rotation:
        """Make a new secret, and return its value; the present one signs beside it for `overlap` (a day by default).

        `secret` is one of your own, as `whsec_...`. Without it the client makes one, so that a request whose answer was
        lost can be sent again.
        """
        made = PREFIX + b64encode(secrets.token_bytes(MADE_BYTES)).decode() if secret is None else secret
        body = given({"overlap": overlap, "secret": made})
        return self._ask(Call("POST", SIGNING, body=body)).typed(Rotation, "secret", "secrets")

    def switch_signing(self, *, enabled: bool) -> ChangedSigning:
        """Switch signing on or off; the secrets stay."""
        body = {"enabled": enabled}
        return self._ask(Call("PATCH", SIGNING, body=body)).typed(ChangedSigning, "enabled", "secrets")

    def end_secret(self, secret_id: int) -> ChangedSigning:
        """End a secret before its time, as when it leaked; the present one must be rotated away first."""
        call = Call("DELETE", f"{SIGNING}/{secret_id}", bears_repeating=False)
        return self._ask(call).typed(ChangedSigning, "enabled", "secrets")
