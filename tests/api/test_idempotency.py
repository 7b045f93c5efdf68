"""A create under an Idempotency-Key happens once, however often it is sent."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.api.test_refused import assert_refused
from tests.api.world import DEF, URL, Answered, World, definition
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.kept_answers import asked_under
from wangtimer.core.errors import StoreAway
from wangtimer.core.timers.timer import NewTimer

DAY, HOUR = 86_400_000, 3_600_000
AT_ONCE = 4


def create(world: World, key: str, **fields: Any) -> Answered:
    return world.call("POST", DEF, json=definition(**fields), headers={"Idempotency-Key": key})


def test_the_same_request_again_gets_the_first_answer_to_the_letter(world: World) -> None:
    first = create(world, "k", delayMs=HOUR)
    world.clock.now += HOUR
    again = create(world, "k", delayMs=HOUR)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (again.status, again.json) == (200, first.json)
    assert world.stored() == (1, 0)


def test_of_a_long_answer_the_content_of_the_call_is_not_kept(world: World) -> None:
    call = {"url": URL, "method": "POST", "header": {"A": ["y" * 4_000]}, "body": "x" * 50_000}
    first, again = (create(world, "k", notifyHTTPParam=call) for _ in range(2))
    notify = first.data["notifyHTTPParam"]
    assert notify["body"] == call["body"]
    first.data["notifyHTTPParam"] = notify | {"body": "***", "header": {"A": ["***"]}}
    assert again.json == first.json


def test_the_answer_is_replayed_though_the_timer_is_gone_or_its_moment_past(world: World) -> None:
    body = {"at": world.clock.now + HOUR}
    first = create(world, "k", **body)
    world.delete(app="shop", name="expire")
    world.clock.now += 2 * HOUR
    assert create(world, "k", **body).json == first.json


def test_another_body_under_a_key_is_refused(world: World) -> None:
    create(world, "k")
    for fields in ({"name": "other"}, {"tags": ["x"]}, {"cron": "1 * * * *"}):
        assert_refused(create(world, "k", **fields), 422, 42201, "Idempotency-Key")
    assert world.stored() == (1, 0)


def test_the_order_and_spelling_of_a_body_do_not_make_it_another(world: World) -> None:
    first = create(world, "k")
    reordered = dict(reversed(definition(tags=None).items()))
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    again = world.call("POST", DEF, data=json.dumps(reordered, indent=2), headers=headers)
    assert again.json == first.json


def test_a_body_is_the_same_one_to_a_version_that_knows_more_fields() -> None:
    class Body(Given):
        name: str
        tags: list[str] | None = None

    class LaterBody(Body):
        note: str | None = None

    at_first, later = (asked_under("shop", "k", one(name="a", tags=["b"])) for one in (Body, LaterBody))
    assert at_first == later


def test_without_a_key_a_repeated_create_is_refused_as_before(world: World) -> None:
    world.made()
    assert (world.create().code, world.stored()) == (40901, (1, 0))


def test_a_key_is_an_app_s_own(world: World) -> None:
    first = create(world, "k")
    other = create(world, "k", app="bank")
    assert (other.status, other.data["app"]) == (200, "bank")
    assert first.json["id"] != other.json["id"]


def test_a_refusal_is_not_kept(world: World) -> None:
    assert create(world, "k", cron="nonsense").status == 400
    timer_id = world.made()
    assert create(world, "k").code == 40901
    world.delete(app="shop", id=timer_id)
    made = create(world, "k")
    assert (made.status, "Idempotent-Replayed" in made.headers) == (200, False)


def test_a_key_is_forgotten_after_a_day(world: World) -> None:
    create(world, "k")
    world.clock.now += DAY - 1
    assert create(world, "k").headers["Idempotent-Replayed"] == "true"
    world.clock.now += 1
    assert create(world, "k", name="another").status == 200
    world.clock.now += DAY
    assert world.wiring.purger.purge() == 0
    assert world.wiring.kept_answers.purge(world.clock.now + DAY, 9) == 0


@pytest.mark.parametrize("key", ["x", "!~", "x" * 255, "8e03978e-40d5-43e8-bc93-6894a57f9324"])
def test_any_visible_ascii_is_a_key(small_world: World, key: str) -> None:
    assert create(small_world, key).json == create(small_world, key).json


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "caf\xe9", "a\tb"])
def test_anything_else_is_no_key(small_world: World, key: str) -> None:
    assert_refused(create(small_world, key), 400, 40007, "Idempotency-Key")
    assert small_world.stored() == (0, 0)


def test_a_create_whose_answer_was_lost_is_answered_when_it_is_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = world.wiring.timers.create

    def store_and_lose(*given: Any) -> None:
        store(*given)
        raise StoreAway("SQL", "the answer was lost")

    with monkeypatch.context() as lossy:
        lossy.setattr(world.wiring.timers, "create", store_and_lose)
        assert create(world, "k").status == 503
    again = create(world, "k")
    assert (again.status, again.data["name"]) == (200, "expire")
    assert world.stored() == (1, 0)


@pytest.mark.parametrize("names", [["one"] * AT_ONCE, ["one", "two"] * (AT_ONCE // 2)])
def test_of_requests_at_once_under_a_key_one_makes_a_timer(
    world: World, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    """All have looked for the key before the first of them writes."""
    together = Barrier(AT_ONCE, timeout=10)
    store = world.wiring.timers.create

    def store_together(new: NewTimer, *more: Any) -> Any:
        together.wait()
        return store(new, *more)

    def send(name: str) -> tuple[str, int, dict[str, Any]]:
        headers = {"Idempotency-Key": "k"}
        response = world.app.test_client().post(DEF, json=definition(name=name), headers=headers)
        return name, response.status_code, response.json

    monkeypatch.setattr(world.wiring.timers, "create", store_together)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(send, names))
    made = {answer["id"]: name for name, status, answer in answers if status == 200}
    assert len(made) == 1
    for name, status, _ in answers:
        assert status == (200 if name in made.values() else 422)
    assert world.stored() == (1, 0)


@pytest.mark.parametrize("field", ["at", "startAt", "endAt", "anchorAt"])
def test_a_moment_that_is_neither_text_nor_number_is_refused_with_a_key_as_without(
    small_world: World, field: str
) -> None:
    for given in ([[[]]], {"a": 1}, 1.5, True):
        wrong = {field: given} | ({"without": "cron"} if field == "at" else {})
        assert_refused(create(small_world, "k", **wrong), 400, 40006, field)
        assert_refused(small_world.create(**wrong), 400, 40006, field)
