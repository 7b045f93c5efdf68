"""The API as it is deployed: gunicorn with its settings file, told all else by the environment."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
import redis
import requests

from tests.api.world import definition
from tests.made_apps import make_apps
from tests.patience import Deadline, patience, wait_for
from tests.servers.prepared_databases import PreparedFile
from tests.servers.redis_server import RedisServer
from wangtimer.api.http.browser_rules import SECURITY_HEADERS
from wangtimer.base.settings import ENV_PREFIX
from wangtimer.stack.child import dying_with
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.keys import Keys

pytestmark = pytest.mark.processes
START_SECONDS = 30.0
COMMAND = (
    sys.executable,
    "-m",
    "gunicorn",
    "--config",
    "python:wangtimer.api.gunicorn",
    "wangtimer.api:create_app()",
)


def environment(home: Path, **settings: str) -> dict[str, str]:
    """Return this process's environment with these settings; callbacks may reach the public internet."""
    settings = {"egress": "public"} | settings
    named = {f"WANGTIMER_{name.upper()}": value for name, value in settings.items()}
    inherited = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    return inherited | named | {"HOME": str(home)}


@contextmanager
def serving(home: Path, database_url: str, redis_url: str) -> Iterator[str]:
    """Run the API; yield its URL."""
    make_apps(database_url, "shop")
    port = free_port()
    settings = {"database_url": database_url, "store_url": redis_url, "broker_url": redis_url}
    process = subprocess.Popen(
        COMMAND,
        env=environment(home, http_bind=f"127.0.0.1:{port}", http_threads="4", **settings),
        preexec_fn=dying_with(os.getpid()),
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_it_listens(url, process)
        yield url
    finally:
        process.terminate()
        code = process.wait(20 * patience())
    assert code == 0


@pytest.fixture(scope="module")
def api_database(tmp_path_factory: pytest.TempPathFactory, prepared_file: PreparedFile) -> str:
    return prepared_file.copied_to(tmp_path_factory.mktemp("sql") / "wangtimer.db")


@pytest.fixture(scope="module")
def api(
    tmp_path_factory: pytest.TempPathFactory, api_database: str, redis_server: RedisServer
) -> Iterator[str]:
    """The API, for all tests that leave nothing behind."""
    with serving(tmp_path_factory.mktemp("home"), api_database, redis_server.url()) as url:
        yield url


def wait_until_it_listens(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = Deadline(START_SECONDS)
    while process.poll() is None and not deadline.is_over:
        try:
            requests.get(f"{url}/healthz", timeout=5)
            return
        except requests.RequestException:
            time.sleep(0.05)
    raise AssertionError("gunicorn did not start")


def test_it_serves_on_every_store_and_leaves_nothing_in_the_home_directory(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with serving(tmp_path, database_url, redis_url) as url:
        ready = requests.get(f"{url}/readyz", timeout=10).json()
        assert ready["data"]["store"]["ok"]
        assert ready["data"]["sql"]["ok"]
        assert not (tmp_path / ".gunicorn").exists()
        with closing(redis.Redis.from_url(redis_url)) as store:
            assert wait_for(lambda: bool(store.exists(Keys("wt").web)), START_SECONDS)


def test_a_body_sent_in_chunks_is_held_to_the_same_limit(api: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield json.dumps(definition()).encode()
        for _ in range(70):
            yield b" " * 1_024

    header = {"Content-Type": "application/json"}
    with requests.Session() as session:
        refused = session.post(f"{api}/api/timer/v1/def", data=chunks(), headers=header, timeout=10)
        assert (refused.status_code, refused.json()["code"]) == (413, 41301)
        assert session.get(f"{api}/api/timer/v1/defs?app=shop", timeout=5).json()["data"] == []


@pytest.mark.parametrize(
    ("path", "parts", "in_chunks", "status"),
    [
        ("/nothing", 300, False, 404),
        ("/v1/timers", 300, False, 413),
        ("/v1/timers", 300, True, 413),
        ("/nothing", 1, False, 404),
    ],
)
def test_an_answer_before_the_end_of_the_body_says_that_the_connection_closes(
    api: str, path: str, parts: int, in_chunks: bool, status: int
) -> None:
    header = {"Content-Type": "application/json", "WangTimer-App": "shop"}
    sent = [b" " * 1_000] * parts
    body = iter(sent) if in_chunks else b"".join(sent)
    answered = requests.post(f"{api}{path}", data=body, headers=header, timeout=10)
    assert (answered.status_code, answered.headers["Connection"]) == (status, "close")


def test_an_answer_after_the_whole_body_keeps_the_connection(api: str) -> None:
    header = {"Content-Type": "application/json", "WangTimer-App": "shop"}
    for body in (b"{}", iter([b"{", b"}"])):
        answered = requests.post(f"{api}/v1/timers", data=body, headers=header, timeout=10)
        assert (answered.status_code, answered.headers["Connection"]) == (400, "keep-alive")
    assert requests.get(f"{api}/healthz", timeout=10).headers["Connection"] == "keep-alive"


@pytest.mark.parametrize("name", ["WangTimer-App", "Idempotency-Key", "If-Match"])
def test_a_header_that_may_stand_once_is_refused_when_it_stands_twice(api: str, name: str) -> None:
    given = {"WangTimer-App": "shop", "Idempotency-Key": "a", "If-Match": '"1"'}
    connection = HTTPConnection(api.removeprefix("http://"), timeout=10)
    connection.putrequest("POST", "/v1/timers/key:none:enable")
    for header, value in given.items():
        connection.putheader(header, value)
    connection.putheader(name.lower(), "evil")
    connection.putheader("Accept", "a/a")
    connection.putheader("Accept", "b/b")
    connection.endheaders()
    refused = connection.getresponse()
    problem = json.loads(refused.read())
    assert (refused.status, problem["code"], problem["parameter"]) == (400, 40003, name)
    assert problem["detail"] == "given twice; give it once"


def test_every_filter_at_its_longest_fits_the_request_line(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    text = "\U0001f552" * 128
    query = {"app": text[:64], "name": text, "namePrefix": text, "nameContains": text, "tag": text[:64]}
    with serving(tmp_path, database_url, redis_url) as url:
        make_apps(database_url, text[:64])
        answered = requests.get(f"{url}/api/timer/v1/defs", params=query, timeout=5)
        assert (answered.status_code, answered.json()["data"]) == (200, [])


def test_a_longer_request_line_is_414_as_documented(api: str) -> None:
    answered = requests.get(f"{api}/api/timer/v1/defs?app=shop&name={'x' * 9_000}", timeout=5)
    documented = requests.get(f"{api}/openapi.json", timeout=5).json()["paths"]["/api/timer/v1/defs"]["get"]
    assert answered.status_code == 414
    assert [answered.headers["Content-Type"]] == list(documented["responses"]["414"]["content"])
    assert answered.headers.items() >= SECURITY_HEADERS.items()


def test_an_unknown_variable_is_one_line_of_the_log(tmp_path: Path) -> None:
    port = free_port()
    named = {
        "database_url": f"sqlite:///{tmp_path}/db",
        "http_bind": f"127.0.0.1:{port}",
        "of_another_version": "1",
    }
    process = subprocess.Popen(
        COMMAND,
        env=environment(tmp_path, **named),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=dying_with(os.getpid()),
    )
    wait_until_it_listens(f"http://127.0.0.1:{port}", process)
    process.terminate()
    _, log = process.communicate(timeout=20)
    warnings = [json.loads(line) for line in log.splitlines() if "unknown_settings" in line]
    assert [one["variables"] for one in warnings] == [[f"{ENV_PREFIX}OF_ANOTHER_VERSION"]]


@pytest.mark.parametrize("argv", [COMMAND, (sys.executable, "-m", "celery", "-A", "wangtimer", "worker")])
def test_a_misspelt_setting_stops_the_start_with_one_line(tmp_path: Path, argv: tuple[str, ...]) -> None:
    named = {"stap_s": "600"}
    started = subprocess.run(
        argv, env=environment(tmp_path, **named), capture_output=True, text=True, timeout=30
    )
    assert started.returncode != 0
    assert (
        f"wangtimer: {ENV_PREFIX}STAP_S is no setting; write WANGTIMER_STEP_S, or take it out"
        in started.stderr
    )
    assert "Traceback" not in started.stderr


def test_wrong_settings_stop_the_start_with_one_line(tmp_path: Path) -> None:
    started = subprocess.run(
        COMMAND, env=environment(tmp_path, http_workers="none"), capture_output=True, text=True, timeout=30
    )
    assert started.returncode != 0
    assert "WANGTIMER_HTTP_WORKERS='none'" in started.stderr
    assert "Traceback" not in started.stderr
