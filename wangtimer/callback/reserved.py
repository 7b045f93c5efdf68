"""Reserved header names: WangTimer writes its own headers under them, so no timer may give one."""

import re

OURS = ("webhook-", "x-wangtimer-")

_FOLDED = re.compile(r"[^a-z0-9]")


def folded(name: str) -> str:
    """Return the name as targets may read it: in lower case, with `-` for every other character than letter or digit.

    CGI and WSGI hand `X_WangTimer_App` and `X-WangTimer-App` to the application under one name (RFC 3875, 4.1.18).
    """
    return _FOLDED.sub("-", name.lower())


def is_ours(name: str) -> bool:
    """Tell whether the name is reserved, or a target may take it for a reserved one."""
    return folded(name).startswith(OURS)
