"""The operations on calendars, and the service's health."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from .answer import Page
from .calls import Calls, all_rows, place_of
from .firing_types import PartsHealth
from .timer_types import Calendar, Weekday
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
        """Upload a calendar: nothing fires on its weekdays (`monday`) and days (`2027-01-01`), except `working` days.

        The timers that name it get the new days within seconds; `get_calendar` says how many are left.
        """
        body = {"weekdays": list(weekdays), "days": list(days), "working": list(working)}
        return self._ask(Call("PUT", place_of(CALENDARS, name), body=body)).typed(Calendar, "name")

    def get_calendar(self, name: str) -> Calendar:
        """Return a calendar, and how many timers use its latest days."""
        return self._get(place_of(CALENDARS, name)).typed(Calendar, "name")

    def calendars(self, *, most: int | None = None) -> Iterator[Calendar]:
        """Yield the calendars that the app can name, all or at most `most`, page by page."""
        return all_rows(self.list_calendars, most)

    def list_calendars(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Calendar]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `calendars` reads all pages."""
        return self._get(CALENDARS, {"limit": limit, "cursor": cursor}).page(Calendar)

    def delete_calendar(self, name: str) -> None:
        """Delete a calendar that no timer names."""
        self._delete(self._ask, place_of(CALENDARS, name))


class HealthCalls(Calls):
    """The health of the service. Each method raises `ClientError`."""

    def is_alive(self) -> bool:
        """Return True where the service answers; raises `ClientError` otherwise."""
        self._transport.ask(Call("GET", "/healthz"))
        return True

    def is_ready(self) -> PartsHealth:
        """Return whether SQL, store and broker answer."""
        answer = self._transport.ask(Call("GET", "/readyz", accepted=NOT_READY))
        return cast(PartsHealth, answer.typed(dict[str, Any], "data")["data"])
