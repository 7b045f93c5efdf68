"""Header names that every callback carries, and so no timer may give."""

import re

OURS = ("webhook-", "x-wangtimer-")

_FOLDED = re.compile(r"[^a-z0-9]")


def folded(name: str) -> str:
    """Return the name as targets may read it: capitals are small, and whatever is no letter or digit is `-`.

    CGI and WSGI hand `X_WangTimer_App` and `X-WangTimer-App` to the application under one name (RFC 3875, 4.1.18).
    """
    return _FOLDED.sub("-", name.lower())


def is_ours(name: str) -> bool:
    """Tell whether a target may take the name for one of our headers."""
    return folded(name).startswith(OURS)
