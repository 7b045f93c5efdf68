"""The operations on calendars, and the service's health."""

from collections.abc import Iterator, Sequence
from typing import Any, cast
from urllib.parse import quote

from .calls import Calls, all_rows
from .errors import NotFound
from .firing_types import PartsHealth
from .timer_types import Calendar, CalendarsPage, Weekday
from .transport import Call

CALENDARS = "/v1/calendars"
NOT_READY = 503


class CalendarCalls(Calls):
    """Upload, read and delete calendars. Each method raises `ClientError`."""

    def put_calendar(
        self,
        name: str,
        *,
        weekdays: Sequence[Weekday] = (),
        days: Sequence[str] = (),
        working: Sequence[str] = (),
    ) -> Calendar:
        """Upload a calendar: nothing fires on its weekdays (`monday`) and days (`2027-01-01`), save those `working`.

        The timers that name it follow within seconds: `get_calendar` tells how far they are.
        """
        body = {"weekdays": list(weekdays), "days": list(days), "working": list(working)}
        return self._ask(Call("PUT", _place(name), body=body)).typed(Calendar, "name")

    def get_calendar(self, name: str) -> Calendar:
        """Return a calendar, and how far timers follow it."""
        return self._get(_place(name)).typed(Calendar, "name")

    def calendars(self, *, most: int | None = None) -> Iterator[Calendar]:
        """Yield the calendars the app can name, `most` of them or all, asking for page after page."""
        return all_rows(lambda limit, cursor: self.list_calendars(limit=limit, cursor=cursor), most)

    def list_calendars(self, *, limit: int | None = None, cursor: str | None = None) -> CalendarsPage:
        """Return one page; `cursor` is the `nextCursor` of the page before. `calendars` asks for all of them."""
        query = {"limit": limit, "cursor": cursor}
        return self._get(CALENDARS, query).typed(CalendarsPage, "items", "nextCursor")

    def delete_calendar(self, name: str) -> None:
        """Delete a calendar that no timer names."""
        try:
            self._ask(Call("DELETE", _place(name)))
        except NotFound as error:
            # An earlier try without an answer did it.
            if not error.was_in_doubt:
                raise


class HealthCalls(Calls):
    """Whether the service lives and can serve. Each method raises `ClientError`."""

    def is_alive(self) -> bool:
        """Return True where the service answers; raises `ClientError` otherwise."""
        self._transport.ask(Call("GET", "/healthz"))
        return True

    def is_ready(self) -> PartsHealth:
        """Return whether SQL, store and broker answer."""
        answer = self._transport.ask(Call("GET", "/readyz", accepted=NOT_READY))
        return cast(PartsHealth, answer.typed(dict[str, Any], "data")["data"])


def _place(name: str) -> str:
    return f"{CALENDARS}/{quote(name, safe='')}"
