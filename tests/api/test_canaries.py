"""Secrets planted wherever the service is given some, and searched for in all that it says."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests
import structlog
from sqlalchemy import text

from tests.api.test_web_process import COMMAND, environment, wait_until_it_listens
from tests.api.world import World, definition
from tests.patience import patience
from wangtimer.base.logs import log_as_lines
from wangtimer.base.settings import Settings, read_settings
from wangtimer.base.shown_url import shown_url
from wangtimer.core.errors import BadSetting
from wangtimer.stack.child import dying_with
from wangtimer.stack.ports import HOST, free_port
from wangtimer.stack.procfile import read_commands

pytestmark = pytest.mark.processes
CANARY = "canary"
KEY = "canary-of-the-idempotency-key"
CLI = (sys.executable, "-c", "from wangtimer.cli import main; main()")

# Every value of a request that may be a secret; what is asked for is refused, or fails within SQL.
CALL: dict[str, Any] = {
    "url": "http://target.example/?token=canary-of-the-url",
    "header": {"Authorization": "Bearer canary-of-the-header"},
    "body": "canary-of-the-body",
}
BAD: list[dict[str, Any]] = [
    {"tags": ['"' * 62 + chr(97 + number) for number in range(16)]},
    {"cron": "canary-of-the-cron"},
    {"nothing": 1},
    {"notifyHTTPParam": CALL | {"body": 7}},
    {"notifyHTTPParam": CALL | {"header": {"Authorization": "canary-of-the-header\n"}}},
    {"notifyHTTPParam": CALL | {"header": {"Authorization": ["canary-of-the-header", 7]}}},
    {"notifyHTTPParam": CALL | {"url": "ftp://canary-of-the-url/"}},
    {"notifyHTTPParam": CALL | {"url": "http://canary:canary-of-the-url@h/"}},
    {"timezone": "Mars/Canary"[:4]},
    {"excludeCalendar": "none"},
]

# Places that answer nothing, their credentials planted in every way a URL has.
NOBODY = f"{HOST}:1"
AWAY = {
    "database_url": f"mysql+mysqldb://user:canary-of-sql@{NOBODY}/db?charset=utf8mb4&ssl_key=canary-of-a-query",
    "store_url": f"redis://user:canary-of-the-store@{NOBODY}/0",
    "broker_url": f"redis://user:canary-of-the-broker@{NOBODY}/1",
}
WRONG = [
    {"database_url": "postgresql://user:canary-of-sql@h/db"},
    {"database_url": "mysql://user:canary:canary@h:canary-of-a-port/db"},
    {"database_url": "mysql://user:pass@canary-of-sql@h/db"},
    {"database_url": "canary-of-sql"},
    {"store_url": "http://user:canary-of-the-store@h"},
    {"store_url": "redis://:pass/canary-of-the-store@h:6379/0"},
    {"store_url": "redis://:pass#canary-of-the-store@h:6379/0"},
    {"store_url": "redis://:canary-of-the-store@h:canary/0"},
    {"broker_url": "canary-of-the-broker"},
    {"broker_url": "amqp://user:pass?canary-of-the-broker@h//"},
    {"secret_keys": "canary-of-a-key"},
    {"secret_keys": "k1:canary-of-a-key"},
]
COMMANDS = ("web", "beat", "scheduler", "flower")


def assert_silent(said: str) -> None:
    at = said.find(CANARY)
    assert at < 0, said[max(0, at - 300) : at + 100]


def run(
    argv: Sequence[str], home: Path, settings: Mapping[str, str], within_s: float
) -> tuple[int | None, str]:
    """Run a process for so long at most; return its exit code, None where it went on, and what it said."""
    process = subprocess.Popen(
        argv,
        env=environment(home, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=dying_with(os.getpid()),
    )
    try:
        said, _ = process.communicate(timeout=within_s * patience())
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        return None, said
    return process.returncode, said


def argv_of(name: str) -> tuple[str, ...]:
    argv = read_commands()[name].argv
    program = Path(sys.executable).parent / argv[0]
    return (str(program), *argv[1:]) if program.exists() else argv


@pytest.mark.every_run
@pytest.mark.parametrize("settings", WRONG, ids=str)
def test_a_setting_that_cannot_be_read_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    ((name, value),) = settings.items()
    monkeypatch.setenv(f"WANGTIMER_{name.upper()}", value)
    with pytest.raises(BadSetting, match=f"WANGTIMER_{name.upper()}") as told:
        read_settings()
    assert_silent(str(told.value))


# One of each setting: a process has words of its own around the error, which is judged above.
@pytest.mark.parametrize("argv", [(*CLI, "settings"), COMMAND, ("scheduler",)], ids=["cli", "web", "celery"])
def test_a_process_names_its_wrong_setting_and_does_not_show_it(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    for settings in {next(iter(one)): one for one in WRONG}.values():
        code, said = run(argv if len(argv) > 1 else argv_of(*argv), tmp_path, settings, 60)
        assert code not in (0, None), said
        assert f"WANGTIMER_{next(iter(settings)).upper()}" in said
        assert_silent(said)


def test_settings_and_doctor_show_where_and_not_by_what_password(tmp_path: Path) -> None:
    for command in ("settings", "doctor"):
        _, said = run((*CLI, command), tmp_path, AWAY, 90)
        assert_silent(said)
    code, said = run((*CLI, "settings"), tmp_path, AWAY, 60)
    assert code == 0
    assert f"redis://***@{NOBODY}/0" in said


@pytest.mark.parametrize("name", ["beat", "scheduler", "flower"])
def test_processes_whose_servers_are_away_do_not_tell_their_passwords(tmp_path: Path, name: str) -> None:
    code, said = run(argv_of(name), tmp_path, AWAY, 15)
    assert code is None or said
    assert_silent(said)


@pytest.fixture
def away(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    port, log = free_port(), tmp_path / "web.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            COMMAND,
            env=environment(tmp_path, http_bind=f"{HOST}:{port}", **AWAY),
            stdout=out,
            stderr=out,
            preexec_fn=dying_with(os.getpid()),
        )
    wait_until_it_listens(f"http://{HOST}:{port}", process)
    yield f"http://{HOST}:{port}", log
    process.terminate()
    process.wait(30)


def test_an_api_without_any_server_tells_no_secret(away: tuple[str, Path]) -> None:
    url, log = away
    for path in (
        "/readyz",
        "/healthz",
        "/metrics",
        "/api/timer/v1/defs?app=shop",
        "/api/task/v1/records?app=shop",
    ):
        assert_silent(requests.get(f"{url}{path}", timeout=30).text)
    for fields in ({}, *BAD):
        body = definition(notifyHTTPParam=CALL) | fields
        answered = requests.post(
            f"{url}/api/timer/v1/def", json=body, headers={"Idempotency-Key": KEY}, timeout=30
        )
        # The cron is told back to whoever wrote it.
        assert_silent(answered.text.replace("canary-of-the-cron", ""))
    assert "store_away" in log.read_text()
    assert_silent(log.read_text())


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    """What is logged as a process of ours does, to be read from stderr; later tests find logging as it was."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    log_as_lines()
    # A logger that kept these settings would hide from every test that captures logs after this one.
    structlog.configure(cache_logger_on_first_use=False)
    yield capsys
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.every_run
@pytest.mark.parametrize("damage", ["ALTER TABLE timer RENAME COLUMN notify TO gone", "DROP TABLE timer_tag"])
def test_a_statement_that_fails_is_told_without_its_parameters(
    world: World, lines: pytest.CaptureFixture[str], damage: str
) -> None:
    """The faults of the service itself: what they log is the statement and the server's error."""
    with world.wiring.database.engine.begin() as sql:
        sql.execute(text(damage))
    fields = definition(notifyHTTPParam=CALL, tags=["canary-of-a-tag"])
    for key in (None, KEY):
        headers = {} if key is None else {"Idempotency-Key": key}
        answered = world.call("POST", "/api/timer/v1/def", json=fields, headers=headers)
        assert answered.status == 500
        assert_silent(str(answered.json))
    target = {"url": CALL["url"], "headers": CALL["header"], "body": CALL["body"]}
    timer = {"schedule": {"cron": "* * * * * *"}, "target": target, "tags": ["canary-of-a-tag"]}
    assert_silent(str(world.send("POST", "/v1/timers:batchCreate", {"timers": [timer]}).json))
    said = lines.readouterr().err
    assert "request_failed" in said
    assert_silent(said)


@pytest.mark.every_run
@pytest.mark.parametrize("name", ["database_url", "store_url", "broker_url"])
def test_every_default_url_is_shown_as_it_is(name: str) -> None:
    default = Settings.model_fields[name].default
    assert shown_url(default) == default


@pytest.mark.every_run
@pytest.mark.parametrize(
    "url",
    [
        "redis://:canary@h:1/0",
        "redis://u:ca@canary@h:1/0",
        "redis://u:ca/canary?x#y@h:1/0",
        "redis://h:1/0?password=canary",
        "unix:///path.sock?db=0&password=canary",
        "mysql://h/db?charset=canary-that-is-longer-than-any",
        "canary",
        "can ary://canary",
        "redis://h/0#canary",
    ],
)
def test_no_spelling_of_a_url_shows_its_secret(url: str) -> None:
    assert CANARY not in shown_url(url)
