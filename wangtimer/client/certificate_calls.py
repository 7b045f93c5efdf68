"""The operations on the client certificate that an app's callbacks show."""

from .app_types import ClientCertificate
from .calls import Calls
from .transport import Call

CLIENT_CERTIFICATE = "/v1/client-certificate"


class CertificateCalls(Calls):
    """Read, set and take away an app's client certificate. Each method raises `ClientError`."""

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
