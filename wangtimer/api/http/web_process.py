"""A web process: its parts, built by the first request that needs them, after gunicorn's fork; and its few heaps."""

from contextlib import suppress
from ctypes import CDLL
from threading import Lock

from wangtimer.base.punctuality import spare_long_collections
from wangtimer.base.settings import read_settings
from wangtimer.core.errors import StoreAway
from wangtimer.wiring import Wiring, build

# glibc has up to eight heaps for each core, and each keeps what the largest requests of its threads took.
MOST_HEAPS = 2
_M_ARENA_MAX = -8


def share_heaps() -> None:
    """Let all threads of this process share `MOST_HEAPS` heaps. Call it before they start. Other libraries have one."""
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, MOST_HEAPS)


class LateWiring:
    """Call it to get the parts. One thread builds them, and all threads get the same ones."""

    def __init__(self, wiring: Wiring | None) -> None:
        self._wiring = wiring
        self._building = Lock()

    def warm_up(self) -> None:
        """Build the parts and open connections before the first request. A server that is away is ignored."""
        wiring = self()
        wiring.broker.warm_up()
        for check in (wiring.check_sql, wiring.check_store, wiring.check_broker):
            with suppress(StoreAway):
                check()

    def __call__(self) -> Wiring:
        """Return the parts."""
        if self._wiring is not None:
            return self._wiring
        with self._building:
            if self._wiring is None:
                # Not at import: it becomes the process's Celery app, and tests of users have another.
                from wangtimer.celery import app as celery_app

                self._wiring = build(read_settings(), celery_app)
                spare_long_collections()
            return self._wiring
