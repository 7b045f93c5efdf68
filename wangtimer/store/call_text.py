"""How a call and its time-outs are written in JSON, in SQL and Redis."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from wangtimer.core.timers.call_options import AS_DEPLOYED, TIMEOUT_NAMES, Timeouts
from wangtimer.core.timers.secret_parts import masked_url
from wangtimer.core.timers.timer import UNMARKED, Notify, SecretMarks

# Only the JSON of a call that keeps secrets has this: a quote within a text is escaped.
SEALED = ',"sealed":"'
# Follows the host and port of a URL in JSON, also in JSON within JSON.
_ENDS_HOST = '/?#"\\'
# The JSON of a call begins with its URL, which is within so many characters, quotes escaped.
URL_WITHIN = 4_200
_BEFORE_URL = '{"url":'
# What stands before the URL in the JSON of a timer's call, and in that of a named target.
BEFORE_URL_OF_TIMER = _BEFORE_URL + '"'
BEFORE_URL_OF_TARGET = '{"call":' + orjson.dumps(BEFORE_URL_OF_TIMER).decode()[:-1]


def notify_text(notify: Notify) -> str:
    """Return a call as JSON."""
    fields = {"url": notify.url, "method": notify.method, "headers": notify.headers, "body": notify.body}
    return orjson.dumps(fields | beside_a_call(notify)).decode()


def notify_of(text: str) -> Notify:
    """Return the call that `notify_text` wrote."""
    fields = orjson.loads(text)
    return call_from(fields, fields["url"], fields["method"], fields["headers"], fields["body"])


def beside_a_call(call: Notify) -> dict[str, Any]:
    """Return what a call has beside URL, method, headers and body: only what is set."""
    fields: dict[str, Any] = {}
    if call.sealed:
        fields["sealed"] = call.sealed
    if call.target:
        fields["target"] = call.target
    if call.marks != UNMARKED:
        fields["marks"] = list(call.marks)
    return fields


def call_from(
    beside: Mapping[str, Any], url: str, method: str, headers: list[list[str]], body: str
) -> Notify:
    """Return the call of these four, and of what `beside_a_call` returned."""
    marks = UNMARKED
    if "marks" in beside:
        marked_headers, query, marked_body = beside["marks"]
        marks = SecretMarks(tuple(marked_headers), query, marked_body)
    pairs: Any = tuple(map(tuple, headers))
    return Notify(url, method, pairs, body, marks, beside.get("sealed", ""), beside.get("target", ""))


def timeouts_fields(timeouts: Timeouts) -> dict[str, int]:
    """Return the time-outs that are set, by their names; they stand beside the other fields."""
    return {name: given for name, given in zip(TIMEOUT_NAMES, timeouts, strict=True) if given is not None}


def timeouts_from(fields: Mapping[str, Any]) -> Timeouts:
    """Read back what `timeouts_fields` wrote."""
    if fields.keys().isdisjoint(TIMEOUT_NAMES):
        return AS_DEPLOYED
    return Timeouts(*map(fields.get, TIMEOUT_NAMES))


def shown_url(text: str) -> str | None:
    """Return the masked URL of a call of which `text` is the beginning; None: it has none."""
    try:
        url, _ = json.JSONDecoder().raw_decode(text.removeprefix(_BEFORE_URL).lstrip())
    except ValueError:
        return None
    return masked_url(url) if isinstance(url, str) and url else None


def beginnings_of_calls_to(host: str) -> Iterator[tuple[str, str]]:
    """Yield how stored URLs of a host begin (lower case), and what may follow. A `host` without a port: any port."""
    name, colon, port = host.rpartition(":")
    if not (colon and port.isdecimal()):
        name, port = host, ""
    for scheme, usual in (("http", "80"), ("https", "443")):
        # No URL has a user or a password.
        begin = f"{scheme}://{name}"
        if port:
            yield f"{begin}:{port}", _ENDS_HOST
        if not port or port == usual:
            yield begin, _ENDS_HOST if port else f"{_ENDS_HOST}:"
