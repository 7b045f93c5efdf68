"""The mark of all ways out of apps, which changes with each: it is read often, they are read where it has changed."""

from collections.abc import Callable

from wangtimer.core.egress.way_out import WAYS_OUT, WAYS_OUT_MARK
from wangtimer.core.time.clock import Clock
from wangtimer.store.replica import Replica, ReplicaTexts
from wangtimer.store.sql.ways_out import WaysOutInSql


class WaysOutMark(Replica[str]):
    """Is told with the ways out, which have a text of their own: with certificates in it, it is long.

    Who reads them sets `on_mark`, which is called with each mark that Redis has.
    """

    on_mark: Callable[[str], None] | None = None

    def __init__(self, source: WaysOutInSql, texts: ReplicaTexts, clock: Clock) -> None:
        super().__init__(WAYS_OUT_MARK, source.mark, texts, clock)
        self.of_apps = Replica(WAYS_OUT, source.read, texts, clock)

    def write(self, value: str) -> None:
        """Write the mark behind the ways out: who finds a new one finds what it is of. Raises `StoreAway`."""
        self.of_apps.write(self.of_apps.in_sql())
        super().write(value)

    def learn(self, text: str | None, asked_at: float) -> None:
        """Tell of a mark; while Redis has none, SQL is not asked for one."""
        if text is not None:
            super().learn(text, asked_at)
            if self.on_mark is not None:
                self.on_mark(self.known)
