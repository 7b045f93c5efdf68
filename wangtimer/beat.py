"""Beat's scheduler: Celery's, which here sleeps until a task is due."""

from celery.beat import Scheduler


class PunctualScheduler(Scheduler):  # type: ignore[misc]
    """Sleeps until a task is due.

    Celery's own wakes 10 ms before, and looks again and again until then: one percent of a core, with a task a second.
    """

    def adjust(self, n: float | None, drift: float = 0.0) -> float | None:
        """Return in how many seconds to wake for a task that is due in so many."""
        return n + drift if n else n
