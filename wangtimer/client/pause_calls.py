"""The operations on pauses: for operators."""

from collections.abc import Iterator

from .app_types import Pause, PausesPage
from .calls import Calls, all_rows, place_of
from .transport import Call
from .values import given

PAUSES = "/v1/pauses"


class PauseCalls(Calls):
    """Pause, list, let go on. Each method raises `ClientError`. They need an operator's key.

    `what` is `all`; or `app:`, `host:` or `timer:` with an app, a target's host and port, or a timer's id.
    """

    def pause(self, what: str, *, reason: str = "") -> Pause:
        """Pause something: from 5 s on no call of it begins. What came due follows the misfire policies later."""
        call = Call("PUT", place_of(PAUSES, what), body={"reason": reason})
        return self._transport.ask(call).typed(Pause, "name")

    def resume(self, what: str) -> None:
        """Let something that is paused go on."""
        self._delete(self._transport.ask, place_of(PAUSES, what))

    def pauses(self, *, most: int | None = None) -> Iterator[Pause]:
        """Yield what is paused by name, all or at most `most`, page by page."""
        return all_rows(lambda limit, cursor: self.list_pauses(limit=limit, cursor=cursor), most)

    def list_pauses(self, *, limit: int | None = None, cursor: str | None = None) -> PausesPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `pauses` reads all pages."""
        query = given({"limit": limit, "cursor": cursor})
        return self._transport.ask(Call("GET", PAUSES, query=query)).typed(PausesPage, "items", "nextCursor")
