"""How a call is written in SQL: JSON. And how the call of a timer that names a target is stored, in SQL and Redis.

An older version knows no targets, and must not take such a call for one with a URL. So it is stored as a call whose
secrets that version cannot open: it leaves the firing to others and fails nothing (decision 34). What is really called
stands in place of the sealed text, so an older version that copies the call from SQL to Redis loses nothing of it.
"""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from wangtimer.core.timers.secret_parts import masked_url
from wangtimer.core.timers.timer import UNMARKED, Notify, SecretMarks

# Begins the text that stands in place of the sealed one; seals begin with another number.
_THROUGH_A_TARGET = "2."
# How the last text in the JSON of a call through a target ends where the timer keeps no secrets of its own, with what
# follows it. No other text has this: a quote within one is escaped, and no other is followed so.
SEALS_NOTHING = ('\\",\\"\\"]"}', '\\",\\"\\"]","marks"')
# Follows the host and port of a URL in JSON, also in JSON within JSON.
_ENDS_HOST = '/?#"\\'
# RFC 2606: no such name is ever found. By the mask an older version refuses to change the call.
_NO_URL = "http://named-target.invalid/***"
# The JSON of a call begins with its URL, which is within so many characters, quotes escaped.
URL_WITHIN = 4_200
_BEFORE_URL = '{"url":'
# What stands before the URL in the JSON of a timer's call, and in that of a named target.
BEFORE_URL_OF_TIMER = _BEFORE_URL + '"'
BEFORE_URL_OF_TARGET = '{"call":' + orjson.dumps(BEFORE_URL_OF_TIMER).decode()[:-1]


def stored_call(call: Notify) -> Notify:
    """Return a call as it is stored: as it is, unless it goes through a named target."""
    if not call.target:
        return call
    text = orjson.dumps([call.target, call.url, call.sealed]).decode()
    return call._replace(url=_NO_URL, sealed=_THROUGH_A_TARGET + text, target="")


def call_from_stored(call: Notify) -> Notify:
    """Return the call that `stored_call` made this of."""
    if not call.sealed.startswith(_THROUGH_A_TARGET):
        return call
    target, url, sealed = orjson.loads(call.sealed.removeprefix(_THROUGH_A_TARGET))
    return call._replace(url=url, sealed=sealed, target=target)


def notify_text(notify: Notify) -> str:
    """Return a call as JSON."""
    notify = stored_call(notify)
    # An older version must not send a masked call: it needs `headers`, so it takes the row for one it cannot read.
    headers = "masked_headers" if notify.sealed else "headers"
    fields: dict[str, Any] = {
        "url": notify.url,
        "method": notify.method,
        headers: notify.headers,
        "body": notify.body,
    }
    if notify.sealed:
        fields["sealed"] = notify.sealed
    if notify.marks != UNMARKED:
        fields["marks"] = list(notify.marks)
    return orjson.dumps(fields).decode()


def notify_of(text: str) -> Notify:
    """Return the call that `notify_text` wrote."""
    fields = orjson.loads(text)
    sealed = fields.get("sealed", "")
    pairs = fields["masked_headers" if sealed else "headers"]
    headers = tuple((name, value) for name, value in pairs)
    marks = marks_from(fields.get("marks"))
    return call_from_stored(Notify(fields["url"], fields["method"], headers, fields["body"], marks, sealed))


def shown_url(text: str) -> str | None:
    """Return the masked URL of a call of which `text` is the beginning; None: it goes through a target, or is none."""
    try:
        url, _ = json.JSONDecoder().raw_decode(text.removeprefix(_BEFORE_URL).lstrip())
    except ValueError:
        return None
    return masked_url(url) if isinstance(url, str) and url not in ("", _NO_URL) else None


def beginnings_of_calls_to(host: str) -> Iterator[tuple[str, str]]:
    """Yield how stored URLs of a host begin, in lower case, and which characters may then follow.

    `host` is in lower case, with a port or without: then it is one of any port.
    """
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


def marks_from(stored: tuple[list[str], bool, bool] | None) -> SecretMarks:
    """Return the marks of a stored call; None: it has none."""
    if stored is None:
        return UNMARKED
    headers, query, body = stored
    return SecretMarks(tuple(headers), query, body)
