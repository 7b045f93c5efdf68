"""What is not held makes its row red: an answer other than expected, a stumble, and a behaviour broken on purpose."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import g

from tests.api.keyed_world import KeyedWorld
from tests.api.world import present
from tests.attack import named_apps, test_attacks
from tests.attack.answer import Answer
from tests.attack.attack import Attack, Section, Tried, try_out
from tests.attack.ground import Ground
from tests.attack.page import page
from wangtimer.api.http import request_context


class WorldGround(Ground):
    """In the place of a deployment: the API in this process."""

    def __init__(self, world: KeyedWorld) -> None:
        self._world = world
        self.shop, self.bank = world.app_of("shop"), world.app_of("bank")

    def ask(self, method: str, path: str, key: str | None = None, body: Any = None, **more: Any) -> Answer:
        answer = self._world.ask(method, path, key, more, json=body)
        return Answer(answer.status_code, {"content-type": answer.mimetype}, answer.text)

    def state_of(self, app: str) -> dict[str, list[tuple[Any, ...]]]:
        return {}


@pytest.fixture
def ground(sqlite_url: str, redis_url: str) -> Iterator[WorldGround]:
    world = KeyedWorld(sqlite_url, redis_url, present())
    yield WorldGround(world)
    world.close()


def stumble(_: Ground) -> str:
    raise OSError("nobody\nlistens")


@pytest.mark.parametrize(
    ("carry_out", "happened"),
    [(lambda _: "403", "403"), (lambda _: "200", "200"), (stumble, "stumbled: OSError: nobody listens")],
)
def test_a_row_is_red_unless_what_must_happen_has_happened(
    ground: Ground, carry_out: Any, happened: str
) -> None:
    attack, tried = Attack("it", "403", carry_out), []  # type: ignore[var-annotated]
    if happened == "403":
        test_attacks.test_an_attack_is_held(attack, ground, tried)
    else:
        with pytest.raises(AssertionError):
            test_attacks.test_an_attack_is_held(attack, ground, tried)
    assert tried == [Tried(attack, happened)]
    written = page([Section("Some", ("API1",), "Words.", (attack,))], {attack: tried[0]})
    assert ("NOT HELD" in written) == (happened != "403")


def test_an_app_that_is_let_into_another_is_seen(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the code is, the rows are held; once it lets an app's key act for any app, each is red."""
    rows = [one for one in named_apps.SECTION.attacks if "GET /v1/timers" in one.tried]
    assert all(try_out(one, ground).is_held for one in rows)
    monkeypatch.setattr(request_context, "present_caller", lambda: replace(g.caller, app=None))
    assert rows
    assert not any(try_out(one, ground).is_held for one in rows)
