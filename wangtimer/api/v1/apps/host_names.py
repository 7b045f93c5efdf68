"""Reads what people call a target's host."""

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.flow.origin import read_url
from wangtimer.core.messages.message_place import broker_host


def host_port(text: str) -> str | None:
    """Return a host and port as calls have it; None where it is none."""
    if not text.rpartition(":")[2].isdecimal() or any(sign in text for sign in "/@?#"):
        return None
    origin = read_url(f"http://{text}")[0]
    return None if origin.fault else origin.host_port


def host_at_any_port(text: str, field: str) -> str:
    """Return a host and port as answers show them, `*` for a port that is not given; a broker's name as it is.

    Raises `Refused` where it is none.
    """
    if text.startswith(broker_host("")):
        return text
    name, _, port = text.rpartition(":")
    # Answers show an IPv6 address without brackets.
    found = host_port(text) or host_port(f"[{name}]:{port}")
    if found is not None:
        return found
    found = host_port(f"{text}:80")
    if found is None:
        mend = "write shop.example or shop.example:8443"
        raise Refused(ErrorCode.BAD_VALUE, field, f"{shown(text)} is no host", mend)
    return found.removesuffix("80") + "*"
