"""URLs of servers as they may be shown: without the secrets in them."""

import re

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}")
# Query parameters that may be shown; any other may be a password under one of its many names.
_OPEN = frozenset({"charset", "db", "virtual_host"})


def shown_url(url: str) -> str:
    """Return the URL with `***` for user, password, and query values but harmless ones; another text is `***`."""
    scheme, separator, rest = url.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        return "***"
    # The last @: a password may hold @, /, ? and # itself.
    _, at, place = rest.rpartition("@")
    place, _, query = place.partition("#")[0].partition("?")
    hidden = f"{scheme}://{'***@' if at else ''}{place}"
    return f"{hidden}?{'&'.join(map(_shown_pair, query.split('&')))}" if query else hidden


def shown_unread(url: str) -> str:
    """Return what may be shown of a URL that cannot be read: its scheme."""
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://***" if separator and _SCHEME.fullmatch(scheme) else "***"


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return pair if name in _OPEN and equals and len(value) <= 20 else f"{name[:20]}=***"
