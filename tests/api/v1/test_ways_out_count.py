"""From a request of the API to the socket: what is set for an app counts for its calls, and for those of no other."""

from collections.abc import Callable, Iterator

import pytest
import trustme

from tests.api.v1.world import V1World
from tests.api.world import present
from tests.callback.asking_target import AskingTarget
from tests.callback.calls import Outcomes, engine_of
from tests.callback.target import Target
from tests.certificates import Pair, pair_of, pem_of
from wangtimer.callback import Reply
from wangtimer.core.egress.way_out import WayOut, WaysOut
from wangtimer.core.errors import UnopenedSecrets, UnusableTls
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.store.seals import Seals
from wangtimer.store.sql.ways_out import seal_key

Call = Callable[..., Reply]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """It vouches for the target, and for who calls it; this machine does not know it."""
    return trustme.CA()


@pytest.fixture(scope="module")
def pair(authority: trustme.CA) -> Pair:
    return pair_of(authority, "shop")


@pytest.fixture
def world(sqlite_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[V1World]:
    monkeypatch.setenv("WANGTIMER_EGRESS", "public,127.0.0.0/8")
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def call(world: V1World) -> Iterator[Call]:
    """A callback process, which reads what is set before each call."""
    wiring = world.wiring
    engine = engine_of(egress=wiring.egress, tls=wiring.tls)
    engine.start()

    def called(url: str, app: str = "shop") -> Reply:
        wiring.ways_out.read()
        outcomes = Outcomes()
        engine.submit([outcomes.call(url, app=app)])
        return outcomes.wait(1)[0]

    yield called
    engine.stop(0)


@pytest.fixture
def asking(authority: trustme.CA) -> Iterator[AskingTarget]:
    target = AskingTarget(authority, authority, must_show=False)
    yield target
    target.close()


def set_for(world: V1World, app: str, **egress: object) -> None:
    world.wiring.apps.create_missing(app, {}, world.clock.now)
    path, rule = f"/v1/apps/{app}", "/v1/apps/{name}"
    assert world.send("PATCH", path, {"egress": egress}, app=None, rule=rule).status == 200


def test_a_certificate_and_an_authority_of_one_app_count_for_its_calls_alone(
    world: V1World, call: Call, asking: AskingTarget, authority: trustme.CA, pair: Pair
) -> None:
    assert "not to be trusted" in call(asking.url).error
    for app in ("shop", "bank"):
        set_for(world, app, caCertificates=pem_of(authority))
    assert call(asking.url).succeeded
    place = "/v1/client-certificate"
    put = world.send("PUT", place, {"certificate": pair.chain, "privateKey": pair.key})
    assert put.status == 200
    assert call(asking.url).succeeded
    assert call(asking.url, "bank").succeeded
    assert world.send("DELETE", place).status == 200
    assert call(asking.url).succeeded
    assert asking.shown == [None, "shop", None, None]
    set_for(world, "shop", caCertificates=None)
    assert "not to be trusted" in call(asking.url).error
    assert call(asking.url, "bank").succeeded


def test_https_only_counts_for_the_next_call_of_its_app(world: V1World, call: Call) -> None:
    target = Target()
    assert call(target.url).succeeded
    set_for(world, "shop", httpsOnly=True)
    assert call(target.url).is_refused
    assert call(target.url, "bank").succeeded
    set_for(world, "shop", httpsOnly=False)
    assert call(target.url).succeeded
    target.close()


def definition_of(url: str) -> Definition:
    return Definition(7, "shop", 1, TimerStatus.ENABLED, Once(0), Notify(url))


def test_a_process_without_the_key_of_a_certificate_leaves_calls_with_tls_to_others(
    world: V1World, pair: Pair
) -> None:
    """As it does where the secrets of a timer cannot be opened: the firing fails nowhere."""
    sealed = seal_key(Seals({"other": b"o" * 32}), pair.key, "shop")
    ways = WaysOut("m", {"shop": WayOut(chain=pair.chain, sealed_key=sealed)})
    world.wiring.ways_out_mark.of_apps.in_sql = lambda: ways
    world.wiring.ways_out_mark.write("m")
    world.wiring.ways_out.read()
    with pytest.raises(UnusableTls, match=r"timer 7 cannot be called with TLS: .* no key 'other'"):
        world.wiring.request_maker.call_of(definition_of("https://a.example/"), None)
    assert issubclass(UnusableTls, UnopenedSecrets)  # so the firing waits, and does not fail
    plain = definition_of("http://a.example/")
    assert world.wiring.request_maker.call_of(plain, None) == plain.notify
    of_bank = definition_of("https://a.example/")._replace(app="bank")
    assert world.wiring.request_maker.call_of(of_bank, None) == of_bank.notify
    through = definition_of("/a")
    with pytest.raises(UnusableTls):
        world.wiring.request_maker.call_of(
            through, NamedTarget("shop", "orders", 1, Notify("https://a.example/"))
        )
    assert (
        world.wiring.request_maker.call_of(
            through, NamedTarget("shop", "orders", 1, Notify("http://a.example/"))
        ).url
        == "http://a.example/a"
    )


def test_a_process_that_does_not_know_ways_out_yet_pulls_from_no_lane(world: V1World) -> None:
    assert not world.wiring.ways_out.is_known
    world.wiring.ways_out.warm_up()
    assert world.wiring.ways_out.is_known
