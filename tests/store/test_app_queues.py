"""What a process knows of apps' queues: read every two seconds, and only if the settings name any."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.app_queues import APP_QUEUES, AppQueues
from wangtimer.store.replica import Replica
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.database import Database
from wangtimer.testing.doubles import HandClock, MemoryQueueWorkers, MemoryReplicaTexts, MemoryServer


class Known:
    """A process' queues, on a server and a clock; `asked` counts what it asked."""

    def __init__(self, names: str = "reports,mail") -> None:
        self.clock = HandClock()
        self.server = MemoryServer("Redis", self.clock)
        self.workers = MemoryQueueWorkers(self.server)
        self.in_sql: Mapping[str, str] = {}
        self.asked: list[str] = []
        self.texts: Any = MemoryReplicaTexts(self.server)
        self.told: Replica[Mapping[str, str]] = Replica(APP_QUEUES, self._of_sql, self, self.clock)  # type: ignore[arg-type]
        self.queues = AppQueues(
            OwnQueues.read(names),
            self.told,
            self.workers,  # type: ignore[arg-type]
            self.clock,
        )

    def read(self, names: Sequence[str]) -> list[str | None]:
        self.asked.append("redis")
        return self.texts.read(names)

    def write(self, name: str, text: str) -> None:
        self.texts.write(name, text)

    def _of_sql(self) -> Mapping[str, str]:
        self.asked.append("sql")
        return self.in_sql


def test_without_names_in_the_settings_nothing_is_asked_for_any_app() -> None:
    known = Known("")
    known.server.away = True
    assert [known.queues.number_of("shop"), known.queues.serving(0), known.queues.serving(3)] == [0, 0, 0]
    assert known.queues.message_queue_of(3) == "callback"
    assert known.queues.of_lane(SharedLane.of_host_limit("h:80").in_queue(3)) == 0
    assert known.queues.is_served(0)
    assert known.queues.is_served(3)
    assert known.queues.unserved() == []
    assert known.asked == []


def test_redis_is_asked_once_in_two_seconds_however_many_firings_there_are() -> None:
    known = Known()
    known.told.write({"shop": "mail"})
    for _ in range(1_000):
        assert known.queues.number_of("shop") == 2
        assert known.queues.number_of("other") == 0
        known.clock.sleep(0.01)
    assert known.asked == ["redis"] * 5


def test_a_change_is_known_within_two_seconds() -> None:
    known = Known()
    known.told.write({"shop": "mail"})
    assert known.queues.number_of("shop") == 2
    known.told.write({"shop": "reports"})
    known.clock.sleep(2)
    assert known.queues.number_of("shop") == 1


@pytest.mark.parametrize("is_away", [True, False])
def test_a_process_that_has_read_nothing_asks_sql_and_then_keeps_what_it_knows(is_away: bool) -> None:
    known = Known()
    known.server.away = is_away
    known.in_sql = {"shop": "mail"}
    assert known.queues.number_of("shop") == 2
    known.in_sql = {}
    known.clock.sleep(60)
    assert known.queues.number_of("shop") == 2
    assert known.asked == ["redis", "sql", "redis"]


def test_if_nobody_can_tell_a_planner_gets_an_error_and_a_trigger_sends_as_planned() -> None:
    known = Known()

    def away() -> Mapping[str, str]:
        raise StoreAway("SQL", "away")

    known.server.away = True
    known.told.in_sql = away
    with pytest.raises(StoreAway):
        known.queues.number_of("shop")
    assert known.queues.message_queue_of(1) == "callback.reports"


def test_a_queue_that_no_app_has_any_more_is_nobody_s() -> None:
    known = Known()
    known.told.write({"shop": "mail"})
    assert [known.queues.message_queue_of(number) for number in (1, 2)] == ["callback", "callback.mail"]
    assert known.queues.of_lane(SharedLane.of_host_limit("h:80").in_queue(1)) == 0
    assert known.queues.of_lane(SharedLane.of_host_limit("h:80").in_queue(2)) == 2
    assert known.queues.of_lane(SharedLane.of_limit("shop")) == 2
    assert known.queues.is_served(1)


def test_a_queue_is_served_while_a_process_says_so() -> None:
    known = Known()
    known.told.write({"shop": "mail"})
    # A process that has just begun gives it time to say so.
    assert known.queues.is_served(2)
    known.clock.sleep(11)
    assert not known.queues.is_served(2)
    assert known.queues.unserved() == ["mail"]
    known.workers.note(["mail"])
    known.clock.sleep(2)
    assert known.queues.is_served(2)
    assert known.queues.unserved() == []
    known.server.away = True
    known.clock.sleep(5)
    assert known.queues.is_served(2)
    known.clock.sleep(6)
    assert not known.queues.is_served(2)
    known.server.away = False
    assert known.queues.unserved() == ["mail"]


def test_the_queue_of_each_app_that_has_one_is_read_from_sql(database: Database) -> None:
    store = AppStore(database)
    store.create("shop", {}, 1, "mail")
    store.create("other", {}, 1)
    assert store.queues() == {"shop": "mail"}
    assert store.find("shop").queue == "mail"  # type: ignore[union-attr]
    assert store.change("shop", 2, {"callsAtOnce": 3}).queue == "mail"  # type: ignore[union-attr]
    assert store.change("other", 2, {}, queue="reports").queue == "reports"  # type: ignore[union-attr]
    assert store.change("shop", 3, {}, queue=None).queue is None  # type: ignore[union-attr]
    assert store.queues() == {"other": "reports"}
