"""The operations on calendars, and the service's health."""

from collections.abc import Sequence

from wangtimer.client.calls import TIMER, Calls
from wangtimer.client.errors import NotFound
from wangtimer.client.firing_types import PartsHealth
from wangtimer.client.timer_types import Calendar, PutCalendar
from wangtimer.client.transport import Call

PATH = f"{TIMER}/calendar"
NOT_READY = 503


class CalendarCalls(Calls):
    """Upload, read and delete calendars. Each method raises `ClientError`."""

    def put_calendar(
        self,
        name: str,
        *,
        weekdays: Sequence[int] = (),
        days: Sequence[str] = (),
        working: Sequence[str] = (),
    ) -> PutCalendar:
        """Upload a calendar: nothing fires on its weekdays (1 Monday to 7 Sunday) and days, save those `working`."""
        body = {"name": name, "weekdays": list(weekdays), "days": list(days), "working": list(working)}
        answer = self._send("PUT", PATH, body)
        return {"data": answer.data(Calendar), "edited": answer["edited"]}

    def get_calendar(self, name: str) -> Calendar:
        """Return a calendar."""
        return self._get(PATH, {"name": name}).data(Calendar)

    def list_calendars(self) -> list[Calendar]:
        """Return the calendars the app can name."""
        return self._get(f"{TIMER}/calendars", {}).data(list[Calendar])

    def delete_calendar(self, name: str) -> None:
        """Delete a calendar that no timer names."""
        try:
            self._send("DELETE", PATH, {"name": name})
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
        return self._transport.ask(Call("GET", "/readyz", accepted=NOT_READY)).data(PartsHealth)
