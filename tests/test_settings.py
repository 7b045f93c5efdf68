"""Wrong settings stop the start with one line that names the variable and the mend."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
import trustme

from tests.certificates import pem_of
from tests.secret_keys import SECRET_KEYS
from wangtimer.base.logs import warn_of_no_secret_keys, warn_of_unknown_variables, warn_of_unset_database
from wangtimer.base.settings import (
    ENV_PREFIX,
    NOT_SETTINGS,
    Settings,
    read_settings,
    require_mail_server,
    unknown_variables,
)
from wangtimer.core.errors import BadSetting
from wangtimer.core.near_misses import near_miss
from wangtimer.stack.child import inherited_environment

ROOT = Path(__file__).parent.parent
WRITTEN_IN = {".py", ".md", ".yml", ".patch", ".sh"}

WRONG = {
    "DATABASE_URL": ["nonsense", "postgresql://h/d", "mysql+pymysql://u:p@h/d", "sqlite+aiosqlite:///a.db"],
    "STORE_URL": ["http://h", "valkey://h"],
    "BROKER_URL": ["nonsense"],
    "KEY_PREFIX": ["", "has space", "x" * 21],
    "STEP_S": ["0", "abc", "1e9"],
    "LEAD_MS": ["0", "5000"],
    "CHUNK_SIZE": ["0", "100000"],
    "CALLBACK_TIMEOUT_MS": ["-1"],
    "MOST_ATTEMPTS": ["0"],
    "EGRESS": ["every thing", "*", "10.0.0.1/8", "public:0", "public,fe80::1%eth0", "x" * 9_000],
    "HTTP_WORKERS": ["many"],
    "HTTP_BIND": ["5001", "localhost", "localhost:http", "a:70000", "::1:5000", "", "a:1,5001"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG.items() for v in values])
def test_a_wrong_setting_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"WANGTIMER_{name}", value)
    with pytest.raises(BadSetting, match=f"WANGTIMER_{name}=") as caught:
        read_settings()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("", "no certificates"), ("no pem", "no certificates"), (b"\xff", "not text")],
)
def test_authorities_that_cannot_be_read_stop_who_needs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | bytes | None, said: str
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setenv("WANGTIMER_CALLBACK_CA_FILE", str(file))
    settings = read_settings()  # other processes need not have the file
    with pytest.raises(BadSetting, match=f"WANGTIMER_CALLBACK_CA_FILE={file}: .*{said}"):
        _ = settings.callback_authorities


def test_authorities_are_read_from_their_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Settings().callback_authorities == ""
    authority = pem_of(trustme.CA())
    (tmp_path / "ca.pem").write_text(authority)
    monkeypatch.setenv("WANGTIMER_CALLBACK_CA_FILE", str(tmp_path / "ca.pem"))
    assert read_settings().callback_authorities == authority


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"RENEW_EVERY_MS": "4000"}, "RENEW_EVERY_MS"),
        ({"PLAN_EVERY_S": "30"}, "NEAR_S"),
        ({"STEP_S": "60", "NEAR_S": "120"}, "STEP_S"),
    ],
)
def test_settings_that_do_not_fit_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], named: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"WANGTIMER_{name}", value)
    with pytest.raises(BadSetting, match=named):
        read_settings()


@pytest.mark.parametrize(
    "bind", ["0.0.0.0:5000", "[::1]:80", ":5000", "api.example:5000", "unix:/run/wt.sock", "a:1,b:2"]
)
def test_an_address_to_listen_on_has_a_host_and_a_port(monkeypatch: pytest.MonkeyPatch, bind: str) -> None:
    monkeypatch.setenv("WANGTIMER_AUTH", "keys")
    monkeypatch.setenv("WANGTIMER_HTTP_BIND", bind)
    assert read_settings().http_bind == bind


def test_several_addresses_are_each_given_to_gunicorn_and_the_stream_takes_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = {"WANGTIMER_HTTP_BIND": "127.0.0.1:5000, [::1]:5000", "WANGTIMER_EGRESS": "public"}
    told = subprocess.run(
        [sys.executable, "-c", "from wangtimer.api import gunicorn; print(gunicorn.bind)"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == "['127.0.0.1:5000', '[::1]:5000']", told.stderr
    monkeypatch.setenv("WANGTIMER_STREAM_BIND", "127.0.0.1:5001,[::1]:5001")
    with pytest.raises(BadSetting, match="write one address"):
        read_settings()


def test_a_driver_that_is_not_installed_stops_the_start_with_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WANGTIMER_DATABASE_URL", "mysql://u:sesame@h/d")
    monkeypatch.setitem(sys.modules, "MySQLdb", None)
    with pytest.raises(BadSetting, match="install mysqlclient") as refused:
        read_settings()
    assert ("\n" in str(refused.value), "sesame" in str(refused.value)) == (False, False)


@pytest.mark.parametrize("scheme", ["mysql", "mysql+mysqldb", "mariadb", "mariadb+mysqldb"])
def test_the_driver_that_is_installed_may_be_named_or_left_out(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("WANGTIMER_DATABASE_URL", f"{scheme}://u:p@h/d")
    assert read_settings().database_url == f"{scheme}://u:p@h/d"


@pytest.mark.parametrize("name", ["URLS", "APPS", "UR"])
def test_a_variable_of_the_command_line_is_never_offered_for_a_setting(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}{name}", "x")
    read_settings()
    assert unknown_variables() == [f"{ENV_PREFIX}{name}"]


def test_the_defaults_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_STEP_S", "150")
    assert read_settings().horizon_ms == 300_000


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        (f"{ENV_PREFIX}LEED_MS", f"{ENV_PREFIX}LEAD_MS"),
        (f"{ENV_PREFIX}RETENTION_DAY", f"{ENV_PREFIX}RETENTION_DAYS"),
        (f"{ENV_PREFIX}DATABSE_URL", f"{ENV_PREFIX}DATABASE_URL"),
        (f"{ENV_PREFIX}PLAN_EVREY_S", f"{ENV_PREFIX}PLAN_EVERY_S"),
        ("WANG_TIMER_STEP_S", f"{ENV_PREFIX}STEP_S"),
        ("WANGTIMERSTEP_S", f"{ENV_PREFIX}STEP_S"),
        ("wangtimer_stap_s", f"{ENV_PREFIX}STEP_S"),
        (f"{ENV_PREFIX}DB_URL", f"{ENV_PREFIX}DATABASE_URL"),
        (f"{ENV_PREFIX}REDIS_URL", f"{ENV_PREFIX}STORE_URL"),
        ("wangtimer_redis_url", f"{ENV_PREFIX}STORE_URL"),
    ],
)
def test_a_misspelt_setting_stops_the_start_and_says_which_was_meant(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "1000")
    with pytest.raises(BadSetting) as caught:
        read_settings()
    assert str(caught.value) == f"{variable} is no setting; write {meant}, or take it out"


def test_a_setting_of_another_version_is_let_pass_and_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = [f"{ENV_PREFIX}CALLBACK_MOST_HELD_BYTES", f"{ENV_PREFIX}OF_ANOTHER_VERSION"]
    for name in newer:
        monkeypatch.setenv(name, "1")
    read_settings()
    with structlog.testing.capture_logs() as lines:
        warn_of_unknown_variables()
    assert [(line["event"], line["variables"]) for line in lines] == [("unknown_settings", newer)]


def test_a_process_without_a_database_set_says_which_file_it_takes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(f"{ENV_PREFIX}DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    with structlog.testing.capture_logs() as lines:
        warn_of_unset_database(read_settings())
    assert [(line["event"], line["file"]) for line in lines] == [
        ("database_not_set", str(tmp_path / "wangtimer.db"))
    ]


@pytest.mark.parametrize("url", ["sqlite:///wangtimer.db", "mysql://u:p@h/d"])
def test_a_database_that_somebody_set_is_not_warned_of(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}DATABASE_URL", url)
    with structlog.testing.capture_logs() as lines:
        warn_of_unset_database(read_settings())
    assert lines == []


def test_a_start_without_a_key_for_secrets_says_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with structlog.testing.capture_logs() as lines:
        warn_of_no_secret_keys(read_settings())
        assert lines == []
        monkeypatch.delenv(f"{ENV_PREFIX}SECRET_KEYS")
        warn_of_no_secret_keys(read_settings())
    assert [(line["event"], line["what"]) for line in lines] == [
        ("no_secret_keys", "timers with secrets are refused, signing secrets not encrypted")
    ]


def test_no_text_of_the_settings_shows_a_key() -> None:
    key = SECRET_KEYS.partition(":")[2]
    settings = Settings(secret_keys=SECRET_KEYS)
    assert key not in f"{settings!r}{settings}{settings.model_dump()}"
    assert list(settings.secret_key_ring) == ["test"]


@pytest.mark.processes
def test_a_worker_and_the_api_warn_at_their_start(tmp_path: Path) -> None:
    """What the embedded service starts has its database set."""
    starts = (
        "from celery.signals import setup_logging; import wangtimer.celery; setup_logging.send(None, loglevel=30)",
        "from wangtimer.api.gunicorn import on_starting; on_starting(None)",
    )
    environment = inherited_environment() | {f"{ENV_PREFIX}EGRESS": "public"}
    environment.pop(f"{ENV_PREFIX}DATABASE_URL", None)
    for start in starts:
        done = subprocess.run(
            [sys.executable, "-c", start],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        (line,) = [json.loads(one) for one in done.stderr.splitlines() if "database_not_set" in one]
        assert (line["level"], line["file"]) == ("warning", str(tmp_path / "wangtimer.db"))


CALLBACK_START = (
    "from celery.signals import celeryd_after_setup; import wangtimer.celery as w;"
    "w.app.amqp.queues.select(['callback']); celeryd_after_setup.send(None)"
)


@pytest.mark.processes
@pytest.mark.parametrize(("url", "status"), [("", 1), ("smtp://mail.example", 0)])
def test_who_sends_mail_does_not_start_with_a_sender_and_no_server(url: str, status: int) -> None:
    """The API would take rules with mail, and no mail would ever go."""
    environment = inherited_environment() | {
        f"{ENV_PREFIX}EGRESS": "public",
        f"{ENV_PREFIX}SMTP_SENDER": "alerts@corp.example",
        f"{ENV_PREFIX}SMTP_URL": url,
    }
    done = subprocess.run(
        [sys.executable, "-c", CALLBACK_START], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    assert ("WANGTIMER_SMTP_SENDER is set and WANGTIMER_SMTP_URL is not" in done.stderr) == bool(status)


def test_a_sender_without_a_server_is_right_for_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}SMTP_SENDER", "alerts@corp.example")
    with pytest.raises(BadSetting, match=r"set both for callback processes"):
        require_mail_server(read_settings())
    monkeypatch.setenv(f"{ENV_PREFIX}SMTP_SENDER", "")
    require_mail_server(read_settings())


@pytest.mark.parametrize(
    ("url", "sender", "said"),
    [
        ("", "WangTimer <a@b.example>", "SMTP_SENDER=.* no mail address"),
        ("smtps://mail.example", "", "SMTP_URL: the sender is missing"),
        (
            "smtps://us@mail.example",
            "a@b.example",
            "SMTP_URL: it has a user or a password, and not the other",
        ),
    ],
)
def test_half_of_what_mail_needs_stops_every_start(
    monkeypatch: pytest.MonkeyPatch, url: str, sender: str, said: str
) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}SMTP_URL", url)
    monkeypatch.setenv(f"{ENV_PREFIX}SMTP_SENDER", sender)
    with pytest.raises(BadSetting, match=said):
        read_settings()


@pytest.mark.processes
@pytest.mark.parametrize(
    "start",
    [CALLBACK_START, "import wangtimer.api.gunicorn"],
    ids=["callback", "web"],
)
def test_brokers_that_cannot_be_read_stop_the_start_with_a_line(tmp_path: Path, start: str) -> None:
    """They would be looked at by the first call otherwise, and no call would be made from then on."""
    file = tmp_path / "brokers.toml"
    file.write_text('[orders]\nurl = "redis://127.0.0.1:6379/0"\nlist = ["jobs"]\n')
    environment = inherited_environment() | {
        f"{ENV_PREFIX}EGRESS": "public",
        f"{ENV_PREFIX}BROKERS_FILE": str(file),
    }
    done = subprocess.run(
        [sys.executable, "-c", start], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("wangtimer: ")]
    assert f"WANGTIMER_BROKERS_FILE={file}" in line


def test_no_variable_of_ours_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "APP", "VERSION", "TEST_MARK", "step_s"):
        monkeypatch.setenv(f"{ENV_PREFIX}{name}", "100")
    read_settings()
    assert unknown_variables() == []


def test_every_variable_that_is_written_anywhere_here_is_known() -> None:
    """Tests, make targets, compose and documents name none that the service would warn of."""
    names = {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields} | NOT_SETTINGS
    folders = ("wangtimer", "tests", "benchmarks", "docs")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in WRITTEN_IN]
    found += [ROOT / name for name in ("Makefile", "docker-compose.yml", "Procfile", "Dockerfile")]
    found += ROOT.glob("*.md")
    written = {
        name: path
        for path in found
        for name in re.findall(rf"{ENV_PREFIX}[A-Z][A-Z_]*[A-Z]", path.read_text())
    }
    assert f"{ENV_PREFIX}STEP_S" in written
    assert {name: path for name, path in written.items() if name not in names} == {}


def test_no_two_settings_are_so_alike_that_one_could_be_taken_for_the_other_misspelt() -> None:
    """A version without one of the two would not start, where the other is set."""
    names = [f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields] + sorted(NOT_SETTINGS)
    alike = {name: near_miss(name, [one for one in names if one != name]) for name in names}
    assert {name: near for name, near in alike.items() if near} == {}


@pytest.mark.parametrize(
    ("bind", "hosts", "is_taken"),
    [
        ("127.0.0.1:5000", "", True),
        ("localhost:5000", "timers.example", True),
        ("[::1]:5000", "", True),
        ("unix:/run/wangtimer.sock", "", True),
        ("127.0.0.1:5000,unix:/run/wangtimer.sock", "", True),
        ("0.0.0.0:5000", "", False),
        (":5000", "", False),
        ("10.0.0.7:5000", "", False),
        ("fd://3", "", False),
        ("127.0.0.1:5000,10.0.0.7:5000", "", False),
        ("127.0.0.1:5000", "*", False),
    ],
)
def test_without_keys_only_this_machine_may_reach_the_api(
    monkeypatch: pytest.MonkeyPatch, bind: str, hosts: str, is_taken: bool
) -> None:
    for name, value in (("AUTH", "off"), ("HTTP_BIND", bind), ("HTTP_HOSTS", hosts)):
        monkeypatch.setenv(f"WANGTIMER_{name}", value)
    if is_taken:
        assert read_settings().auth == "off"
    else:
        with pytest.raises(BadSetting, match="WANGTIMER_AUTH=off"):
            read_settings()


def test_a_trusted_network_that_is_none_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_COMPAT_TRUSTED_NETWORKS", "10.1.0.0/16,10.1.2.3/16")
    with pytest.raises(BadSetting, match="COMPAT_TRUSTED_NETWORKS"):
        read_settings()
