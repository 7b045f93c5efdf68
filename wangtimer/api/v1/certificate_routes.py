"""Client certificates over v1: what an app's callbacks show to targets that ask for one; never their private keys."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import bad_value
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route, tell_soon
from wangtimer.api.v1.value_types import Text
from wangtimer.callback.client_certificate import (
    BadCertificate,
    BadKey,
    CertificatePair,
    facts_of_all,
    read_pair,
)

# Of a field with certificates: some twenty.
MOST_PEM_CHARACTERS = 40_000


class ShownCertificate(Sent):
    """A certificate."""

    subject: Annotated[str, Field(description="whose it is", examples=["CN=shop,O=Example"])]
    fingerprint: Annotated[str, Field(description="SHA-256, in hexadecimal")]
    expires_at: Text


def shown_certificates(pem: str) -> list[ShownCertificate]:
    """Return what answers have of each certificate of a stored text."""
    return [ShownCertificate.of(facts) for facts in facts_of_all(pem)] if pem else []


PLACE = "/client-certificate"
MOST_KEY_CHARACTERS = 20_000


class ClientCertificateBody(Given):
    """A certificate and its key."""

    certificate: Annotated[
        str, Field(max_length=MOST_PEM_CHARACTERS, examples=["-----BEGIN CERTIFICATE-----\n..."])
    ]
    """PEM: the app's own certificate first, then those that vouch for it"""
    private_key: Annotated[
        str, Field(max_length=MOST_KEY_CHARACTERS, examples=["-----BEGIN PRIVATE KEY-----\n..."])
    ]
    """PEM, without a password; it is stored encrypted, and no answer shows it"""


class ShownClientCertificate(Sent):
    """What an app's callbacks show to targets that ask for a certificate."""

    app: Annotated[str, Field(examples=["shop"])]
    certificate: Annotated[ShownCertificate | None, Field(description="null: they show none")]


class CertificateResource(Resource):
    """The operations on an app's client certificate."""

    @Route("get", PLACE, "getClientCertificate")
    def get(self, header: AppHeader) -> ShownClientCertificate:
        """Read which client certificate callbacks show.

        The private key is never shown.
        """
        return _shown_of(header.app, self.wiring().client_certificates.chain_of(header.app))

    @Route("put", PLACE, "putClientCertificate", is_for_callbacks=True)
    def put(self, header: AppHeader, body: ClientCertificateBody) -> ShownClientCertificate:
        """Set the client certificate that callbacks show to targets which ask for one (mTLS).

        It takes the place of the one before. Within 5 s each new connection of the app shows it, and connections that
        showed another one are used no more.
        """
        wiring = self.wiring()
        now = self.now()
        pair = _pair(body, now)
        if wiring.seals.sealing_id is None:
            raise bad_value(
                "privateKey",
                "it is a secret, and this deployment has no key to encrypt secrets with",
                "let its operator set WANGTIMER_SECRET_KEYS_FILE (`wangtimer secrets key` makes a key)",
            )
        wiring.client_certificates.put(header.app, pair.chain, pair.key, pair.facts.expires_at, now)
        tell_soon(wiring.ways_out_mark)
        return _shown_of(header.app, pair.chain)

    @Route("delete", PLACE, "deleteClientCertificate")
    def remove(self, header: AppHeader) -> ShownClientCertificate:
        """Take the client certificate away.

        Within 5 s callbacks show none. A repeat changes nothing.
        """
        wiring = self.wiring()
        wiring.client_certificates.remove(header.app, self.now())
        tell_soon(wiring.ways_out_mark)
        return _shown_of(header.app, None)


def _shown_of(app: str, chain: str | None) -> ShownClientCertificate:
    own = shown_certificates(chain or "")
    return ShownClientCertificate(app=app, certificate=own[0] if own else None)


def _pair(body: ClientCertificateBody, now: int) -> CertificatePair:
    try:
        return read_pair(body.certificate, body.private_key, now)
    except BadCertificate as error:
        mend = "write a certificate in PEM that counts now, the app's own first"
        raise bad_value("certificate", str(error), mend) from None
    except BadKey as error:
        mend = "write the key of the first certificate, in PEM and without a password"
        raise bad_value("privateKey", str(error), mend) from None
