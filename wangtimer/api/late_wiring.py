"""The parts of a web process, built by the first request that wants them: after gunicorn's fork."""

from threading import Lock

from wangtimer.celery import app as celery_app
from wangtimer.settings import read_settings
from wangtimer.wiring import Wiring, build


class LateWiring:
    """Call it for the parts; one thread builds them, all get the same."""

    def __init__(self, wiring: Wiring | None = None) -> None:
        self._wiring = wiring
        self._building = Lock()

    def __call__(self) -> Wiring:
        """Return the parts."""
        if self._wiring is not None:
            return self._wiring
        with self._building:
            if self._wiring is None:
                self._wiring = build(read_settings(), celery_app)
            return self._wiring
