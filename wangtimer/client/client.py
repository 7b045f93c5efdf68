"""The client: every operation of the service a method."""

import time
from collections.abc import Callable
from types import TracebackType

import requests

from .calendar_calls import CalendarCalls, HealthCalls
from .follow_calls import FollowCalls
from .many_timer_calls import ManyTimerCalls
from .transport import Transport

TIMEOUT_S = 30.0
RETRIES = 3


class Client(FollowCalls, ManyTimerCalls, CalendarCalls, HealthCalls):
    """`with Client("http://127.0.0.1:5000", "shop") as client: client.get_timer(1)`; one a thread.

    `timeout` (s) bounds connecting, and each wait for bytes. A call that got no answer, or 502, 503 or 504, is sent
    again up to `retries` times with growing pauses, where doing it twice is the same as once. `session` brings its own
    adapters (a proxy, certificates, an application in this process), and is not closed here. `sleep` waits.

    `app` None is for what is of no app: health, and the load of all apps.
    """

    def __init__(
        self,
        base_url: str,
        app: str | None,
        timeout: float = TIMEOUT_S,
        retries: int = RETRIES,
        *,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if app is not None and (app != app.strip() or not app or not app.isprintable()):
            raise ValueError(
                f"{app!r} is no name of an app; write it without control characters and outer spaces"
            )
        super().__init__(Transport(base_url, timeout, retries, sleep, session), app)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
