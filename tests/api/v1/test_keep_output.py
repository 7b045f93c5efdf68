"""`keepOutput`: when the start of a target's answer is kept on record."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF
from wangtimer.core.timers.call_options import KeepOutput

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
WHOLE: dict[str, Any] = {"schedule": {"cron": "* * * * * *"}, "target": {"url": URL}}


def stored_in(world: V1World, timer_id: int) -> tuple[KeepOutput, KeepOutput]:
    """Return what SQL and Redis have."""
    row = world.wiring.timers.get("shop", timer_id).definition.keep_output
    return row, world.wiring.definitions.get([timer_id]).definitions[timer_id].keep_output


@pytest.mark.parametrize("word", ["onFailure", "never"])
def test_it_is_stored_shown_and_changed(world: V1World, word: str) -> None:
    made = world.made(keepOutput=word)
    assert made.json["keepOutput"] == word
    assert stored_in(world, made.json["id"]) == (KeepOutput(word), KeepOutput(word))
    assert world.send("GET", TIMERS).json["items"][0]["keepOutput"] == word
    for method, body in (("PATCH", {"keepOutput": None}), ("PUT", WHOLE)):
        taken_away = world.send(method, PLACE, body, rule=ONE)
        assert "keepOutput" not in taken_away.json
        assert stored_in(world, made.json["id"]) == (KeepOutput.ALWAYS, KeepOutput.ALWAYS)
        world.send("PATCH", PLACE, {"keepOutput": word}, rule=ONE)
    assert world.wiring.timers.get("shop", made.json["id"]).definition.edited_at == 0


def test_always_is_the_default(small_world: V1World) -> None:
    made = small_world.made(keepOutput="always")
    put = small_world.send("PUT", PLACE, WHOLE, rule=ONE)
    assert (put.json["version"], "keepOutput" in made.json) == (made.json["version"], False)


def test_another_word_is_refused_and_the_compatible_paths_leave_it_alone(small_world: V1World) -> None:
    refused = small_world.send("POST", TIMERS, WHOLE | {"keepOutput": "sometimes"})
    assert (refused.status, refused.json["pointer"]) == (400, "/keepOutput")
    made = small_world.made(keepOutput="never").json
    assert "keepOutput" not in small_world.get(DEF, app="shop", id=made["id"]).data
    small_world.patch(app="shop", id=made["id"], notifyHTTPParam={"body": "x"})
    assert small_world.send("GET", PLACE, rule=ONE).json["keepOutput"] == "never"
