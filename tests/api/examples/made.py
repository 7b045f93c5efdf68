"""All examples, made by calling the app."""

from typing import Any

from tests.api.examples.faults import errors, problems
from tests.api.examples.key_faults import key_faults
from tests.api.examples.limit_faults import limit_faults
from tests.api.examples.recorder import Recorder, next_tuesday
from tests.api.examples.story import tell
from tests.api.world import World


def made_examples(database_url: str, store_url: str, now: int) -> dict[str, Any]:
    """Return what `examples.json` keeps; `now` in ms UTC, the stores are empty."""
    world = World(database_url, store_url, next_tuesday(now))
    world.wiring.database.create_tables()
    try:
        recorder = Recorder(world)
        tell(recorder)
        of_problems, of_errors = problems(world), errors(world)
        of_problems |= key_faults(database_url, store_url, world.clock.now, is_v1=True)
        of_errors |= key_faults(database_url, store_url, world.clock.now, is_v1=False)
        of_problems |= limit_faults(database_url, store_url, world.clock.now, is_v1=True)
        of_errors |= limit_faults(database_url, store_url, world.clock.now, is_v1=False)
        return {
            "operations": dict(sorted(recorder.operations.items())),
            "problems": recorder.told(of_problems),
            "errors": recorder.told(of_errors),
        }
    finally:
        world.close()
