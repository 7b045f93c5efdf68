"""The timers of a benchmark: made over the HTTP API by several threads, and always deleted at the end."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import TracebackType
from uuid import uuid4

from wangtimer.client import Client, Target

THREADS = 16
TIMEOUT_S = 20


class BenchTimers:
    """`with BenchTimers(api_url, app, target_url) as timers: timers.make(moments)`; `app` None: the API key's."""

    def __init__(self, api_url: str, app: str | None, target_url: str) -> None:
        self._api_url = api_url
        self._app = app
        self._target: Target = {"url": target_url, "body": "{}"}
        # Timers of the app that others made stay apart.
        self._prefix = f"bench-{uuid4().hex[:8]}"
        self._numbers = count()
        self._made: list[int] = []
        self._pool = ThreadPoolExecutor(THREADS)
        self._of_thread = threading.local()

    def __enter__(self) -> "BenchTimers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the timers that were made, and make no more."""
        self._pool.shutdown(cancel_futures=True)
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._delete, self._made))

    def make(self, moments: Sequence[int]) -> dict[int, int]:
        """Make a one-shot for each moment (ms UTC); return the moments by timer id.

        Raises `ClientError`.
        """
        return dict(zip(self._pool.map(self._make_one, moments), moments, strict=True))

    def _make_one(self, moment: int) -> int:
        key = f"{self._prefix}-{next(self._numbers)}"
        made = self._client().create_timer(key=key, schedule={"at": moment}, target=self._target)
        self._made.append(made["id"])
        return made["id"]

    def _delete(self, timer_id: int) -> None:
        self._client().delete_timer(timer_id)

    def _client(self) -> Client:
        """The client of this thread: threads cannot share one."""
        held: Client | None = getattr(self._of_thread, "client", None)
        if held is None:
            held = self._of_thread.client = Client(self._api_url, self._app, TIMEOUT_S)
        return held
