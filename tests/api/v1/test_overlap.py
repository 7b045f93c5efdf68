"""`overlap`: what becomes of a firing while another one of its timer is not done."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF
from wangtimer.core.timers.overlap import Overlap

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
WHOLE: dict[str, Any] = {"schedule": {"cron": "* * * * * *"}, "target": {"url": URL}}


def stored_in(world: V1World, timer_id: int) -> tuple[Overlap, Overlap]:
    """Return what SQL and Redis have."""
    row = world.wiring.timers.get("shop", timer_id).definition.overlap
    return row, world.wiring.definitions.get([timer_id]).definitions[timer_id].overlap


@pytest.mark.parametrize("word", ["skip", "queueOne", "cancelOlder"])
def test_it_is_stored_shown_and_changed_and_no_edit_of_the_schedule(world: V1World, word: str) -> None:
    made = world.made(overlap=word)
    assert made.json["overlap"] == word
    assert stored_in(world, made.json["id"]) == (Overlap(word), Overlap(word))
    assert world.send("GET", TIMERS).json["items"][0]["overlap"] == word
    for method, body in (("PATCH", {"overlap": None}), ("PUT", WHOLE)):
        taken_away = world.send(method, PLACE, body, rule=ONE)
        assert "overlap" not in taken_away.json
        assert stored_in(world, made.json["id"]) == (Overlap.ALLOW, Overlap.ALLOW)
        world.send("PATCH", PLACE, {"overlap": word}, rule=ONE)
    assert world.wiring.timers.get("shop", made.json["id"]).definition.edited_at == 0


def test_allow_is_the_default(small_world: V1World) -> None:
    made = small_world.made(overlap="allow")
    put = small_world.send("PUT", PLACE, WHOLE, rule=ONE)
    assert (put.json["version"], "overlap" in made.json) == (made.json["version"], False)


def test_another_word_is_refused(small_world: V1World) -> None:
    refused = small_world.send("POST", TIMERS, WHOLE | {"overlap": "queue_one"})
    assert (refused.status, refused.json["pointer"]) == (400, "/overlap")


def test_the_compatible_paths_have_it_too(small_world: V1World) -> None:
    made = small_world.made(overlap="skip").json
    assert small_world.get(DEF, app="shop", id=made["id"]).data["overlap"] == "skip"
    small_world.patch(app="shop", id=made["id"], overlap="cancelOlder")
    assert small_world.send("GET", PLACE, rule=ONE).json["overlap"] == "cancelOlder"
