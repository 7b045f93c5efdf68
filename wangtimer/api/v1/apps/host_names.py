"""Reads what operators call a target's host."""

from wangtimer.core.flow.origin import read_url


def host_port(text: str) -> str | None:
    """Return a host and port as calls have it; None where it is none."""
    if not text.rpartition(":")[2].isdecimal() or any(sign in text for sign in "/@?#"):
        return None
    origin = read_url(f"http://{text}")[0]
    return None if origin.fault else origin.host_port
