"""Connections to a Redis that forgets scripts, drops connections, freezes, refuses writes, or is a cluster."""

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.crc import key_slot
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError, ResponseError

from tests.chaos.proxy import Proxy
from tests.servers.redis_server import RedisServer, redis_program
from tests.store.definitions import definition
from tests.store.members import due_at, outcome_of
from tests.store.worlds import redis_hot, until
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.slicing import SharedLane, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.connection import Argument, Reconnects, RedisConnection, ScriptCall, script
from wangtimer.store.redis.consumers import ConsumerLists, ListBounds
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies
from wangtimer.store.redis.permits import PermitOrder
from wangtimer.store.redis.slices import BacklogRoom
from wangtimer.store.seals import NO_KEYS, Seals

HERE, THERE = Slice(29_920_000, 0), Slice(29_920_001, 12)
NONE_YET = {(HERE, "c"): [due_at(0).member]}


@pytest.fixture
def raw(store_url: str) -> Iterator[Redis]:
    """The test's own client."""
    with closing(Redis.from_url(store_url)) as client:
        yield client


@pytest.fixture
def connection(store_url: str) -> Iterator[RedisConnection]:
    with closing(RedisConnection(store_url)) as connection:
        yield connection


def look(connection: RedisConnection) -> list[str]:
    """Run one script, on an empty slice."""
    return connection.run("look", Keys("wt").of_slice(HERE, "due", "armed", "running"), [])


# scripts


def test_scripts_a_server_never_saw_are_run(connection: RedisConnection) -> None:
    assert look(connection) == ["", "", ""]


def test_scripts_a_server_has_lost_are_run(connection: RedisConnection, raw: Redis) -> None:
    look(connection)
    raw.script_flush()
    assert look(connection) == ["", "", ""]


def test_several_scripts_a_server_has_lost_are_all_run(connection: RedisConnection, raw: Redis) -> None:
    keys = Keys("wt").of_slice(HERE, "due", "armed", "running")
    lock = Keys("wt").of_slice(HERE, "lock")
    calls = [ScriptCall(script("look"), keys, []), ScriptCall(script("unlock"), lock, ["t"])]
    look(connection)
    for _ in range(2):
        raw.script_flush()
        assert connection.run_all(calls, lambda pipe: pipe.get("x")) == [["", "", ""], 0, None]


def test_an_error_of_one_script_of_several_is_raised(connection: RedisConnection, raw: Redis) -> None:
    (due,) = Keys("wt").of_slice(HERE, "due")
    raw.set(due, "no sorted set")
    keys = Keys("wt").of_slice(HERE, "due", "armed", "running")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        connection.run_all([ScriptCall(script("look"), keys, [])])


def test_every_script_names_its_keys_and_arguments() -> None:
    for file in resources.files("wangtimer.store.redis").joinpath("lua").iterdir():
        head = file.read_text().split("\n\n")[0]
        assert head.startswith("-- ")
        assert "KEYS[1]" in head, file.name


# connections


def kill_connections(raw: Redis) -> None:
    """Close every connection but the test's own."""
    raw.client_kill_filter(_type="normal", skipme=True)


def test_a_connection_the_server_closed_is_opened_again(connection: RedisConnection, raw: Redis) -> None:
    look(connection)
    kill_connections(raw)
    assert look(connection) == ["", "", ""]


class Breaking:
    """Work whose connection breaks a number of times."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, _client: Redis) -> str:
        if self.left:
            self.left -= 1
            raise RedisConnectionError("Connection closed by server.")
        return "done"


def test_work_whose_connection_breaks_gets_one_more_try(connection: RedisConnection) -> None:
    assert connection.command(Breaking(1)) == "done"
    with pytest.raises(StoreAway):
        connection.command(Breaking(2))


class StopWatch:
    """Counts its readings: each is a second later."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


def test_no_reconnect_is_known_before_the_first_connect() -> None:
    assert Reconnects(StopWatch()).seconds_since == 0.0


def test_the_first_connect_is_noted(connection: RedisConnection) -> None:
    look(connection)
    first = connection.reconnects.seconds_since
    time.sleep(0.002)
    assert connection.reconnects.seconds_since > first


def test_a_reconnect_is_noted(store_url: str, raw: Redis) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        look(connection)
        watch.seconds = 100
        look(connection)
        assert connection.reconnects.seconds_since >= 100 - 1
        kill_connections(raw)
        look(connection)
        assert connection.reconnects.seconds_since <= 2


def test_a_pool_that_grows_is_no_reconnect(store_url: str) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        look(connection)
        watch.seconds = 100
        hold_many(connection, 5)
        assert connection.reconnects.seconds_since >= 100 - 1


def hold_many(
    connection: RedisConnection, number: int, is_right: Callable[[Redis], object] = Redis.ping
) -> None:
    """Use that many connections of the pool at once, each of which is right."""
    together = threading.Barrier(number, timeout=5)

    def held(client: Redis) -> None:
        with client.client() as one:
            assert is_right(one)
            together.wait()

    threads = [threading.Thread(target=connection.command, args=(held,)) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert not together.broken


def test_one_outage_of_a_whole_pool_is_one_reconnect(store_url: str, raw: Redis) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        hold_many(connection, 3)
        kill_connections(raw)
        look(connection)
        watch.seconds = 100
        hold_many(connection, 3)
        assert connection.reconnects.seconds_since >= 100 - 10


def test_a_second_outage_is_a_second_reconnect(store_url: str, raw: Redis) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        for moment in (100, 200, 300):
            look(connection)
            watch.seconds = moment
            kill_connections(raw)
            look(connection)
            assert connection.reconnects.seconds_since <= 3


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of the test's own, to be frozen and killed."""
    with RedisServer(redis_program(), tmp_path) as server:
        yield server


def test_a_pool_that_grows_onto_another_server_has_reconnected(
    store_url: str, own_server: RedisServer
) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        look(connection)
        watch.seconds = 100
        lead_to(own_server, connection)
        hold_many(connection, 2)
        assert connection.reconnects.seconds_since <= 2
        watch.seconds = 200
        hold_many(connection, 5)
        assert connection.reconnects.seconds_since >= 100 - 2


def lead_to(server: RedisServer, connection: RedisConnection) -> None:
    """Let new connections find this server, as when an address moves to a promoted replica."""
    connection.command(lambda client: client.connection_pool.connection_kwargs.update(port=server.port))


def test_a_connection_that_slept_through_one_outage_notes_the_next_one_by_its_server() -> None:
    reconnects = Reconnects(StopWatch())
    used, idle = reconnects.note(None, "first"), reconnects.note(None, "first")
    reconnects.note(used, "first")
    reconnects.note(idle, "second")
    assert reconnects.seconds_since == 1


def test_where_servers_do_not_say_who_they_are_outages_are_noted_all_the_same(
    store_url: str, raw: Redis
) -> None:
    raw.execute_command("ACL", "SETUSER", "modest", "on", ">word", "~*", "&*", "+@all", "-info")
    watch = StopWatch()
    try:
        with closing(
            RedisConnection(store_url.replace("//", "//modest:word@"), monotonic=watch)
        ) as connection:
            look(connection)
            watch.seconds = 100
            hold_many(connection, 5)
            assert connection.reconnects.seconds_since >= 100 - 1
            kill_connections(raw)
            look(connection)
            assert connection.reconnects.seconds_since <= 2
    finally:
        raw.acl_deluser("modest")


def test_a_server_that_became_a_replica_may_have_forgotten(store_url: str, raw: Redis) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=watch)) as connection:
        look(connection)
        watch.seconds = 100
        raw.replicaof("127.0.0.1", "1")
        try:
            seconds_until_away(lambda: write(connection))
        finally:
            raw.replicaof("NO", "ONE")
        assert connection.reconnects.seconds_since <= 2
        watch.seconds = 200
        kill_connections(raw)
        look(connection)
        assert connection.reconnects.seconds_since <= 2


# servers that were demoted


@pytest.fixture
def successor(tmp_path: Path) -> Iterator[RedisServer]:
    """The Redis to which a name leads later."""
    (directory := tmp_path / "successor").mkdir()
    with RedisServer(redis_program(), directory) as server:
        yield server


REFUSALS = {
    "READONLY": ("REPLICAOF", "127.0.0.1", "1"),
    "NOREPLICAS": ("CONFIG", "SET", "min-replicas-to-write", "1"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_once_redis_has_moved_no_connection_stays_with_the_server_that_was_demoted(
    own_server: RedisServer, successor: RedisServer, refusal: str
) -> None:
    with (
        Proxy(own_server.port) as way,
        closing(raw_of(own_server)) as old,
        closing(RedisConnection(f"redis://127.0.0.1:{way.port}/0")) as connection,
    ):
        hold_many(connection, 3)
        old.execute_command(*REFUSALS[refusal])
        way.lead_to(successor.port)
        before = connection.reconnects.number
        assert connection.command(stays_with(connection)) == successor.port
        assert write(connection) is not None
        hold_many(connection, 3, lambda client: client.info("server")["tcp_port"] == successor.port)
        assert connection.reconnects.number > before


def stays_with(connection: RedisConnection) -> Callable[[Redis], int]:
    """Return work that holds a connection while another one finds out; it writes, and tells to which server."""
    found_out: list[object] = []

    def work(client: Redis) -> int:
        with client.client() as one:
            one.ping()
            if not found_out:
                found_out.append(write(connection))
            one.set("x", 1)
            return int(one.info("server")["tcp_port"])

    return work


def test_a_reader_leaves_a_replica_that_has_lost_its_primary(
    own_server: RedisServer, successor: RedisServer
) -> None:
    with (
        Proxy(own_server.port) as way,
        closing(raw_of(own_server)) as old,
        closing(RedisConnection(f"redis://127.0.0.1:{way.port}/0")) as connection,
    ):
        connection.command(lambda client: client.get("x"))
        old.config_set("replica-serve-stale-data", "no")
        old.replicaof("127.0.0.1", "1")
        way.lead_to(successor.port)
        assert connection.command(lambda client: client.get("x")) is None


def test_a_server_that_stays_a_replica_is_connected_to_anew_once_a_second_at_most(store_url: str) -> None:
    watch = StopWatch()
    with closing(RedisConnection(store_url, monotonic=lambda: watch.seconds)) as connection:
        tries: list[float] = []

        def refused(_client: Redis) -> None:
            tries.append(watch.seconds)
            raise ReadOnlyError("You can't write against a read only replica.")

        for seconds in (1, 1, 1, 2, 2):
            watch.seconds = seconds
            seconds_until_away(lambda: connection.command(refused))
        assert tries == [1, 1, 1, 1, 2, 2, 2]


# servers that are away


def seconds_until_away(work: Callable[[], object]) -> float:
    started_at = time.monotonic()
    with pytest.raises(StoreAway):
        work()
    return time.monotonic() - started_at


def test_a_frozen_server_is_away_within_the_time_out_and_not_asked_twice(own_server: RedisServer) -> None:
    with closing(RedisConnection(own_server.url(), timeout_s=0.3)) as connection:
        look(connection)
        own_server.process.freeze()
        assert 0.3 <= seconds_until_away(lambda: look(connection)) < 0.6
        assert seconds_until_away(lambda: connection.run_all([], lambda pipe: pipe.get("x"))) < 0.6
        own_server.process.thaw()
        assert look(connection) == ["", "", ""]


def test_a_frozen_server_is_away_to_whoever_connects_anew(own_server: RedisServer) -> None:
    own_server.process.freeze()
    with closing(RedisConnection(own_server.url(), timeout_s=0.3)) as connection:
        assert seconds_until_away(lambda: look(connection)) < 0.8
    own_server.process.thaw()


def test_a_dead_server_is_away_at_once_until_it_is_back(own_server: RedisServer) -> None:
    watch = StopWatch()
    with closing(RedisConnection(own_server.url(), monotonic=watch)) as connection:
        look(connection)
        own_server.process.kill()
        assert seconds_until_away(lambda: look(connection)) < 0.5
        own_server.process.start()
        watch.seconds = 100
        assert look(connection) == ["", "", ""]
        assert connection.reconnects.seconds_since <= 2


def write(connection: RedisConnection) -> object:
    return connection.run("agenda_add", ["{x}agenda", "{x}closing"], ["1:0", 1])


def test_a_server_that_is_full_is_away(connection: RedisConnection, raw: Redis) -> None:
    raw.config_set("maxmemory", 1)
    try:
        seconds_until_away(lambda: connection.run_all([], lambda pipe: pipe.set("x", 1)))
        seconds_until_away(lambda: write(connection))
    finally:
        raw.config_set("maxmemory", 0)


def test_a_server_that_became_a_replica_is_away(connection: RedisConnection, raw: Redis) -> None:
    raw.replicaof("127.0.0.1", "1")
    try:
        seconds_until_away(lambda: connection.command(lambda client: client.set("x", 1)))
        seconds_until_away(lambda: write(connection))
    finally:
        raw.replicaof("NO", "ONE")


def test_a_server_whose_disk_fails_is_away(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with (
        RedisServer(redis_program(), disk, "--save", "3600 1") as server,
        closing(RedisConnection(server.url())) as connection,
        closing(raw_of(server)) as raw,
    ):
        shutil.rmtree(disk)
        raw.bgsave()
        until(lambda: raw.info("persistence")["rdb_last_bgsave_status"] == "err")
        seconds_until_away(lambda: write(connection))


def test_a_server_that_runs_a_long_script_is_away(own_server: RedisServer) -> None:
    with closing(RedisConnection(own_server.url())) as connection, closing(raw_of(own_server)) as raw:
        raw.config_set("busy-reply-threshold", 1)
        look(connection)
        runaway = threading.Thread(target=run_for_ever, args=(own_server,))
        runaway.start()
        until(lambda: is_busy(raw))
        seconds_until_away(lambda: look(connection))
        raw.script_kill()
        runaway.join(5)


def raw_of(server: RedisServer) -> Redis:
    return Redis.from_url(server.url())


def run_for_ever(server: RedisServer) -> None:
    with closing(raw_of(server)) as client, contextlib.suppress(ResponseError):
        client.eval("while true do end", 0)


def is_busy(raw: Redis) -> bool:
    try:
        raw.ping()
    except ResponseError as error:
        return str(error).startswith("BUSY")
    return False


def test_a_mistake_is_not_an_absence(connection: RedisConnection) -> None:
    with pytest.raises(ResponseError):
        connection.command(lambda client: client.execute_command("NO-SUCH-COMMAND"))


# Redis Cluster


class Watched(RedisConnection):
    """Notes the keys of every script it runs."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    def run(
        self, name: str, keys: Sequence[str], arguments: Sequence[Argument], is_polled: bool = False
    ) -> Any:
        self.seen.append((script(name).sha, tuple(keys)))
        return super().run(name, keys, arguments, is_polled)

    def run_for_bytes(self, name: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        self.seen.append((script(name).sha, tuple(keys)))
        return super().run_for_bytes(name, keys, arguments)

    def run_all(self, calls: Sequence[ScriptCall], then: Callable[[Any], None] | None = None) -> list[Any]:
        self.seen += [(one.script.sha, tuple(one.keys)) for one in calls]
        return super().run_all(calls, then)


def test_the_keys_of_a_script_share_a_slot_of_redis_cluster(store_url: str, raw: Redis) -> None:
    with closing(Watched(store_url)) as connection:
        hot = redis_hot(connection, raw)
        member = due_at(hot.clock.now_ms())
        hot.slices.add({HERE: [member], THERE: [member]}, is_repair=True)
        hot.slices.arm_now(THERE, [member])
        hot.slices.lock({HERE: "t", THERE: "t"})
        for slice_ in (HERE, THERE):
            hot.slices.turn(slice_, "t", 10, keep_leases=False, backlog=BacklogRoom())
            hot.slices.claim(slice_, "c", [member.member])
            hot.slices.renew({(slice_, "c"): [member.member]})
            hot.slices.try_apart({(slice_, "c"): [member.member]}, 5)
            hot.slices.put_back(slice_, "c", [member])
            hot.slices.release({(slice_, "c"): [member.member]})
            hot.slices.next_need(slice_)
            hot.slices.needs_of_same({slice_: Tally(1)})
            hot.slices.unlock(slice_, "t")
        hot.agenda.add([(HERE, 1), (THERE, 2)])
        hot.agenda.begin_closing(HERE, "t", 5)
        hot.agenda.finish_closing(HERE, "t", None)
        hot.window.next(0, from_present=False)
        hot.window.keep(0)
        hot.window.done(0, 1)
        hot.window.narrow(0)
        hot.definitions.put([definition(1), definition(2)])
        hot.outbox.park([outcome_of(member.member)])
        hot.outbox.forget(hot.outbox.page(1))
        hot.load.reserve({HERE.minute: 1})
        connection.run("control_pace", [Keys("wt").control_pace("a")], [1_000_000, 10])
        lane = SharedLane.of_way("shop", "a.example:80")
        hot.lanes.add({lane: [member]}, is_repair=True)
        hot.lanes.pull(lane, "c", 1, keep_leases=False)
        hot.lanes.feed(lane, "t")
        hot.lanes.fed(lane, "t", None)
        hot.lanes.enter([lane])
        hot.lanes.forget({lane: "t"})
        hot.permits.carry_out([PermitOrder(SharedLane.of_limit("shop"), CallLimit(9, 9), "a", fresh=1)])
        SigningCopies(MarkedCopies(connection, Keys("wt")), NO_KEYS).put(
            [AppSigning(app, 1, False, ()) for app in ("a", "b")]
        )
        lists = ConsumerLists(Keys("wt"), ListBounds(10, 10_000), Seals({"k": b"k" * 32}))
        entry = ConsumerEntry(member.member.firing_id, 1, 1_000, b"{}")
        for group in (ConsumerGroup("shop", "dunning"), ConsumerGroup("billing", "nightly")):
            connection.run_all([lists.put(group, entry, 0)])
            take = lists.take(group, 1, 0)
            connection.run_for_bytes("consumers_take", take.keys, take.arguments)
            connection.run_all([lists.give_back(group, [entry]), lists.put(group, entry, 2_000)])

    lua = resources.files("wangtimer.store.redis").joinpath("lua")
    names = {script(file.name.removesuffix(".lua")).sha: file.name for file in lua.iterdir()}
    # It reads definitions of many slots: what would be in Redis Cluster's way.
    names.pop(script("define_read").sha)
    assert {names[sha] for sha, _ in connection.seen} == set(names.values())
    for sha, keys in connection.seen:
        assert len({key_slot(key.encode()) for key in keys}) == 1, (names[sha], keys)


def test_the_slices_of_a_minute_are_spread_over_the_cluster() -> None:
    keys = Keys("wt")
    slots = {key_slot(keys.of_slice(Slice(29_920_000, bucket), "due")[0].encode()) for bucket in range(16)}
    assert len(slots) > 8


def test_deployments_with_different_prefixes_share_no_key() -> None:
    def names(keys: Keys) -> set[str]:
        marks = {
            keys.fed,
            keys.announced,
            keys.feeding,
            keys.feeder,
            keys.compared,
            keys.load,
            keys.part,
            keys.narrow,
        }
        plain = {keys.agenda, keys.closing, keys.outbox, *marks}
        return plain | {keys.definition(1), *keys.of_slice(HERE, "due", "lock")}

    assert names(Keys("a")).isdisjoint(names(Keys("b")))
    assert len(names(Keys("a"))) == 14
