"""The servers that other tests stand on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from sqlalchemy import create_engine, text

from tests.patience import wait_for
from tests.stack.processes import is_alive


def test_a_test_gets_an_empty_database_and_can_write_to_it(database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mark (id INTEGER PRIMARY KEY)"))
        connection.execute(text("INSERT INTO mark VALUES (1)"))
        assert connection.execute(text("SELECT count(*) FROM mark")).scalar_one() == 1
    engine.dispose()


def test_mariadb_gives_each_commit_to_the_system_so_that_a_killed_server_has_it(mariadb_url: str) -> None:
    engine = create_engine(mariadb_url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT @@innodb_flush_log_at_trx_commit")).scalar_one() == 2
        assert "MariaDB" in connection.execute(text("SELECT version()")).scalar_one()
    engine.dispose()


@pytest.mark.parametrize("turn", [1, 2])
def test_a_store_is_empty_for_each_test(store_url: str, turn: int) -> None:
    with redis.Redis.from_url(store_url) as client:
        assert client.dbsize() == 0
        client.set("left over", turn)


def test_the_two_stores_are_redis_7_and_valkey(redis_url: str, valkey_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.info()["redis_version"].startswith("7.")
    with redis.Redis.from_url(valkey_url) as client:
        assert "valkey_version" in client.info()


@pytest.mark.processes
def test_a_missing_server_fails_a_test_and_is_skipped_only_on_request(tmp_path: Path) -> None:
    Path(tmp_path, "test_needing.py").write_text("def test_it(redis_server): pass\n")
    without = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for skip, outcome in (("", "1 error"), ("1", "1 skipped")):
        environment = without | {"SKIP_SERVERS": skip}
        run = subprocess.run(
            [sys.executable, "-c", _PYTEST_WITHOUT_SERVERS, str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert outcome in run.stdout, run.stdout + run.stderr
        assert "redis-server is not installed: apt-get install redis-server" in run.stdout


_PYTEST_WITHOUT_SERVERS = """
import sys, pytest
import tests.servers.server_process as server_process
server_process._PLACES = "/nowhere"
sys.exit(pytest.main(["-p", "tests.conftest", "-p", "no:cacheprovider", "-rs", sys.argv[1]]))
"""


def test_a_server_ends_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.servers.redis_server import RedisServer, redis_program\n"
        "with RedisServer(redis_program(), Path(sys.argv[1])) as server:\n"
        "    print(server.process.pid, flush=True); time.sleep(60)\n"
    )
    root = Path(__file__).parents[2]
    run = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    server_pid = int(run.stdout.readline())
    run.kill()
    run.wait()
    assert wait_for(lambda: not is_alive(server_pid), seconds=5)
