"""What goes on beside the engine: our own servers are looked up again, and refusals are told."""

from ipaddress import ip_address

import pytest
import structlog

from tests.callback.calls import egress_of
from wangtimer.core.egress.egress_rules import OwnServer, Peer
from wangtimer.core.egress.special_networks import Address
from wangtimer.core.errors import StoreAway
from wangtimer.features.egress.egress_watch import LOOK_UP_EVERY_S, MOST_LINES, EgressWatch
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.process_marks import RefusalCount
from wangtimer.testing.doubles.hand_clock import HandClock

SQL = OwnServer("SQL", "db.internal", frozenset({ip_address("10.0.0.5")}), 3306)
ANYWHERE = "public,0.0.0.0/0,::/0"


class Names:
    """Stands for DNS."""

    def __init__(self, *addresses: str) -> None:
        self.asked = 0
        self.point_to(*addresses)

    def point_to(self, *addresses: str) -> None:
        self._addresses = frozenset(map(ip_address, addresses))

    def __call__(self, _name: str) -> frozenset[Address]:
        self.asked += 1
        return self._addresses


@pytest.fixture
def count(redis_url: str) -> RefusalCount:
    return RefusalCount(RedisConnection(redis_url), Keys("wt"))


def test_a_server_that_moves_is_refused_at_its_new_address_within_half_a_minute(count: RefusalCount) -> None:
    egress, clock, names = egress_of(ANYWHERE, SQL), HandClock(), Names("10.0.0.5")
    watch = EgressWatch(egress, count, clock, names)
    names.point_to("10.0.0.6")
    watch.watch()
    assert (names.asked, egress.version) == (0, 0)
    clock.sleep(LOOK_UP_EVERY_S)
    watch.watch()
    assert (names.asked, egress.version) == (1, 1)
    assert not egress.allows(Peer("", "10.0.0.6", 3306), "app")
    assert egress.allows(Peer("", "10.0.0.5", 3306), "app")


def test_servers_that_stay_change_no_version_and_a_lost_name_keeps_its_addresses(count: RefusalCount) -> None:
    egress, clock, names = egress_of(ANYWHERE, SQL), HandClock(), Names("10.0.0.5")
    watch = EgressWatch(egress, count, clock, names)
    watch.find_servers()
    names.point_to()
    watch.find_servers()
    assert (names.asked, egress.version) == (2, 0)
    assert not egress.allows(Peer("", "10.0.0.5", 3306), "app")


def test_a_server_that_was_never_found_is_told_once(count: RefusalCount) -> None:
    unfound = OwnServer("SQL", "db.internal", frozenset(), 3306)
    watch = EgressWatch(egress_of(ANYWHERE, unfound), count, HandClock(), Names())
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            watch.find_servers()
    assert [(one["event"], one["name"]) for one in lines] == [("own_server_not_found", "db.internal")]


def test_refusals_are_told_with_their_rule_and_counted_over_all_processes(count: RefusalCount) -> None:
    for times in (2, 3):
        egress = egress_of("public")
        for _ in range(times):
            egress.allows(Peer("db.example", "10.0.0.5", 3306), "shop")
        with structlog.testing.capture_logs() as lines:
            EgressWatch(egress, count, HandClock()).watch()
        (line,) = lines
        assert line == {
            "event": "egress_refused",
            "log_level": "warning",
            "app": "shop",
            "host": "db.example",
            "address": "10.0.0.5",
            "port": 3306,
            "rule": "10.0.0.5 is Private-Use, and not allowed at port 3306",
            "times": times,
        }
    assert count.total() == 5


def test_of_many_refusals_a_few_lines_are_told_and_all_are_counted(count: RefusalCount) -> None:
    egress = egress_of("public")
    for port in range(1, 3_001):
        egress.allows(Peer("", "10.0.0.5", port), "shop")
    with structlog.testing.capture_logs() as lines:
        EgressWatch(egress, count, HandClock()).watch()
    assert len(lines) == MOST_LINES + 1
    assert sum(line["times"] for line in lines) == count.total() == 3_000


def test_refusals_are_counted_later_where_redis_is_away(count: RefusalCount) -> None:
    class Away(RefusalCount):
        is_away = True

        def add(self, number: int) -> None:
            if self.is_away:
                raise StoreAway("Redis", "it does not answer")
            count.add(number)

    away = Away(RedisConnection(f"redis://127.0.0.1:{free_port()}/0"), Keys("wt"))
    egress = egress_of("public")
    watch = EgressWatch(egress, away, HandClock())
    egress.allows(Peer("", "10.0.0.5", 1), "shop")
    watch.watch()
    away.is_away = False
    egress.allows(Peer("", "10.0.0.5", 1), "shop")
    watch.watch()
    watch.watch()
    assert count.total() == 2
