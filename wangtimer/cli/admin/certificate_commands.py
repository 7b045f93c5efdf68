"""`wangtimer client-certificate ...`: what an app's callbacks show to targets that ask who calls."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import show_pairs
from wangtimer.cli.terminal.parameter_types import text_of
from wangtimer.client.app_types import ClientCertificate


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def client_certificate() -> None:
    """Show, set and remove the certificate that an app's callbacks show to targets which ask for one (mTLS)."""


@client_certificate.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def show(asked: Asked) -> None:
    """Show whose certificate it is, and until when it counts; its key is not shown."""
    asked.tell(asked.client.get_client_certificate(), _show)


@client_certificate.command("set", cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("certificate", metavar="CERTIFICATE")
@click.argument("key", metavar="KEY")
@asking
def set_certificate(asked: Asked, certificate: str, key: str) -> None:
    """Set it: CERTIFICATE and KEY are files in PEM, the key without a password."""
    asked.tell(asked.client.put_client_certificate(text_of(certificate), text_of(key)), _show)


@client_certificate.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def remove(asked: Asked) -> None:
    """Take it away: callbacks then show none."""
    asked.tell(asked.client.delete_client_certificate(), _show)


def _show(found: ClientCertificate) -> None:
    one = found["certificate"]
    show_pairs(
        {
            "app": found["app"],
            "certificate": "none" if one is None else one["subject"],
            "SHA-256": None if one is None else one["fingerprint"],
            "expires": None if one is None else one["expiresAt"],
        }
    )
