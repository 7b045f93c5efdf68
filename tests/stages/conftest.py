"""A deployment for each test; nothing of it outlives the test."""

from collections.abc import Callable, Iterator

import pytest

from tests.stages.timeline import TimelineEvent
from tests.stages.world import World


@pytest.fixture
def make_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., World]]:
    """Return a function that makes a deployment, with other numbers of processes or other settings.

    A claim's `is_done` is the one thing in the stages that waits by the real time: here it waits by the timeline.
    """
    worlds: list[World] = []

    def make(**how: object) -> World:
        worlds.append(World(**how))
        return worlds[-1]

    monkeypatch.setattr("wangtimer.executor.claim.Event", lambda: TimelineEvent(worlds[-1].time))
    yield make
    for world in worlds:
        world.time.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A deployment that has been running for 15 s."""
    return make_world().start()
