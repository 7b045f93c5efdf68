"""The tasks of Celery: what one does in turn is tried whatever fails; a stop waits for the calls under way."""

from dataclasses import dataclass, field
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import worker_shutdown

from wangtimer import tasks
from wangtimer.base.settings import Settings
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.pace import Pace
from wangtimer.stack.embedded import seconds_to_stop
from wangtimer.testing.doubles import HandClock


@dataclass
class Purges:
    """A purger that notes that it was asked, and then fails."""

    asked: list[str]
    name: str

    def purge(self) -> int:
        self.asked.append(self.name)
        raise StoreAway("SQL", f"no room for the {self.name}")

    count_all = purge


@dataclass
class Parts:
    """The parts that `purge` uses."""

    asked: list[str] = field(default_factory=list)

    stopping: Event = field(default_factory=Event)

    @property
    def purger(self) -> Purges:
        return Purges(self.asked, "firings")

    @property
    def finished_purger(self) -> Purges:
        return Purges(self.asked, "finished timers")

    @property
    def total_counter(self) -> Purges:
        return Purges(self.asked, "totals of apps")

    def pace(self, task: str, least_s: float) -> Pace:
        del task
        return Pace(HandClock(), least_s)


def test_a_purge_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts()
    monkeypatch.setattr(tasks, "wiring", lambda: parts)
    with pytest.raises(StoreAway, match="firings"):
        tasks.purge()
    assert parts.asked == ["firings", "finished timers", "totals of apps"]


@dataclass
class Rounds:
    """Purgers that have more for so many rounds."""

    rounds: int
    stopping: Event = field(default_factory=Event)
    done: int = 0

    def __post_init__(self) -> None:
        self.purger = self.finished_purger = self.total_counter = self

    @property
    def has_more(self) -> bool:
        return self.done < 3 * self.rounds

    def purge(self) -> int:
        self.done += 1
        return 1

    count_all = purge

    def pace(self, task: str, least_s: float) -> Pace:
        del task
        return Pace(HandClock(), least_s)


def test_a_purge_goes_on_as_long_as_rows_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was 20 s of each minute: a table that grew by more than 5,284 rows a second grew for ever."""
    parts = Rounds(5)
    monkeypatch.setattr(tasks, "wiring", lambda: parts)
    tasks.purge()
    assert parts.done == 15
    stopped = Rounds(5)
    stopped.stopping.set()
    monkeypatch.setattr(tasks, "wiring", lambda: stopped)
    tasks.purge()
    assert stopped.done == 3


@dataclass
class Draining:
    """The parts that a stop uses, and for how long (s) it waits for calls."""

    settings: Settings
    waited_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.executor = self

    def drain(self, timeout_s: float) -> None:
        self.waited_s.append(timeout_s)


@pytest.mark.parametrize("timeout_ms", [500, 10_000, 300_000])
def test_a_planned_stop_cuts_no_call_off_before_its_time_out(
    monkeypatch: pytest.MonkeyPatch, timeout_ms: int
) -> None:
    parts = Draining(Settings(callback_timeout_ms=timeout_ms))
    monkeypatch.setattr(tasks, "wiring", lambda: parts)
    worker_shutdown.send(sender=None)
    assert parts.waited_s == [timeout_ms / 1_000 + 2]
    assert seconds_to_stop(parts.settings.drain_s) > parts.waited_s[0] + 2


def test_beat_sends_each_periodic_task_to_a_queue_that_processes_read() -> None:
    tasks.app.loader.import_default_modules()
    queues = {queue.name for queue in tasks.app.conf.task_queues}
    routes = tasks.app.conf.task_routes
    sent = {name: routes[entry["task"]]["queue"] for name, entry in tasks.app.conf.beat_schedule.items()}
    seldom = dict.fromkeys(["migrate", "sweep", "judge_alerts", "feed", "reconcile", "purge"], "migrate")
    assert sent == {"schedule": "schedule", **seldom}
    assert {f"wangtimer.{name}" for name in sent} <= set(tasks.app.tasks)
    assert {route["queue"] for route in routes.values()} <= queues


@pytest.mark.parametrize(("is_alone", "ran"), [(True, 1), (False, 2)])
def test_a_message_that_comes_while_its_work_is_under_way_is_left_out_where_one_is_to_be_alone(
    monkeypatch: pytest.MonkeyPatch, is_alone: bool, ran: int
) -> None:
    pace, runs = Pace(HandClock(), 0.0), []
    monkeypatch.setattr(tasks, "wiring", lambda: SimpleNamespace(pace=lambda _name, _least_s: pace))

    def work(_parts: Any) -> None:
        runs.append(1)
        if len(runs) == 1:
            run()

    run = tasks.periodic("made_up", is_alone=is_alone)(work)
    run()
    assert len(runs) == ran
    del tasks.app.tasks["wangtimer.made_up"], tasks.app.conf.task_routes["wangtimer.made_up"]
