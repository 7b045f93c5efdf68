"""What goes on beside the engine: ways out of apps are read where they changed, and count from then on."""

import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
import trustme

from tests.callback.calls import egress_of
from tests.certificates import Pair, pair_of, pem_of
from tests.store.worlds import until
from wangtimer.callback import Tls
from wangtimer.core.egress.egress_rules import Peer
from wangtimer.core.egress.way_out import WAYS_OUT, AppEgress, WayOut, WaysOut
from wangtimer.core.errors import StoreAway
from wangtimer.features.egress.ways_out_reader import WaysOutReader
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.replica import Replicas, ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.ways_out import WaysOutMark, open_key, seal_key
from wangtimer.testing.doubles.hand_clock import HandClock

SEALS = Seals({"a": b"a" * 32})
PLAIN = Peer("", "8.8.8.8", 80)
STRICT = {"shop": WayOut(AppEgress(https_only=True))}


@pytest.fixture(scope="module")
def pair() -> Pair:
    return pair_of(trustme.CA(), "shop")


class NotedTexts(ReplicaTexts):
    reads = 0
    is_away = False

    def read(self, names: Sequence[str]) -> list[str | None]:
        if self.is_away:
            raise StoreAway("Redis", "it does not answer")
        self.reads += list(names) == [WAYS_OUT.name]
        return super().read(names)


class World:
    """A process' reader, its Redis and SQL."""

    def __init__(self, connection: RedisConnection) -> None:
        self.redis = connection
        self.texts = NotedTexts(connection, Keys("wt"))
        self.in_sql: WaysOut | None = WaysOut("", {})
        self.asked_sql = 0
        self.egress, self.tls = egress_of(), Tls("")
        source: Any = SimpleNamespace(mark=lambda: self._sql().mark, read=self._sql)
        self.replica = WaysOutMark(source, self.texts, HandClock())
        self.reader = self.new_reader()

    def new_reader(self, seals: Seals = SEALS) -> WaysOutReader:
        def opened(sealed: str, app: str) -> str:
            return open_key(seals, sealed, app)

        return WaysOutReader(self.replica, opened, self.egress, self.tls, "")

    def tell(self, mark: str, ways: Mapping[str, WayOut]) -> None:
        was, self.in_sql = self.in_sql, WaysOut(mark, ways)
        self.replica.tell()
        self.in_sql, self.asked_sql = was, 0

    def told(self, mark: str, ways: Mapping[str, WayOut]) -> None:
        self.tell(mark, ways)
        self.reader.read()

    def context(self, app: str) -> ssl.SSLContext:
        return self.tls._context_of(app)

    def _sql(self) -> WaysOut:
        self.asked_sql += 1
        if self.in_sql is None:
            raise StoreAway("SQL", "it does not answer")
        return self.in_sql


@pytest.fixture
def world(redis_url: str):
    with closing(RedisConnection(redis_url)) as connection:
        yield World(connection)


def way_with(pair: Pair, app: str = "shop", seals: Seals = SEALS, **egress: object) -> WayOut:
    return WayOut(AppEgress(**egress), pair.chain, seal_key(seals, pair.key, app))  # type: ignore[arg-type]


def test_what_is_told_counts_and_is_read_once(world: World) -> None:
    for _ in range(3):
        world.told("m1", STRICT)
    assert (world.texts.reads, world.egress.version) == (1, 1)
    assert not world.egress.allows(PLAIN, "shop")
    assert world.egress.allows(PLAIN, "bank")
    world.told("m2", {})
    assert world.egress.allows(PLAIN, "shop")


def test_a_mark_that_is_read_with_the_other_replicas_has_them_read_once(world: World) -> None:
    replicas = Replicas(world.texts, HandClock(), (), (world.replica,))
    world.told("m1", {})
    world.reader.start()
    world.tell("m2", STRICT)
    for _ in range(3):
        replicas.read()
        until(lambda: not world.egress.allows(PLAIN, "shop"))
    assert world.texts.reads == 2


def test_a_mark_that_redis_lost_has_nothing_read(world: World) -> None:
    marks: list[str] = []
    world.replica.on_mark = marks.append
    replicas = Replicas(world.texts, HandClock(), (), (world.replica,))
    replicas.read()
    assert (marks, world.asked_sql) == ([], 0)
    world.tell("m", {})
    replicas.read()
    assert marks == ["m"]


def test_while_redis_has_lost_them_what_is_known_counts(world: World) -> None:
    world.told("m", STRICT)
    world.redis.command(lambda client: client.flushall())
    world.reader.read()
    assert not world.egress.allows(PLAIN, "shop")
    assert world.asked_sql == 0


def test_a_process_that_knows_none_asks_sql_and_is_ready_only_then(world: World) -> None:
    world.in_sql = None
    world.reader.warm_up()
    assert not world.reader.is_known
    world.texts.is_away = True
    world.reader.warm_up()
    assert not world.reader.is_known
    world.texts.is_away, world.in_sql = False, WaysOut("", STRICT)
    world.reader.warm_up()
    assert world.reader.is_known
    assert not world.egress.allows(PLAIN, "shop")
    world.told("m", {})
    assert world.egress.allows(PLAIN, "shop")


def test_a_certificate_is_shown_by_its_own_app_only(world: World, pair: Pair) -> None:
    world.told("m", {"shop": way_with(pair), "bank": WayOut(AppEgress(https_only=True))})
    assert world.context("shop") is not world.context("bank")
    assert world.context("bank") is world.context("other")


def test_a_context_is_made_anew_only_where_its_own_has_changed(world: World, pair: Pair) -> None:
    authority = pem_of(trustme.CA())
    way = way_with(pair)
    seen = []
    for number, of_shop in enumerate(
        [
            way,
            way,
            way._replace(egress=AppEgress(https_only=True)),
            way_with(pair),
            way_with(pair, authorities=authority),
        ]
    ):
        world.told(f"m{number}", {"shop": of_shop})
        seen.append(world.context("shop"))
    assert [one is other for one, other in pairwise(seen)] == [True, True, False, False]


def test_an_app_trusts_its_own_authorities_beside_the_others(world: World) -> None:
    authority = trustme.CA()
    world.told("m", {"shop": WayOut(AppEgress(authorities=pem_of(authority)))})
    own, all_ = (len(world.context(app).get_ca_certs()) for app in ("shop", "bank"))
    assert own == all_ + 1


def test_a_process_without_the_key_says_so_and_makes_no_call_with_tls_for_the_app(
    world: World, pair: Pair
) -> None:
    world.reader = world.new_reader(Seals({"b": b"b" * 32}))
    with structlog.testing.capture_logs() as lines:
        world.told("m", {"shop": way_with(pair), "bank": way_with(pair, "bank", Seals({"b": b"b" * 32}))})
    assert [(one["event"], one["app"]) for one in lines] == [("client_certificate_unusable", "shop")]
    assert "no key 'a'" in world.tls.fault_of("shop")
    assert not world.tls.fault_of("bank")
    assert not any(pair.key in str(line) for line in lines)


def test_one_that_cannot_be_used_holds_up_no_other(world: World, pair: Pair) -> None:
    bad = {
        "shop": WayOut(AppEgress(https_only=True), "no pem", "no seal"),
        "ads": WayOut(AppEgress(authorities="no pem")),
    }
    world.told("m", bad | {"bank": way_with(pair, "bank")})
    assert world.tls.fault_of("shop")
    assert world.tls.fault_of("ads")
    assert not world.tls.fault_of("bank")
    assert not world.egress.allows(PLAIN, "shop")
