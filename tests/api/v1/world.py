"""v1 over real stores; only the clock and the broker are fakes."""

from typing import Any

import pytest

from tests.api.world import URL, V1Answered, World
from wangtimer.core.errors import StoreAway

TIMERS = "/v1/timers"
ONE = "/v1/timers/{which}"
Answered = V1Answered


class V1World(World):
    """A world whose timers are made by v1."""

    def made(self, **fields: Any) -> Answered:
        """Make a timer: every second unless another schedule is given."""
        body = {"key": "expire", "schedule": {"cron": "* * * * * *"}, "target": {"url": URL}} | fields
        answered = self.send("POST", TIMERS, body)
        assert answered.status == 201, answered.json
        return answered

    def cancelled(self, timer_id: int, moment: int, app: str = "shop") -> Answered:
        """Cancel a coming firing; `moment` in ms UTC."""
        rule = "/v1/firings/{firing_id}:cancel"
        return self.send("POST", f"/v1/firings/{timer_id}-{moment}:cancel", rule=rule, app=app)


def lose_sql_after_one_transaction(world: V1World, patched: pytest.MonkeyPatch) -> None:
    """Let one transaction of a batch of new timers through; for all later ones SQL is away."""
    batches = type(world.wiring.batches.timer_batches)
    store, calls = batches.create, list[int]()

    def then_be_away(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise StoreAway("SQL", "switched off by the test")
        return store(self, *given)

    patched.setattr(batches, "create", then_be_away)
