"""The server that mail of alerts goes through, as an operator names it."""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
# One address, plain: no comments, no quotes, nothing that ends a header.
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?"
)


@dataclass(frozen=True, slots=True)
class MailServer:
    """Host and port, whom to log in as ("": nobody), and the address that mail comes from.

    `is_tls`: from the first byte on. `starts_tls`: TLS is asked for before anything is said, or nothing is sent.
    """

    host: str
    port: int
    sender: str
    is_tls: bool = False
    starts_tls: bool = False
    user: str = ""
    password: str = field(default="", repr=False)


def read_mail_server(url: str, sender: str) -> MailServer:
    """Read `smtp://`, `smtp+starttls://` or `smtps://[user:password@]host[:port]`.

    Raises ValueError, which shows no password.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError("it is no mail server; write smtp://, smtp+starttls:// or smtps://HOST[:PORT]")
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("write no more than a host, and a port, user and password where they are needed")
    if parts.username and parts.scheme == "smtp":
        raise ValueError("a password is not sent without TLS; write smtp+starttls:// or smtps://")
    if bool(parts.username) != bool(parts.password):
        raise ValueError("it has a user or a password, and not the other; write user:password@, or neither")
    if not is_address(sender):
        raise ValueError("the sender is missing, or no address; set WANGTIMER_SMTP_SENDER to one")
    return MailServer(
        parts.hostname,
        parts.port or _PORTS[parts.scheme],
        sender,
        parts.scheme == "smtps",
        parts.scheme == "smtp+starttls",
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


def is_address(text: str) -> bool:
    """Tell whether a text is one plain mail address."""
    return _ADDRESS.fullmatch(text) is not None
