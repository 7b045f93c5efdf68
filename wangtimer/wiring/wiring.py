"""Builds the parts of a process of its settings."""

from celery import Celery

from wangtimer.base.settings import Settings
from wangtimer.core import fail_points
from wangtimer.core.flow.pace import Pace
from wangtimer.wiring.firing import FiringParts


class Wiring(FiringParts):
    """The parts of one process."""

    def pace(self, task: str, least_s: float) -> Pace:
        """Return what tells whether a periodic task of this process is due, or came too soon after the last."""
        with self.building:
            return self._paces.setdefault(task, Pace(self.clock, least_s))

    def check_sql(self) -> None:
        """Return when SQL answers; raises `StoreAway`."""
        self.database.ping()

    def check_store(self) -> None:
        """Return when the store Redis answers; raises `StoreAway`."""
        self.redis.command(lambda client: client.ping())

    def check_broker(self) -> None:
        """Return when the broker answers; raises `StoreAway`."""
        self.broker.ping()


def build(settings: Settings, app: Celery) -> Wiring:
    """Return the parts of this process; nothing is opened yet."""
    fail_points.arm(settings.fail_point)
    return Wiring(settings, app)
