"""`wangtimer signing ...` and `wangtimer client-certificate ...`: how an app's callbacks say who calls."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, asking
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import show_how_soon, show_line, show_pairs, show_table
from wangtimer.cli.terminal.parameter_types import SPAN, text_of
from wangtimer.client.app_types import ClientCertificate
from wangtimer.client.timer_types import ChangedSigning, Rotation, Signing


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def signing() -> None:
    """Show, rotate and end the secrets that sign an app's callbacks; switch signing off and on."""


@signing.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def show(run: CommandRun) -> None:
    """Show whether callbacks are signed, and with which secrets; their values are not shown."""
    run.show(run.client.get_signing(), _show)


@signing.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.option(
    "--overlap", type=SPAN, help="The present secret signs beside the new one so long; 1d by default."
)
@asking
def rotate(run: CommandRun, overlap: str | None) -> None:
    """Make a new secret, and show its value: this once."""
    run.show(run.client.rotate_secret(overlap=overlap), _show_rotation)


@signing.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("secret_id", metavar="SECRET", type=click.IntRange(1))
@asking
def end(run: CommandRun, secret_id: int) -> None:
    """End a SECRET, by its id, before its time."""
    run.show(run.client.end_secret(secret_id), _show_changed)


@signing.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def on(run: CommandRun) -> None:
    """Sign callbacks again."""
    run.show(run.client.switch_signing(enabled=True), _show_changed)


@signing.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def off(run: CommandRun) -> None:
    """Send callbacks without a signature."""
    run.show(run.client.switch_signing(enabled=False), _show_changed)


def _show(found: Signing) -> None:
    show_pairs({"app": found["app"], "signed": found["enabled"]})
    show_table(found["secrets"], {"secret": "id", "made": "createdAt", "ends": "endsAt", "shown": "wasShown"})


def _show_changed(changed: ChangedSigning) -> None:
    _show(changed)
    show_how_soon(changed["countsWithin"])


def _show_rotation(made: Rotation) -> None:
    show_line(made["secret"])
    _show_changed(made)


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def client_certificate() -> None:
    """Show, set and remove the certificate that an app's callbacks show to targets which ask for one (mTLS)."""


@client_certificate.command("show", cls=OnceCommand, epilog=EXIT_CODES)
@asking
def show_certificate(run: CommandRun) -> None:
    """Show whose certificate it is, and until when it counts; its key is not shown."""
    run.show(run.client.get_client_certificate(), _show_certificate)


@client_certificate.command("set", cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("certificate", metavar="CERTIFICATE")
@click.argument("key", metavar="KEY")
@asking
def set_certificate(run: CommandRun, certificate: str, key: str) -> None:
    """Set it: CERTIFICATE and KEY are files in PEM, the key without a password."""
    run.show(run.client.put_client_certificate(text_of(certificate), text_of(key)), _show_certificate)


@client_certificate.command("remove", cls=OnceCommand, epilog=EXIT_CODES)
@asking
def remove_certificate(run: CommandRun) -> None:
    """Take it away: callbacks then show none."""
    run.show(run.client.delete_client_certificate(), _show_certificate)


def _show_certificate(found: ClientCertificate) -> None:
    certificate = found["certificate"]
    show_pairs(
        {
            "app": found["app"],
            "certificate": "none" if certificate is None else certificate["subject"],
            "SHA-256": None if certificate is None else certificate["fingerprint"],
            "expires": None if certificate is None else certificate["expiresAt"],
        }
    )
