import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from tests.api.world import World
from tests.servers.mariadb import MariaDBServer
from wangtimer.api.operations.health import READY_WITHIN_S
from wangtimer.core.errors import StoreAway
from wangtimer.stack.ports import free_port
from wangtimer.window.scheduler import LOOK_AHEAD_MS

MEND = "not ready; data has the answer of each part"


def test_a_process_is_alive_whatever_is_away(redis_url: str) -> None:
    nowhere = World(f"mysql://root@127.0.0.1:{free_port()}/gone", f"redis://127.0.0.1:{free_port()}/0", 1)
    assert nowhere.get("/healthz").json == {"code": 0, "msg": ""}


def test_it_is_ready_when_sql_store_and_broker_answer(world: World) -> None:
    ready = world.get("/readyz")
    fine = {"ok": True, "error": ""}
    assert ready.json == {
        "code": 0,
        "msg": "",
        "data": {"sql": fine, "store": fine, "broker": fine, "ticks": fine},
    }
    assert ready.status == 200


@pytest.mark.parametrize("away", ["sql", "store", "broker"])
def test_each_part_that_is_away_is_named(world: World, away: str) -> None:
    def fail() -> None:
        raise StoreAway(away, "gone")

    setattr(world.wiring, f"check_{away}", fail)
    answered = world.get("/readyz")
    assert (answered.status, answered.code, answered.msg) == (503, 50302, f"request: {away} {MEND}")
    assert answered.data[away] == {"ok": False, "error": f"{away} is away: gone"}
    assert sum(part["ok"] for part in answered.data.values()) == 3


def test_a_process_without_ticks_is_ready_and_says_that_nothing_is_fired(world: World) -> None:
    """A mark that is missing is no alarm: Redis may just have been emptied, or all has just been started."""
    now, agenda = int(world.wiring.clock.now_ms()), world.wiring.agenda
    forget = partial(world.wiring.redis.command, lambda client: client.delete(world.wiring.keys.looked))
    forget()
    assert world.get("/readyz").data["ticks"] == {"ok": True, "error": ""}
    agenda.needs_until(now + LOOK_AHEAD_MS - 39_000, 1, 0, 0)
    answered = world.get("/readyz")
    assert (answered.status, answered.code) == (200, 0)
    assert "no tick has come" in answered.msg
    assert answered.data["ticks"]["ok"] is False
    assert "39 s" in answered.data["ticks"]["error"]
    # The mark is lost, and this process has seen it.
    forget()
    assert world.get("/readyz").data["ticks"]["ok"] is False
    agenda.needs_until(now + LOOK_AHEAD_MS, 1, 0, 0)
    assert world.get("/readyz").data["ticks"]["ok"] is True


def test_a_real_database_and_store_that_are_gone_are_named() -> None:
    nowhere = World(f"mysql://root@127.0.0.1:{free_port()}/gone", f"redis://127.0.0.1:{free_port()}/0", 1)
    answered = nowhere.get("/readyz")
    assert (answered.status, answered.msg) == (503, f"request: sql, store {MEND}")


@pytest.fixture
def frozen_database(mariadb_server: MariaDBServer, mariadb_url: str) -> Iterator[str]:
    mariadb_server.process.freeze()
    yield mariadb_url
    mariadb_server.process.thaw()


def test_a_frozen_database_is_told_in_time(frozen_database: str, redis_url: str) -> None:
    world = World(frozen_database, redis_url, 1)
    began = time.monotonic()
    answered = world.get("/readyz")
    assert time.monotonic() - began < READY_WITHIN_S + 0.5
    assert (answered.status, answered.data["sql"]["ok"], answered.data["store"]["ok"]) == (503, False, True)


@pytest.mark.test_all
def test_a_part_that_hangs_holds_one_thread_however_often_it_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = [], threading.Event()

    def hang() -> None:
        asked.append(1)
        answer.wait(30)

    monkeypatch.setattr(world.wiring, "check_sql", hang)
    for _ in range(2):
        assert world.get("/readyz").status == 503
    assert len(asked) == 1
    answer.set()
