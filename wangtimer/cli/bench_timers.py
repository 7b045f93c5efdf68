"""The timers of a benchmark: made over the HTTP API by several threads, deleted at the end whatever happens."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import TracebackType
from typing import Any

import requests

from wangtimer.core.errors import WangTimerError

THREADS = 16
TIMEOUT_S = 20


class ApiRefused(WangTimerError):
    """The API could not be reached, or refused; what it said follows."""


class BenchTimers:
    """`with BenchTimers(api_url, app, target_url) as timers: timers.make(moments)`; an app of its own."""

    def __init__(self, api_url: str, app: str, target_url: str) -> None:
        self._base = f"{api_url.rstrip('/')}/api/timer/v1"
        self._app = app
        self._notify = {"url": target_url, "method": "POST", "body": "{}"}
        self._numbers = count()
        self._made: list[int] = []
        self._pool = ThreadPoolExecutor(THREADS)
        self._of_thread = threading.local()

    def __enter__(self) -> "BenchTimers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete what was made; what is still being made is not begun."""
        self._pool.shutdown(cancel_futures=True)
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._delete, self._made))

    def make(self, moments: Sequence[int]) -> dict[int, int]:
        """Create and enable a one-shot for each moment (ms UTC); return the moments by timer id.

        Raises `ApiRefused`.
        """
        return dict(zip(self._pool.map(self._make_one, moments), moments, strict=True))

    def _make_one(self, moment: int) -> int:
        name = f"shot-{next(self._numbers)}"
        created = self._ask("POST", "def", name=name, at=moment, notifyHTTPParam=self._notify)
        timer_id = int(created["id"])
        self._made.append(timer_id)
        self._ask("POST", "enable", id=timer_id)
        return timer_id

    def _delete(self, timer_id: int) -> None:
        self._ask("DELETE", "def", id=timer_id)

    def _ask(self, method: str, what: str, **fields: object) -> dict[str, Any]:
        try:
            answer = self._session().request(
                method, f"{self._base}/{what}", json={"app": self._app, **fields}, timeout=TIMEOUT_S
            )
        except requests.RequestException as error:
            raise ApiRefused(f"{self._base}: {error}") from None
        if not answer.ok:
            raise ApiRefused(
                f"{method} {self._base}/{what} answered {answer.status_code}: {answer.text[:500]}"
            )
        read: dict[str, Any] = answer.json()
        return read

    def _session(self) -> requests.Session:
        """One a thread: a session is not made for several."""
        held: requests.Session | None = getattr(self._of_thread, "session", None)
        if held is None:
            held = self._of_thread.session = requests.Session()
        return held
