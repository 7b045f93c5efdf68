"""The client certificate of an app: set and removed by the app itself, never shown with its key."""

from collections.abc import Iterator

import pytest
import trustme

from tests.api.keyed_world import KeyedWorld
from tests.api.v1.world import V1World
from tests.api.world import present
from tests.certificates import Pair, pair_of, pem_of
from wangtimer.callback.client_certificate import read_pair
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.egress.way_out import AppEgress
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.ways_out import open_key

PLACE = "/v1/client-certificate"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def pair(authority: trustme.CA) -> Pair:
    return pair_of(authority, "shop")


def body_of(pair: Pair) -> dict[str, str]:
    return {"certificate": pair.chain, "privateKey": pair.key}


def test_it_is_set_shown_without_its_key_told_and_removed(small_world: V1World, pair: Pair) -> None:
    assert small_world.send("GET", PLACE).json == {"app": "shop", "certificate": None}
    put = small_world.send("PUT", PLACE, body_of(pair))
    assert put.status == 200
    assert put.json["certificate"]["subject"].startswith("CN=shop")
    assert put.json["certificate"].keys() == {"subject", "fingerprint", "expiresAt"}
    assert small_world.send("GET", PLACE).json == put.json
    assert small_world.send("GET", PLACE, app="bank").json["certificate"] is None
    told = small_world.wiring.ways_out_mark.of_apps.read()
    assert told is not None
    assert told.of_apps.keys() == {"shop"}
    key = open_key(small_world.wiring.seals, told.of_apps["shop"].sealed_key, "shop")
    assert key == read_pair(*pair, small_world.clock.now).key
    for _ in range(2):
        assert small_world.send("DELETE", PLACE).json == {"app": "shop", "certificate": None}
    told = small_world.wiring.ways_out_mark.of_apps.read()
    assert told is not None
    assert not told.of_apps


@pytest.mark.parametrize(
    ("given", "pointer"),
    [({"certificate": "hush"}, "/certificate"), ({"privateKey": "hush"}, "/privateKey")],
    ids=["certificate", "key"],
)
def test_what_cannot_be_used_is_refused_by_its_field_and_not_repeated(
    small_world: V1World, pair: Pair, given: dict[str, str], pointer: str
) -> None:
    answered = small_world.send("PUT", PLACE, body_of(pair) | given)
    assert (answered.status, answered.json["pointer"]) == (400, pointer)
    assert "hush" not in str(answered.json)
    assert small_world.send("GET", PLACE).json["certificate"] is None


@pytest.mark.parametrize(
    "key", [7, ["hush"], {"hush": 1}, "hush" * 9_999], ids=["number", "list", "object", "long"]
)
def test_a_key_of_another_type_is_not_repeated(small_world: V1World, pair: Pair, key: object) -> None:
    answered = small_world.send("PUT", PLACE, {"certificate": pair.chain, "privateKey": key})
    assert answered.status == 400
    assert "hush" not in str(answered.json)


def test_without_a_key_to_encrypt_with_none_is_stored(sqlite_url: str, redis_url: str, pair: Pair) -> None:
    world = V1World(sqlite_url, redis_url, present(), secret_keys="")
    world.wiring.database.create_tables()
    answered = world.send("PUT", PLACE, body_of(pair))
    assert (answered.status, answered.json["pointer"]) == (400, "/privateKey")
    assert "no key to encrypt secrets with" in answered.json["detail"]
    world.close()


def test_while_redis_is_away_it_is_set_and_the_next_sweep_tells(
    small_world: V1World, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_ways: object) -> None:
        raise StoreAway("Redis", "away")

    with monkeypatch.context() as patched:
        patched.setattr(small_world.wiring.ways_out_mark, "write", write)
        assert small_world.send("PUT", PLACE, body_of(pair)).status == 200
    small_world.wiring.replicas.tell_again()
    told = small_world.wiring.ways_out_mark.of_apps.read()
    assert told is not None
    assert "shop" in told.of_apps


@pytest.fixture
def keyed(sqlite_url: str, redis_url: str) -> Iterator[KeyedWorld]:
    world = KeyedWorld(sqlite_url, redis_url, present())
    yield world
    world.close()


def test_an_app_sets_its_own_with_the_scope_of_signing_and_no_other_apps(
    keyed: KeyedWorld, pair: Pair
) -> None:
    keyed.app_of("shop")
    signing = keyed.key("shop", frozenset({Scope.SIGNING_WRITE}))
    timers = keyed.key("shop", frozenset({Scope.TIMERS_WRITE, Scope.TIMERS_READ}))
    bank, operator = keyed.app_of("bank"), keyed.key(None)
    assert keyed.ask("PUT", PLACE, timers, json=body_of(pair)).status_code == 403
    assert keyed.ask("PUT", PLACE, signing, json=body_of(pair)).status_code == 200
    of_shop = {"WangTimer-App": "shop"}
    assert keyed.ask("PUT", PLACE, bank, of_shop, json=body_of(pair)).status_code == 403
    assert keyed.ask("DELETE", PLACE, bank, of_shop).status_code == 403
    assert keyed.ask("GET", PLACE, timers).json["certificate"] is not None  # type: ignore[index]
    assert keyed.ask("GET", PLACE, bank).json["certificate"] is None  # type: ignore[index]
    assert keyed.ask("DELETE", PLACE, operator, of_shop).status_code == 200
    assert keyed.ask("GET", PLACE, timers).json["certificate"] is None  # type: ignore[index]


# what an operator sets


def egress_of(world: V1World, **egress: object) -> tuple[int, dict[str, object]]:
    world.wiring.apps.create_missing("shop", {}, world.clock.now)
    rule = "/v1/apps/{name}"
    answered = world.send("PATCH", "/v1/apps/shop", {"egress": egress}, app=None, rule=rule)
    return answered.status, answered.json


def test_an_operator_sets_the_way_out_which_is_told_at_once(
    small_world: V1World, authority: trustme.CA
) -> None:
    pem = pem_of(authority)
    status, shown = egress_of(small_world, httpsOnly=True, allow=["10.1.0.0/16:443"], caCertificates=pem)
    assert status == 200
    (vouching,) = shown["egress"].pop("caCertificates")  # type: ignore[attr-defined]
    assert vouching.keys() == {"subject", "fingerprint", "expiresAt"}
    assert shown["egress"] == {"httpsOnly": True, "allow": ["10.1.0.0/16:443"]}
    told = small_world.wiring.ways_out_mark.of_apps.read()
    assert told is not None
    assert told.of_apps["shop"].egress == AppEgress(True, ("10.1.0.0/16:443",), pem)
    status, shown = egress_of(small_world, allow=[], caCertificates=None)
    assert shown["egress"] == {"httpsOnly": True, "allow": [], "caCertificates": []}
    assert egress_of(small_world, httpsOnly=None)[0] == 200
    told = small_world.wiring.ways_out_mark.of_apps.read()
    assert told is not None
    assert not told.of_apps


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("allow", ["10.0.0.1/8"]),
        ("allow", ["10.1.0.0/16,public"]),
        ("allow", ["*"]),
        ("allow", ["169.254.169.254"]),
        ("allow", ["fd00:ec2::254"]),
        ("allow", ["10.0.0.1"] * 101),
        ("allow", "10.0.0.1"),
        ("caCertificates", "no pem"),
        ("httpsOnly", "yes"),
        ("verify", False),
    ],
    ids=str,
)
def test_what_cannot_be_set_is_refused_by_its_field(small_world: V1World, field: str, value: object) -> None:
    status, problem = egress_of(small_world, **{field: value})
    assert (status, str(problem["pointer"]).startswith(f"/egress/{field}")) == (400, True)
    assert small_world.wiring.apps.find("shop").egress == AppEgress()  # type: ignore[union-attr]
