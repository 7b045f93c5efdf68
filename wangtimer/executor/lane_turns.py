"""Lanes that are to be pulled: apps take turns."""

from collections import OrderedDict

from wangtimer.core.flow.slicing import SharedLane


class LaneTurns:
    """A line of lanes for each app, and one for those of several apps; one lane is taken of each line in its turn.

    So an app with thousands of lanes keeps no lane of another app waiting. A lane that may have room now stands in a
    second line of its app: those that are only looked at keep it waiting no longer. Only one thread may use it.
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str | None, bool], OrderedDict[SharedLane, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, lane: SharedLane, *, is_freed: bool) -> None:
        """Put a lane at the end of its line, unless it stands there already; `is_freed`: it may have room now."""
        self._lines.setdefault((lane.app, is_freed), OrderedDict())[lane] = None

    @property
    def first(self) -> SharedLane | None:
        """The lane whose turn it is; None if there is none."""
        line = next(iter(self._lines.values()), None)
        return None if line is None else next(iter(line))

    def pop(self) -> None:
        """Take out the first; the next turn of its line comes after those of all others."""
        whose, line = self._lines.popitem(last=False)
        line.popitem(last=False)
        if line:
            self._lines[whose] = line
