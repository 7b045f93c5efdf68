"""Generated clients compile, and make, find and cancel a timer of the real app: `make clients`."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from werkzeug.serving import make_server

from tests.api.v1.world import V1World
from tests.api.world import present
from tests.clients.generated import CLIENTS, ROOT, Client, done

OUT = ROOT / "build/clients"
ONE = "/v1/timers/{which}"

pytestmark = [pytest.mark.clients, pytest.mark.timeout(1_800)]


@pytest.fixture
def world(sqlite_url: str, redis_url: str) -> Iterator[V1World]:
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.fixture
def url(world: V1World) -> Iterator[str]:
    """The app, served over HTTP."""
    server = make_server("127.0.0.1", 0, world.app)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join()


@pytest.mark.parametrize("client", [pytest.param(one, id=one.generator) for one in CLIENTS])
def test_it_compiles_and_makes_finds_and_cancels_a_timer(client: Client, world: V1World, url: str) -> None:
    folder: Path = OUT / client.generator
    client.generate(folder)
    if not client.has_compiler:
        pytest.skip(f"generated into {folder}, not compiled: there is no {client.compiler}")
    for command in client.compile:
        done(command, folder)
    timer_id = int(done((*client.run, url), folder))
    timer = world.send("GET", f"/v1/timers/{timer_id}", rule=ONE).json
    assert (timer["key"], timer["status"]) == (f"from-{client.generator.partition('-')[0]}", "disabled")
