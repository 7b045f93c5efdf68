"""Signing over v1: a secret is shown once, two sign during a rotation, and an app may switch signing off."""

import base64

import pytest

from tests.api.v1.world import Answered, V1World
from wangtimer.store.seals import Seals
from wangtimer.store.sql.signing_store import SigningStore

SIGNING = "/v1/signing-secrets"
SECRET, ANOTHER = (f"whsec_{base64.b64encode(bytes([one]) * 32).decode()}" for one in (1, 2))


def rotate(world: V1World, **body: str) -> Answered:
    return world.send("POST", SIGNING, body)


def end(world: V1World, secret_id: str, **options: str) -> Answered:
    return world.send("DELETE", f"{SIGNING}/{secret_id}", rule=f"{SIGNING}/{{secret_id}}", **options)


def ids(answered: Answered) -> list[int]:
    return [one["id"] for one in answered.json["secrets"]]


def test_an_app_that_asked_for_nothing_is_signed_for(world: V1World) -> None:
    answered = world.send("GET", SIGNING)
    assert answered.json == {"app": "shop", "enabled": True, "secrets": []}


def test_a_new_secret_is_shown_once(world: V1World) -> None:
    made = rotate(world)
    assert made.status == 201
    assert made.headers["Cache-Control"] == "no-store"
    assert made.json["secret"].startswith("whsec_")
    assert (made.json["countsWithin"], ids(made)) == ("1s", [1])
    listed = world.send("GET", SIGNING)
    assert ids(listed) == [1]
    assert made.json["secret"] not in str(listed.json)
    assert [key.hex() for key in world.wiring.signing_store.get("shop").keys_at(world.clock.now)] == [
        base64.b64decode(made.json["secret"].removeprefix("whsec_")).hex()
    ]


def test_two_sign_during_a_rotation_and_one_may_be_ended_early(world: V1World) -> None:
    rotate(world, secret=SECRET)
    both = rotate(world, secret=ANOTHER, overlap="2h")
    assert ids(both) == [1, 2]
    assert [one["endsAt"] is None for one in both.json["secrets"]] == [False, True]
    third = rotate(world)
    assert (third.status, third.json["code"], third.json["pointer"]) == (409, 40902, "/overlap")
    assert ids(end(world, "1")) == [2]
    refused = end(world, "2")
    assert (refused.status, refused.json["code"], refused.json["parameter"]) == (409, 40902, "secret_id")
    assert ids(rotate(world, overlap="0s")) == [3]


@pytest.mark.parametrize("unknown", ["7", "x", "1.0", "²", "9" * 30])
def test_an_unknown_secret_and_another_apps_are_the_same_to_a_caller(world: V1World, unknown: str) -> None:
    rotate(world, secret=SECRET)
    answered = end(world, unknown)
    assert (answered.status, answered.json["code"], answered.json["parameter"]) == (404, 40407, "secret_id")
    assert end(world, "1", app="bank").status == 404


def test_off_and_on(world: V1World) -> None:
    rotate(world, secret=SECRET)
    off = world.send("PATCH", SIGNING, {"enabled": False})
    assert (off.json["enabled"], ids(off)) == (False, [1])
    assert world.wiring.signing_store.get("shop").keys_at(world.clock.now) == ()
    assert world.send("PATCH", SIGNING, {"enabled": True}).json["enabled"]
    assert len(world.wiring.signing_store.get("shop").keys_at(world.clock.now)) == 1


def test_an_app_that_signs_from_the_start_of_its_own_accord_has_a_secret(world: V1World) -> None:
    assert ids(world.send("PATCH", SIGNING, {"enabled": True})) == [1]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"secret": "whsec_c2hvcnQ="}, "/secret"),
        ({"secret": SECRET.removeprefix("whsec_")}, "/secret"),
        ({"secret": "whsec_" + "A" * 95}, "/secret"),
        ({"overlap": "31d"}, "/overlap"),
        ({"overlap": "-1s"}, "/overlap"),
        ({"overlap": 60}, "/overlap"),
    ],
)
def test_what_cannot_be_a_secret_or_an_overlap_is_refused(
    small_world: V1World, body: dict[str, str], pointer: str
) -> None:
    answered = rotate(small_world, **body)
    assert (answered.status, answered.json["pointer"]) == (400, pointer)
    if "secret" in body:
        assert body["secret"] not in str(answered.json)
    assert small_world.wiring.signing_store.get("shop").version == 0


def test_executors_are_told_at_once_and_else_by_the_sweep(world: V1World) -> None:
    rotate(world, secret=SECRET)
    copies = world.wiring.signing_copies
    assert copies.get(["shop"]).found == {"shop": world.wiring.signing_store.get("shop")}
    world.wiring.redis.command(lambda client: client.delete(world.wiring.keys.signing))
    world.wiring.sweeper.sweep()
    assert copies.get(["shop"]).found == {"shop": world.wiring.signing_store.get("shop")}


def test_where_the_key_is_lost_a_new_secret_takes_the_place_of_those_that_cannot_be_opened(
    world: V1World,
) -> None:
    lost = SigningStore(world.wiring.database, Seals({"lost": bytes(32)}))
    lost.change("shop", lambda one: one.rotated(b"s" * 32, 0, 1), 1)
    assert ids(world.send("GET", SIGNING)) == [1]
    for refused in (rotate(world), world.send("PATCH", SIGNING, {"enabled": False})):
        assert (refused.status, refused.json["code"]) == (409, 40902)
        assert "no key 'lost'" in refused.json["detail"]
        assert "overlap of 0s" in refused.json["detail"]
    made = rotate(world, secret=SECRET, overlap="0s")
    assert (made.status, ids(made)) == (201, [2])
    assert world.wiring.signing_store.get("shop").keys_at(world.clock.now) == (bytes([1]) * 32,)
