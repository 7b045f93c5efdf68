"""Which URL, method and headers a callback may have."""

import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from itertools import islice
from typing import Any
from urllib.parse import SplitResult, urlsplit

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, bad_callback, bad_value, shown
from wangtimer.callback.request import METHODS
from wangtimer.callback.reserved import folded, is_ours
from wangtimer.core.flow.origin import origins_of
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.timers.named_target import why_not_behind
from wangtimer.core.timers.timer import Notify

_CALL = "target"
MOST_URL_CHARACTERS = 2_048
MOST_HEADERS = 50
MOST_HEADER_BYTES = 8_192

# A host name, an address or a name of a private network (`my_service`); RFC 3986 allows more, resolvers do not.
_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_.])?", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.6.2
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # all but the tab; RFC 9110, 5.5
# Headers that belong to the connection or say where the body ends: the engine writes them.
_OF_THE_CONNECTION = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

# Schemes of what is no HTTP, though WangTimer may bring messages there.
_BROKERS = frozenset({"amqp", "amqps", "redis", "rediss", "kafka", "mqtt", "nats", "sqs", "celery"})
_MEND_OF_A_BROKER = (
    "the operator names brokers; make a target with PUT /v1/targets/NAME, as in "
    '{"queue": {"broker": "orders", "list": "work"}}, and write its name as the target of POST /v1/timers'
)

# The new values of headers, by name. A header without values is removed.
HeaderChanges = tuple[tuple[str, tuple[str, ...]], ...]


def check_url(url: str) -> str:
    """Return the URL if a callback can be sent to it; raises `Refused`."""
    _check_characters(url, f"{_CALL}.url")
    _check_parts(url)
    return url


def check_path(path: str) -> str:
    """Return what is to stand behind a target's URL; raises `Refused`."""
    if path:
        _check_characters(path, "target.path")
    if why_not := why_not_behind(path):
        mend = "write it as in /orders/expire?order=7"
        raise bad_callback("target.path", why_not, mend)
    return path


def _check_characters(text: str, field: str) -> None:
    if len(text) > MOST_URL_CHARACTERS:
        reason, mend = f"it has {len(text)} characters", f"at most {MOST_URL_CHARACTERS} are allowed"
        raise bad_callback(field, reason, mend)
    if not re.fullmatch(r"[!-~]+", text) or "\\" in text:
        raise bad_callback(
            field,
            "it has a space, a backslash, a control or a non-ASCII character",
            "percent-encode such characters (%20), and write a host in another script as xn--...",
        )


def check_same_place(call: Notify, kept_from: Notify) -> None:
    """Raise `Refused` where a timer's kept secrets would go elsewhere: through another target, or to another host."""
    if call.target or kept_from.target:
        if call.target != kept_from.target:
            raise bad_callback(
                "target.name",
                "the secrets that it keeps were given for another target",
                "write each secret anew, in the same request",
            )
    else:
        check_same_origin(call.url, kept_from.url)


def check_same_origin(url: str, kept_from: str) -> None:
    """Raise `Refused` where kept secrets would go elsewhere: to another scheme, host or port, or broker."""
    if not origins_of(url) <= origins_of(kept_from):
        raise bad_callback(
            _field_of_place(url),
            "the secrets that it keeps were given for another scheme, host or port",
            "write each secret anew, in the same request",
        )


def _field_of_place(url: str) -> str:
    if not is_message_url(url):
        return f"{_CALL}.url"
    kind = place_from(url).kind
    return {PlaceKind.CONSUMERS: "consumers.fallbackUrl", PlaceKind.CELERY: "celery.broker"}.get(
        kind, "queue.broker"
    )


def check_changed_url(url: str | None) -> str:
    """Return the new URL of a call; raises `Refused`, also for null."""
    if url is None:
        raise _bad_url("it is null, but every call has a URL", "leave it out to keep the old one")
    return check_url(url)


def _check_parts(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_url("its host or port cannot be read", "write it as in http://host:8080/path") from None
    if parts.scheme in _BROKERS:
        raise _bad_url("it is the URL of a broker, and is not called", _MEND_OF_A_BROKER)
    if parts.scheme not in ("http", "https"):
        raise _bad_url("it is neither http nor https", "write the whole URL, as in https://host/path")
    if "@" in parts.netloc:
        # Whoever reads the timer sees it, and https://trusted.example@elsewhere/ is a known trick.
        raise _bad_url("it has a user name in it", "send credentials in an Authorization header")
    if port == 0 or not _is_host(parts):
        raise _bad_url("it has no host that can be called", "write it as in http://host:8080/path")


def _is_host(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    if not parts.netloc.startswith("["):
        return _HOST.fullmatch(host) is not None
    try:
        IPv6Address(host)
    except ValueError:
        return False
    return "%" not in host


def read_method(method: Any) -> Any:
    """Return the method in capitals, POST where none is given; raises `Refused` for one that cannot be called."""
    if method is None:
        return "POST"
    if not isinstance(method, str):
        return method
    if method.upper() not in METHODS:
        raise bad_callback(
            f"{_CALL}.method", f"{shown(method)} cannot be called", "write GET, POST, PUT, PATCH or DELETE"
        )
    return method.upper()


def read_headers(given: Any) -> tuple[tuple[str, str], ...]:
    """Return headers as pairs, in order, one for each value of a list; of None none. Raises `Refused`."""
    if given is None:
        return ()
    pairs = ((name, value) for name, values in _named_values(given) for value in values)
    headers = tuple(islice(pairs, MOST_HEADERS + 1))
    check_headers(headers)
    return headers


def read_header_changes(given: Any) -> HeaderChanges | None:
    """Return changes of headers, in order, null for one to remove; None: all are removed. Raises `Refused`."""
    return None if given is None else tuple(_named_values(given, takes_null=True))


def check_headers(headers: tuple[tuple[str, str], ...]) -> None:
    """Raise `Refused` where the headers are too many, or too long in all, for one call."""
    if len(headers) > MOST_HEADERS:
        raise _bad_header("", f"over {MOST_HEADERS} headers", f"at most {MOST_HEADERS} are allowed")
    size = sum(len(name) + len(value.encode()) for name, value in headers)
    if size > MOST_HEADER_BYTES:
        raise _bad_header("", f"{size} bytes in all", f"at most {MOST_HEADER_BYTES} are allowed")


def _named_values(given: Any, takes_null: bool = False) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not isinstance(given, dict):
        raise _wrong_type("target.headers", "an object of names and values")
    for name, values in given.items():
        _check_name(name)
        if values is None and takes_null:
            yield name, ()
            continue
        listed = values[: MOST_HEADERS + 1] if isinstance(values, list) else [values]
        for value in listed:
            _check_value(name, value)
        yield name, tuple(listed)


def _check_name(name: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise _bad_header(name, "not a header's name", "use letters, digits and -")
    if folded(name) in _OF_THE_CONNECTION:
        raise _bad_header(name, "reserved: the connection sets it", "leave it out")
    if is_ours(name):
        raise _bad_header(
            name,
            "reserved: every callback has its own, and targets read _ and - as the same",
            "choose another name",
        )


def check_header_name(name: str, field: str) -> None:
    """Raise `Refused` for a text that no header can have as its name; `field` is where it stands in the call."""
    if not _TOKEN.fullmatch(name):
        where = f"{_CALL}.{field}"
        raise bad_value(where, f"{shown(name)} is no name of a header", "use letters, digits and -")


def _check_value(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong_type(f"target.headers.{name[:64]}", "text, or a list of texts")
    if _CONTROL.search(value):
        raise _bad_header(name, "a line break or control character in its value", "take it out")


def _bad_url(reason: str, mend: str) -> Refused:
    return bad_callback(f"{_CALL}.url", reason, mend)


def _bad_header(name: str, reason: str, mend: str) -> Refused:
    field = f"target.headers.{name[:64]}".rstrip(".")
    return bad_callback(field, reason, mend)


def _wrong_type(field: str, wanted: str) -> Refused:
    return Refused(ErrorCode.WRONG_TYPE, field, "wrong type", f"write {wanted}")
