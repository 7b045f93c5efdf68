"""What answers have of a certificate: never its private key."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.v1.shown import Text
from wangtimer.callback.client_certificate import facts_of_all
from wangtimer.core.time.moment_text import show_moment

# Of a field with certificates: some twenty.
MOST_PEM_CHARACTERS = 40_000


class ShownCertificate(Sent):
    """A certificate."""

    subject: Annotated[str, Field(description="whose it is", examples=["CN=shop,O=Example"])]
    fingerprint: Annotated[str, Field(description="SHA-256, in hexadecimal")]
    expires_at: Text


def shown_certificates(pem: str) -> list[ShownCertificate]:
    """Return what answers have of each certificate of a stored text."""
    if not pem:
        return []
    return [
        ShownCertificate(
            subject=one.subject, fingerprint=one.fingerprint, expires_at=show_moment(one.expires_at)
        )
        for one in facts_of_all(pem)
    ]
