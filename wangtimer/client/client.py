"""The client: one method for each operation of the service."""

import time
from collections.abc import Callable
from types import TracebackType

import requests

from .app_calls import AppCalls
from .follow_calls import FollowCalls
from .operator_calls import OperatorCalls
from .transport import Transport

TIMEOUT_S = 30.0
RETRIES = 3


class Client(FollowCalls, AppCalls, OperatorCalls):
    """`with Client("http://127.0.0.1:5000") as client: client.get_timer(1)`; use one client per thread.

    `key` is the API key. Without it, it is that of `WANGTIMER_KEY`, of the file `WANGTIMER_KEY_FILE`, or, for a service
    on this machine, of `wangtimer up` in the working directory; "" sends none. The key says the app. `app` is for an
    operator's key, which may act for every app.

    `timeout` (s) limits connecting, and each wait for bytes. A call without an answer, or answered 502, 503 or 504, is
    sent again up to `retries` times with growing pauses, if a repeat has no further effect. `session` has adapters of
    its own (a proxy, certificates, an application in this process); the client does not close it. `sleep` waits.

    Raises ValueError for a URL, an app or a key that cannot work, and for a key file that cannot be read.
    """

    def __init__(
        self,
        base_url: str,
        app: str | None = None,
        timeout: float = TIMEOUT_S,
        retries: int = RETRIES,
        *,
        key: str | None = None,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if app is not None and (app != app.strip() or not app or not app.isprintable()):
            raise ValueError(
                f"{app!r} is not the name of an app; write it without control characters and outer spaces"
            )
        super().__init__(Transport(base_url, timeout, retries, sleep, session, key), app)

    @property
    def answered_at(self) -> int | None:
        """When the service sent its latest answer, by its own clock (ms UTC, whole seconds); None: none said when."""
        return self._transport.answered_at

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
