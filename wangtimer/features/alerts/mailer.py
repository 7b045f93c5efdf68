"""The mailer: sends mail of alerts through the operator's server."""

import smtplib
import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, formataddr
from socket import SHUT_RDWR
from threading import Timer
from time import monotonic
from typing import NamedTuple

from wangtimer.core.alerts.mail_server import MailServer

# s; for each step of a mail, and for all of them: whoever has it in hand has it for two minutes.
TIMEOUT_S, LONGEST_S = 10.0, 60.0
# RFC 5321, 4.2.3.
READY, OK = 220, 250


class MailNotTaken(Exception):
    """The server did not take a mail; the message says why, and has no password."""


class TakenMail(NamedTuple):
    """What the server said of a mail that it took; `refused`: for whom it did not take it, and why."""

    said: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Mailer:
    """Any thread may use it; each mail has a connection of its own. `authorities` (PEM) vouch beside the system's."""

    server: MailServer
    authorities: str

    def send(self, to: Sequence[str], subject: str, text: str, message_id: str, now: float) -> TakenMail:
        """Send a mail of `now` (s UTC), under one `message_id` at all attempts; raises `MailNotTaken`."""
        mail = EmailMessage()
        mail["From"] = formataddr(("WangTimer", self.server.sender))
        mail["To"] = ", ".join(to)
        mail["Subject"] = subject
        mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
        mail["Message-ID"] = f"<{message_id}@{self.server.sender.partition('@')[2]}>"
        # RFC 3834: no automatic answer comes to it.
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(text)
        with _told():
            with self._connected() as link:
                refused = link.send_message(mail, self.server.sender, list(to))
            if not refused:
                return TakenMail(f"taken for {len(to)}")
            whom = ", ".join(f"{address}: {code} {_text(said)}" for address, (code, said) in refused.items())
            return TakenMail(f"taken, but not for {whom}", f"taken, but not for {whom}")

    def log_in(self) -> None:
        """Connect as for a mail, and send none; raises `MailNotTaken`."""
        with _told(), self._connected() as link:
            code, said = link.noop()
            if code != OK:
                raise smtplib.SMTPResponseException(code, said)

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        server, ends_at = self.server, monotonic() + LONGEST_S
        # Without a host it does not connect yet.
        if server.is_tls:
            link: smtplib.SMTP = smtplib.SMTP_SSL(timeout=TIMEOUT_S, context=self._trust())
        else:
            link = smtplib.SMTP(timeout=TIMEOUT_S)
        # The name that the server's certificate must have. smtplib keeps it only where the host is given at once.
        vars(link)["_host"] = server.host
        with closing(link), _ended_at(link, ends_at):
            code, said = link.connect(server.host, server.port)
            if code != READY:
                raise smtplib.SMTPConnectError(code, said)
            if monotonic() >= ends_at:  # there was no connection yet that could have been cut off
                raise TimeoutError
            if server.starts_tls:
                link.starttls(context=self._trust())
            if server.user:
                link.login(server.user, server.password)
            yield link
            # It has the mail by now, however it takes a farewell.
            with suppress(OSError, smtplib.SMTPException):
                link.quit()

    def _trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.authorities:
            context.load_verify_locations(cadata=self.authorities)
        return context


@contextmanager
def _told() -> Iterator[None]:
    """Turn what a server or a connection says into `MailNotTaken`."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        refused = ", ".join(
            f"{address}: {code} {_text(said)}" for address, (code, said) in error.recipients.items()
        )
        raise MailNotTaken(f"the mail server refused {refused}") from None
    except smtplib.SMTPResponseException as error:
        raise MailNotTaken(f"the mail server said {error.smtp_code} {_text(error.smtp_error)}") from None
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise MailNotTaken(f"the mail server is away: {error}") from None


@contextmanager
def _ended_at(link: smtplib.SMTP, ends_at: float) -> Iterator[None]:
    """Cut a conversation off at a moment of the stop-watch, whatever step it is at."""

    def cut_off() -> None:
        if link.sock is not None:
            with suppress(OSError):
                link.sock.shutdown(SHUT_RDWR)

    cutting = Timer(max(0.0, ends_at - monotonic()), cut_off)
    cutting.daemon = True
    cutting.start()
    try:
        yield
    except (OSError, smtplib.SMTPException) as error:
        if monotonic() >= ends_at:
            raise MailNotTaken(f"the mail server took longer than {LONGEST_S:.0f} s") from error
        raise
    finally:
        cutting.cancel()


def _text(said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return " ".join(text.split())
