"""Requests to targets as they may be shown: without the secrets in them."""

import re
from urllib.parse import unquote

MASK = "***"
# Headers and query parameters with names of this kind, in any spelling, hold secrets.
_SECRET = re.compile(
    r"auth(?!or)|authori[sz]|cookie|token|secret|passw|pwd|credential|session|signature"
    r"|(?:api|access|private|app)[-_. ]?key",
    re.I,
)


def is_secret(name: str) -> bool:
    """Tell whether a header or query parameter of this name holds a secret, as far as its name tells."""
    return _SECRET.search(name) is not None


def shown_header(name: str, value: str) -> str:
    """Return a header's value, `***` where its name says that it is a secret."""
    return MASK if is_secret(name) else value


def shown_target(url: str) -> str:
    """Return a target's URL with `***` for its user and password, and for query values with the name of a secret."""
    scheme, separator, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    _, at, host = place.rpartition("@")
    whole = f"{scheme}{separator}{f'{MASK}@' if at else ''}{host}{slash}{path}"
    front, mark, query = whole.partition("?")
    return f"{front}{mark}{'&'.join(map(_shown_pair, query.split('&')))}" if mark else whole


def _shown_pair(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}={MASK}" if equals and is_secret(unquote(name)) else pair
