"""The client: every operation of the service a method."""

from types import TracebackType

from wangtimer.client.calendar_calls import CalendarCalls, HealthCalls
from wangtimer.client.firing_calls import FiringCalls
from wangtimer.client.timer_calls import TimerCalls
from wangtimer.client.timer_list_calls import TimerListCalls
from wangtimer.client.transport import Transport

TIMEOUT_S = 30.0
RETRIES = 3


class Client(TimerCalls, TimerListCalls, FiringCalls, CalendarCalls, HealthCalls):
    """`with Client("http://127.0.0.1:5000", "shop") as client: client.get_timer(1)`; one a thread.

    `timeout` (s) bounds connecting, and each wait for bytes. A call that got no answer, or 502, 503 or 504, is sent
    again up to `retries` times with growing pauses, where doing it twice is the same as once.
    """

    def __init__(
        self, base_url: str, app: str | None, timeout: float = TIMEOUT_S, retries: int = RETRIES
    ) -> None:
        super().__init__(Transport(base_url, timeout, retries), app)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
