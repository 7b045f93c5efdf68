"""The tasks of Celery: what one of them does in turn is tried whatever fails."""

from dataclasses import dataclass, field

import pytest

from wangtimer import tasks
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.testing.doubles import HandClock


@dataclass
class Purges:
    """A purger that notes that it was asked, and then fails."""

    asked: list[str]
    name: str

    def purge(self) -> int:
        self.asked.append(self.name)
        raise StoreAway("SQL", f"no room for the {self.name}")


@dataclass
class Parts:
    """The parts that `purge` uses."""

    asked: list[str] = field(default_factory=list)

    @property
    def purger(self) -> Purges:
        return Purges(self.asked, "firings")

    @property
    def finished_purger(self) -> Purges:
        return Purges(self.asked, "finished timers")

    def pace(self, task: str, least_s: float) -> Pace:
        del task
        return Pace(HandClock(), least_s)


def test_a_purge_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts()
    monkeypatch.setattr(tasks, "wiring", lambda: parts)
    with pytest.raises(StoreAway, match="firings"):
        tasks.purge()
    assert parts.asked == ["firings", "finished timers"]
