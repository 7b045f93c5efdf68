"""What an outcome tells the judge of alerts."""

from typing import NamedTuple

from wangtimer.core.flow.outcome import Note, Outcome


class NotedAt(NamedTuple):
    """Whose an outcome is and where it went (`core/alerts/alert_place.py`), where the judge is to see it.

    `known_at`: when it was known (ms UTC); None: nobody says. `well_at`: of a failure, when a call there last succeeded
    in this process since the failure before; None: none did.
    """

    app: str
    host: str
    target: str
    known_at: int | None = None
    well_at: int | None = None

    @classmethod
    def of(cls, outcome: Outcome) -> "NotedAt | None":
        """Return what the judge is told of an outcome; None: it is not to see it."""
        told = outcome.note("alert")
        return None if told is None else cls(*told)

    @property
    def note(self) -> Note:
        """The same as an outcome tells it."""
        return "alert", list(self)
