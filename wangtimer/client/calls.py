"""What all operations share: the app, how they name a timer, the way to the service."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from .errors import NotFound, PreconditionFailed
from .own_work import stands_as_wanted
from .timer_fields import Timer
from .transport import IDEMPOTENCY_KEY, Answer, Call, Page, Row, Transport
from .values import given

MOST_A_PAGE = 500
TIMERS = "/v1/timers"
UNKNOWN_TIMER = 40401

# A timer: its id, or `key:` and the app's key as in `key:order-42`, or a timer from an answer.
Which = int | str | Mapping[str, Any]
_BY_KEY = "key:"
_VISIBLE = re.compile(r"[!-~]{1,255}")


def all_rows(ask_page: Callable[..., Page[Row]], most: int | None) -> Iterator[Row]:
    """Yield the rows of all pages, at most `most`; `ask_page` takes `limit` and `cursor`."""
    cursor, left = None, most
    while left is None or left > 0:
        page = ask_page(limit=MOST_A_PAGE if left is None else min(left, MOST_A_PAGE), cursor=cursor)
        yield from page["items"]
        left = None if left is None else left - len(page["items"])
        cursor = page["nextCursor"]
        if cursor is None:
            return


def name_of(which: Which) -> str:
    """Return v1's name of a timer: its id, or `key:` and its key; raises ValueError for other text."""
    if isinstance(which, Mapping):
        return str(which["id"])
    text = str(which)
    if not text.startswith(_BY_KEY) and not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not the id of a timer; write its key as in {_BY_KEY}{text}")
    return text


def key_in(which: Which) -> str | None:
    """Return the key of a timer that is named by its key; None otherwise."""
    name = name_of(which)
    return name.removeprefix(_BY_KEY) if name.startswith(_BY_KEY) else None


def place_of(list_path: str, name: str) -> str:
    """Return the path of what has this name in a list."""
    return f"{list_path}/{quote(name, safe='')}"


def keyed(idempotency_key: str | None) -> dict[str, str]:
    """Return the header of a key, or no header for None; raises ValueError for a key that no header can hold."""
    if idempotency_key is None:
        return {}
    if not _VISIBLE.fullmatch(idempotency_key):
        raise ValueError(
            f"{idempotency_key!r} is not an Idempotency-Key; write 1 to 255 visible ASCII characters"
        )
    return {IDEMPOTENCY_KEY: idempotency_key}


class Calls:
    """Operations of one app: `app`, or else the key's."""

    def __init__(self, transport: Transport, app: str | None) -> None:
        self._transport = transport
        self.app = app

    def _get(self, path: str, query: Mapping[str, Any] | None = None, *, names_app: bool = True) -> Answer:
        call = Call("GET", path, query=given(query or {}))
        return self._ask(call) if names_app else self._transport.ask(call)

    def _post(
        self, path: str, body: Mapping[str, Any] | None = None, idempotency_key: str | None = None
    ) -> Answer:
        return self._ask(Call("POST", path, body=body, header=keyed(idempotency_key)))

    def _post_once(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        is_trial: bool = False,
    ) -> Answer:
        """Post what must not act twice, under the given Idempotency-Key, or a new one; a trial needs none."""
        key = uuid4().hex if idempotency_key is None and not is_trial else idempotency_key
        return self._ask(Call("POST", path, body=body, header=keyed(key), is_trial=is_trial))

    def _delete(
        self, ask: Callable[[Call], Answer], place: str, header: Mapping[str, str] | None = None
    ) -> None:
        """Delete something; an earlier try whose answer was lost may have done it."""
        try:
            ask(Call("DELETE", place, header=header or {}))
        except NotFound as error:
            if not error.was_in_doubt:
                raise

    def _ask(self, call: Call) -> Answer:
        if self.app is None:
            # The key says it.
            return self._transport.ask(call)
        return self._transport.ask(replace(call, header={"WangTimer-App": self.app.encode(), **call.header}))

    def _path(self, which: Which) -> str:
        """Return the path of a timer: by its id where its key has a slash. Raises `NotFound`."""
        key = key_in(which)
        if key is not None and "/" in key:
            return f"{TIMERS}/{self._id_of(key)}"
        return f"{TIMERS}/{quote(name_of(which), safe=':')}"

    def _id_of(self, key: str) -> int:
        items = self._get(TIMERS, {"key": key, "limit": 1}).typed(dict[str, Any], "items")["items"]
        if not items:
            raise NotFound(
                {
                    "type": f"/docs/errors#{UNKNOWN_TIMER}",
                    "title": "Unknown timer",
                    "status": 404,
                    "code": UNKNOWN_TIMER,
                    "detail": f"app {self.app!r} has no timer {key!r}; GET /v1/timers lists those it has",
                    "parameter": "which",
                }
            )
        found: int = items[0]["id"]
        return found

    def _change(
        self, place: str, call: Call, version: int | None, wanted: Mapping[str, Any] | None
    ) -> Answer:
        """Return the answer to a change of the timer at `place`, which must be at `version` if one is given.

        A try whose answer was lost may have made the change. Then the timer is at the next version and as `wanted`. The
        change is sent again for that version: it changes nothing and gets the answer. `wanted` None: the client cannot
        tell its own change from another's.
        """
        if version is None:
            return self._ask(call)
        try:
            return self._ask(_at_version(call, version))
        except PreconditionFailed as error:
            if not error.was_in_doubt or wanted is None:
                raise
            timer = self._get(place).typed(Timer, "id", "version")
            if timer["version"] != version + 1 or not stands_as_wanted(timer, wanted):
                raise
        # The key belongs to the request for the previous version.
        header = {name: value for name, value in call.header.items() if name != IDEMPOTENCY_KEY}
        return self._ask(_at_version(replace(call, header=header), version + 1))


def _at_version(call: Call, version: int) -> Call:
    return replace(call, header={**call.header, "If-Match": f'"{version}"'})
