"""The API over real stores, listening on a port: what the client and the command line talk to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from werkzeug.serving import make_server

from tests.api.world import World, present
from wangtimer.core.errors import StoreAway

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Served:
    """A world and where it listens."""

    world: World
    url: str


def cut_off_redis(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the API no longer tell Redis of any change."""

    def away(*_definitions: object, **_far: object) -> None:
        raise StoreAway("Redis", "cut off by the test")

    monkeypatch.setattr(world.wiring.definitions, "put", away)


@contextmanager
def serving(database_url: str, store_url: str) -> Iterator[Served]:
    """Serve the app on a free port, from several threads."""
    world = World(database_url, store_url, present())
    world.wiring.database.create_tables()
    with serving_world(world) as served:
        yield served


@contextmanager
def serving_world(world: World) -> Iterator[Served]:
    """Serve a world's app, and close it afterwards."""
    server = make_server(HOST, 0, world.app, threaded=True)
    # It looks so often whether it is to end; with the library's 0.5 s each test would wait for that.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="api", daemon=True)
    thread.start()
    try:
        yield Served(world, f"http://{HOST}:{server.port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        world.close()
