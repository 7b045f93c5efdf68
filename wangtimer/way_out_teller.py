"""The way-out teller: tells callback processes, through Redis, what is set for each app's way out."""

from dataclasses import dataclass

from wangtimer.store.redis.way_out_copies import WayOutCopies, WaysOut
from wangtimer.store.sql.ways_out import WaysOutInSql

# Tellings at most: another change may come while one is told.
MOST_TELLINGS = 5


@dataclass(frozen=True, slots=True)
class WayOutTeller:
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told."""

    source: WaysOutInSql
    copies: WayOutCopies

    def tell(self) -> None:
        """Write all of them; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it. So SQL is asked again until nothing has changed.
        """
        mark = self.source.mark()
        for _ in range(MOST_TELLINGS):
            self.copies.write(WaysOut(mark, self.source.all()))
            told, mark = mark, self.source.mark()
            if mark == told:
                return

    def tell_instead_of(self, mark: str | None) -> None:
        """Write all of them if Redis has others; `mark` is that of its own, None if it has lost them.

        Raises `StoreAway`.
        """
        if mark != self.source.mark():
            self.tell()
