"""The operations on how an app's callbacks say who calls: signing secrets, and the client certificate they show."""

import secrets
from base64 import b64encode

from .app_types import ClientCertificate
from .calls import Calls
from .timer_types import ChangedSigning, Rotation, Signing
from .transport import Call
from .values import Span, given
from .verification import PREFIX

SIGNING, CLIENT_CERTIFICATE = "/v1/signing-secrets", "/v1/client-certificate"
MADE_BYTES = 32


class SigningCalls(Calls):
    """Rotate and end signing secrets, switch signing on and off; set a certificate. Each raises `ClientError`."""

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

    def get_client_certificate(self) -> ClientCertificate:
        """Return what callbacks show to targets that ask for a certificate; the private key is never shown."""
        return self._get(CLIENT_CERTIFICATE).typed(ClientCertificate, "app")

    def put_client_certificate(self, certificate: str, private_key: str) -> ClientCertificate:
        """Set it, in place of the one before; both in PEM, the key without a password."""
        body = {"certificate": certificate, "privateKey": private_key}
        return self._ask(Call("PUT", CLIENT_CERTIFICATE, body=body)).typed(ClientCertificate, "app")

    def delete_client_certificate(self) -> ClientCertificate:
        """Take it away; a repeat changes nothing."""
        return self._ask(Call("DELETE", CLIENT_CERTIFICATE)).typed(ClientCertificate, "app")
