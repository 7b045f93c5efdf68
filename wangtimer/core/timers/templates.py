"""Placeholders in a call, such as `{{fireAt}}`: what each firing writes in their place, escaped for where it stands."""

import json
import re
from collections.abc import Callable, Iterator
from html import escape
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from wangtimer.core.errors import InvalidInput
from wangtimer.core.near_misses import near_miss
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.time.zones import read_zone
from wangtimer.core.timers.call_options import PLACEHOLDERS, SEQ
from wangtimer.core.timers.timer import Notify

# In all of a call: so what is filled in stays small.
MOST_PLACEHOLDERS = 100
_PLACEHOLDER = re.compile(r"\{\{ *([A-Za-z]+) *\}\}")
# What other templates write for one: with a dot, an underscore, a filter behind it.
_NEARLY = re.compile(r"\{\{[ .$]*([A-Za-z_]+)")
_OTHER_WORDS = {
    "now": "fireAt",
    "scheduled_time": "fireAt",
    "scheduledtime": "fireAt",
    "scheduledat": "fireAt",
    "time": "fireAt",
    "timestamp": "fireAtMs",
    "id": "firingId",
    "uuid": "firingId",
    "retry": "attempt",
    "sequence": "seq",
    "tz": "timezone",
}
_BEGINS = "{{"
_CALL = "target"


class Filling(NamedTuple):
    """One attempt, as placeholders tell of it; `fire_at` in ms UTC."""

    app: str
    timezone: str
    timer_id: int
    fire_at: int
    attempt: int
    firing_id: str
    seq: int | None = None

    @property
    def values(self) -> dict[str, str]:
        """What stands in place of each placeholder, not escaped."""
        return {
            "fireAt": show_moment(self.fire_at),
            "fireAtMs": str(self.fire_at),
            "scheduledLocal": show_moment(self.fire_at, read_zone(self.timezone)),
            "timezone": self.timezone,
            "firingId": self.firing_id,
            "timerId": str(self.timer_id),
            "attempt": str(self.attempt),
            SEQ: "" if self.seq is None else str(self.seq),
            "app": self.app,
        }


def filled(call: Notify, filling: Filling, content_type: str) -> Notify:
    """Return a call with its placeholders filled in; what is no placeholder stays.

    A value is percent-encoded in the query, and written in the body as its `content_type` needs it: as part of a JSON
    string, of a form's field, of XML or HTML. Values of headers stay as they are. Raises ValueError for more than
    `MOST_PLACEHOLDERS`: a timer and its named target may have too many together.
    """
    values = filling.values
    front, mark, query = call.url.partition("?")
    texts = (query, call.body, *(value for _, value in call.headers))
    if sum(text.count(_BEGINS) for text in texts) > MOST_PLACEHOLDERS:
        raise ValueError(f"its call has more than {MOST_PLACEHOLDERS} placeholders")
    return call._replace(
        url=f"{front}{mark}{_filled(query, values, _in_query)}",
        headers=tuple((name, _filled(value, values, str)) for name, value in call.headers),
        body=_filled(call.body, values, _escape_for(content_type)),
    )


def placeholders_in(call: Notify) -> set[str]:
    """Return the names of the placeholders that stand anywhere in a call."""
    texts = (call.url, call.body, *(value for _, value in call.headers))
    return {
        name for text in texts if _BEGINS in text for name in _PLACEHOLDER.findall(text)
    } & PLACEHOLDERS.keys()


def open_parts(text: str) -> list[str]:
    """Return what stands between the placeholders of a text."""
    return _PLACEHOLDER.split(text)[::2]


def refuse_bad_placeholders(call: Notify, *, may_have_seq: bool = True) -> None:
    """Raise `InvalidInput` for what begins as a placeholder and is none, one in a path, and too many.

    So for `{{seq}}` unless the call may have one.
    A call with its secrets masked is enough: what is masked is not looked at.
    """
    front, _, query = call.url.partition("?")
    if _BEGINS in front:
        reason = "its path has {{: placeholders stand in the query, in values of headers and in the body"
        raise InvalidInput(_place(call), reason, "move it to the query")
    places = [(_place(call), query), (f"{_CALL}.body", call.body)]
    places += [(f"{_CALL}.headers.{name[:64]}", value) for name, value in call.headers]
    number = 0
    for field, text in places:
        for begun, name in _begun(text):
            number += 1
            if name is None or name not in PLACEHOLDERS:
                raise _unknown(field, begun)
            if name == SEQ and not may_have_seq:
                reason = f"{begun!r} stands in it, and the timer is not numbered"
                raise InvalidInput(field, reason, "set target.numbered to true, or take the placeholder out")
    if number > MOST_PLACEHOLDERS:
        reason = f"the call has {number} placeholders"
        raise InvalidInput(f"{_CALL}.templates", reason, f"use {MOST_PLACEHOLDERS} at most")


def _place(call: Notify) -> str:
    return "target.path" if call.target else f"{_CALL}.url"


def _begun(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield each place where a placeholder begins, as it is written, with its name; None where it has none."""
    place = text.find(_BEGINS)
    while place >= 0:
        found = _PLACEHOLDER.match(text, place)
        yield text[place : place + 30 if found is None else found.end()], None if found is None else found[1]
        place = text.find(_BEGINS, place + 2 if found is None else found.end())


def _unknown(field: str, begun: str) -> InvalidInput:
    written = _NEARLY.match(begun)
    meant = (
        None
        if written is None
        else _OTHER_WORDS.get(written[1].lower()) or near_miss(written[1], PLACEHOLDERS)
    )
    known = ", ".join(f"{{{{{placeholder}}}}}" for placeholder in PLACEHOLDERS)
    mend = f"write one of {known}" if meant is None else f"did you mean {{{{{meant}}}}}?"
    mend += "; or leave templates out, and it is sent as it is"
    return InvalidInput(field, f"{begun!r} is no placeholder", mend)


def _filled(text: str, values: dict[str, str], written: Callable[[str], str]) -> str:
    if _BEGINS not in text:
        return text

    def value(found: re.Match[str]) -> str:
        return written(values[found[1]]) if found[1] in values else found[0]

    return _PLACEHOLDER.sub(value, text)


def _in_query(value: str) -> str:
    return quote(value, safe="")


def _escape_for(content_type: str) -> Callable[[str], str]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith(("/json", "+json")):
        return _in_json
    if kind == "application/x-www-form-urlencoded":
        return quote_plus
    if kind.endswith(("/xml", "+xml", "/html")):
        return escape
    return str


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]
