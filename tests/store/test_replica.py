"""Replicas: what SQL has reaches Redis, and each process from there, by one command."""

from collections.abc import Sequence
from typing import Any

import pytest
import structlog

from tests.store.worlds import HotWorld
from wangtimer.core.errors import StoreAway
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.store.replica import Replica, Replicas
from wangtimer.testing.doubles import HandClock, MemoryReplicaTexts, MemoryServer

COLOURS: ReplicaKind[list[str]] = ReplicaKind("colours", list, lambda told: [str(one) for one in told], [])
SIZES: ReplicaKind[int] = ReplicaKind("sizes", str, int, 0, read_every_s=3.0)


class Texts(MemoryReplicaTexts):
    """Counts the commands."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.reads: list[Sequence[str]] = []
        self.writes: list[str] = []

    def read(self, names: Sequence[str]) -> list[str | None]:
        self.reads.append(names)
        return super().read(names)

    def write(self, name: str, text: str) -> None:
        self.writes.append(name)
        super().write(name, text)


class Deployment:
    """SQL, in which None stands for one that is away; a Redis; and a process."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.server = MemoryServer("Redis", self.clock)
        self.texts: Any = Texts(self.server)
        self.colours_in_sql: list[str] | None = ["red"]
        self.colours, self.sizes = self._colours(), Replica(SIZES, lambda: 7, self.texts, self.clock)
        self.all = Replicas(self.texts, self.clock, [self.colours], [self.sizes])

    def _colours(self) -> Replica[list[str]]:
        return Replica(COLOURS, self.colours_of_sql, self.texts, self.clock)

    def colours_of_sql(self) -> list[str]:
        if self.colours_in_sql is None:
            raise StoreAway("SQL", "switched off by the test")
        return self.colours_in_sql


@pytest.fixture
def it() -> Deployment:
    return Deployment()


def test_texts_are_read_in_the_order_of_their_names(hot: HotWorld) -> None:
    assert hot.replica_texts.read(["a", "b"]) == [None, None]
    hot.replica_texts.write("b", "büro")
    hot.replica_texts.write("a", "")
    assert hot.replica_texts.read(["a", "none", "b"]) == ["", None, "büro"]
    hot.replica_texts.write("b", "x")
    assert hot.replica_texts.read(["b"]) == ["x"]
    hot.lose_all()
    assert hot.replica_texts.read(["b"]) == [None]


def test_what_is_written_of_one_kind_takes_no_other_away(hot: HotWorld) -> None:
    hot.replica_texts.write("alerted-apps", '{"shop":{}}')
    hot.replica_texts.write("limits", "{}")
    assert hot.replica_texts.read(["alerted-apps"]) == ['{"shop":{}}']


# telling


def test_what_is_told_is_what_sql_has_also_where_it_changes_meanwhile(it: Deployment) -> None:
    write = it.texts.write

    def write_late(name: str, text: str) -> None:
        write(name, text)
        it.colours_in_sql = ["red", "green"]

    it.texts.write = write_late
    it.colours.tell()
    assert it.colours.read() == ["red", "green"]


def test_a_sweep_reads_all_by_one_command_and_tells_what_redis_lost_or_has_otherwise(it: Deployment) -> None:
    def told_again() -> tuple[int, list[str]]:
        it.texts.reads.clear()
        it.texts.writes.clear()
        it.all.tell_again()
        return len(it.texts.reads), it.texts.writes[:]

    assert told_again() == (1, ["colours", "sizes"])
    assert told_again() == (1, [])
    it.colours_in_sql = []
    assert told_again() == (1, ["colours"])
    it.texts.write("sizes", "no number")
    assert told_again() == (1, ["sizes"])
    it.server.lose()
    assert told_again() == (1, ["colours", "sizes"])


def test_what_cannot_be_told_holds_up_no_other(it: Deployment) -> None:
    it.colours_in_sql = None
    with pytest.raises(StoreAway):
        it.all.tell_again()
    assert it.sizes.read() == 7


# knowing


def test_a_process_reads_all_by_one_command(it: Deployment) -> None:
    it.all.tell_again()
    it.texts.reads.clear()
    it.all.read()
    assert (it.colours.known, it.sizes.known) == (["red"], 7)
    assert it.texts.reads == [["colours", "sizes"]]


def test_while_redis_has_lost_it_or_has_what_cannot_be_read_what_is_known_counts(it: Deployment) -> None:
    it.colours.write(["blue"])
    it.all.read()
    for text in (None, "no JSON", "7"):
        it.server.lose()
        if text is not None:
            it.texts.write("colours", text)
        with structlog.testing.capture_logs() as lines:
            it.all.read()
            it.all.read()
        assert it.colours.known == ["blue"]
        assert [one["event"] for one in lines] == ["replica_unread"] * (text is not None)


def test_a_process_that_knows_nothing_asks_sql_also_while_redis_is_away(it: Deployment) -> None:
    it.server.away, it.colours_in_sql = True, None
    with pytest.raises(StoreAway):
        it.all.read()
    assert (it.colours.is_known, it.colours.known, it.sizes.known) == (False, [], 7)
    assert not it.all.are_known
    it.colours_in_sql = ["green"]
    with pytest.raises(StoreAway):
        it.all.read()
    assert it.all.are_known
    assert it.colours.known == ["green"]
    it.colours_in_sql = ["later"]
    it.server.away = False
    it.all.read()
    assert it.colours.known == ["green"]


def test_calls_wait_for_those_that_they_need_and_for_no_other(it: Deployment) -> None:
    it.all = Replicas(it.texts, it.clock, [it.sizes], [it.colours])
    it.colours_in_sql = None
    with pytest.raises(StoreAway):
        it.all.read()
    assert it.all.are_known


def test_what_was_asked_for_before_takes_the_place_of_nothing_newer(it: Deployment) -> None:
    it.colours.learn('["new"]', 7.0)
    it.colours.learn('["old"]', 6.9)
    assert it.colours.known == ["new"]


# for those who read by themselves


def test_who_asks_for_it_reads_it_once_in_so_many_seconds(it: Deployment) -> None:
    it.sizes.write(9)
    for _ in range(100):
        assert it.sizes.lately() == 9
        it.clock.sleep(0.1)
    assert len(it.texts.reads) == 4
    it.texts.reads.clear()
    it.all.read()
    it.sizes.lately()
    assert len(it.texts.reads) == 1


def test_while_nobody_can_tell_it_there_is_an_error_and_later_what_is_known(it: Deployment) -> None:
    it.server.away, it.colours_in_sql = True, None
    with pytest.raises(StoreAway):
        it.colours.lately()
    it.colours_in_sql = ["red"]
    assert it.colours.lately() == ["red"]
    it.colours_in_sql = None
    it.clock.sleep(60)
    assert it.colours.lately() == ["red"]
