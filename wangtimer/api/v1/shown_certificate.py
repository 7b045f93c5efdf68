"""What answers have of a certificate: never its private key."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.v1.shown import Text
from wangtimer.callback.client_certificate import facts_of_all

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
