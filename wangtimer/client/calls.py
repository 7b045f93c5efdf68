"""What the groups of operations have in common: the app they name, and the way to the service."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wangtimer.client.envelope import Envelope
from wangtimer.client.transport import Call, Transport

TIMER, TASK = "/api/timer/v1", "/api/task/v1"


MOST_A_PAGE = 500


def all_rows(ask_page: Callable[[int, str | None], Mapping[str, Any]], most: int | None) -> Iterator[Any]:
    """Yield the rows of page after page, `most` of them; `ask_page` gets a page's limit and cursor."""
    cursor, left = None, most
    while left is None or left > 0:
        page = ask_page(MOST_A_PAGE if left is None else min(left, MOST_A_PAGE), cursor)
        yield from page["data"]
        left = None if left is None else left - len(page["data"])
        cursor = page["nextCursor"]
        if cursor is None:
            return


class Calls:
    """Operations of one app; `app` None leaves it out, where the service allows that."""

    def __init__(self, transport: Transport, app: str | None) -> None:
        self._transport = transport
        self.app = app

    def _get(self, path: str, query: Mapping[str, Any]) -> Envelope:
        return self._transport.ask(Call("GET", path, query=self._with_app(query)))

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        bears_repeating: bool = True,
        header: Mapping[str, str] | None = None,
    ) -> Envelope:
        return self._transport.ask(
            Call(
                method,
                path,
                body=self._with_app(body),
                header=header or {},
                bears_repeating=bears_repeating,
            )
        )

    def _with_app(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return dict(fields) if self.app is None else {"app": self.app, **fields}
