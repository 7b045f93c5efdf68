"""Requests to targets as they may be shown: without the secrets in them."""

from urllib.parse import unquote_plus

from wangtimer.core.timers.secret_parts import MASK, is_secret_name

# The headers, in lower case, whose values are shown. Any other may hold a secret, whatever its name.
_OPEN_HEADERS = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "ce-id",
        "ce-sequence",
        "ce-source",
        "ce-specversion",
        "ce-time",
        "ce-type",
        "connection",
        "content-encoding",
        "content-language",
        "content-length",
        "content-type",
        "date",
        "host",
        "idempotency-key",
        "pragma",
        "prefer",
        "traceparent",
        "user-agent",
        "webhook-id",
        "x-correlation-id",
        "x-request-id",
        "x-wangtimer-app",
        "x-wangtimer-attempt",
        "x-wangtimer-fire-at",
        "x-wangtimer-last-success",
        "x-wangtimer-lost-since",
        "x-wangtimer-sequence",
        "x-wangtimer-timer",
    }
)
# Characters of a query value that may be shown. Tokens are longer.
_MOST_SHOWN = 20


def shown_header(name: str, value: str) -> str:
    """Return a header's value, or `***` unless its name is one of the few that hold no secrets."""
    return value if name.lower() in _OPEN_HEADERS else MASK


def shown_target(url: str) -> str:
    """Return a target's URL with `***` for its user and password, and for query values that may be secrets.

    Those are values of parameters with the name of a secret, long values, and values with a user in them.
    """
    scheme, separator, rest = url.partition("://")
    front, mark, query = rest.partition("?")
    place, slash, path = front.partition("/")
    _, at, host = place.rpartition("@")
    whole = f"{scheme}{separator}{f'{MASK}@' if at else ''}{host}{slash}{path}"
    return f"{whole}{mark}{'&'.join(map(_shown_pair, query.split('&')))}" if mark else whole


def _shown_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals:
        return pair if _is_harmless(pair) else MASK
    return pair if _is_harmless(value) and not is_secret_name(unquote_plus(name)) else f"{name}={MASK}"


def _is_harmless(value: str) -> bool:
    plain = unquote_plus(value)
    return len(plain) <= _MOST_SHOWN and "@" not in plain
