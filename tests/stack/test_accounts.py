"""Each process has an account of its own in SQL and in each Redis, and can do what it must and nothing else."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import MySQLdb
import pytest
import redis
import requests

from tests.patience import wait_for
from tests.stack.accounts import ROOT, GuardedDeployment, GuardedRedis, made_accounts
from wangtimer.cli.doctor.findings import Part, Severity
from wangtimer.cli.doctor.server_checkups import check_redis
from wangtimer.core.secret_keys import read_secret_keys
from wangtimer.stack.ports import HOST

ACLS = {name: (ROOT / f"deploy/redis/{name}.acl").read_text() for name in ("store", "broker")}
# Each queue with the process that takes from it.
QUEUES = {
    "schedule": "scheduler",
    "migrate": "migrate",
    "trigger": "trigger",
    "callback": "callback",
    "callback.reports": "callback",
}
ROLES = ("web", "beat", "scheduler", "migrate", "trigger", "callback", "stream", "flower")
# The account for a person.
PERSON = "operator"
# The stream sends no tasks.
OF_THE_BROKER = tuple(role for role in ROLES if role != "stream")
# To which other queues each process sends.
SENDS_TO = {
    "web": ("callback", "callback.reports", "migrate"),
    "beat": ("schedule", "migrate"),
    "scheduler": ("trigger",),
    "migrate": ("callback", "callback.reports"),
    "trigger": ("callback", "callback.reports"),
    "callback": ("migrate",),
    "flower": (),
}
FORBIDDEN_IN_REDIS = ("FLUSHALL", "KEYS *", "CONFIG GET *", "LRANGE callback 0 -1", "MONITOR", "ACL LIST")
FORBIDDEN_IN_SQL = (
    "DROP TABLE timer",
    "ALTER TABLE timer ADD COLUMN more INT",
    "CREATE TABLE more (id INT)",
    "TRUNCATE TABLE firing",
    "SELECT * FROM mysql.user",
    "SELECT 1 INTO OUTFILE '/tmp/wangtimer-never'",
    "GRANT SELECT ON wangtimer.* TO wangtimer@'%'",
)
WANGTIMER = ("-c", "from wangtimer.cli import main; main()")
INSPECT = ("-m", "celery", "-A", "wangtimer", "inspect")
# Sent by the library itself, for each connection or with others.
OF_THE_LIBRARY = {"auth", "hello", "ping", "select", "eval", "evalsha", "script|load", "info"}


def rules(server: str) -> dict[str, list[str]]:
    """Return the rules of each account of an ACL file."""
    lines = [line.split() for line in ACLS[server].splitlines() if line.startswith("user ")]
    return {name: rest for _, name, *rest in lines}


def allowed(server: str, role: str) -> set[str]:
    return {rule[1:] for rule in rules(server)[role] if rule.startswith("+")}


def test_the_store_s_accounts_have_the_commands_that_the_code_sends_and_no_other() -> None:
    folder = ROOT / "wangtimer/store/redis"
    in_scripts = {
        name.lower()
        for path in folder.glob("lua/*.lua")
        for name in re.findall(r"redis\.p?call\('(\w+)'", path.read_text())
    }
    # What is done by hand no process does.
    code = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "by_hand.py")
    called = set(re.findall(r"(?:client|pipe)\.([a-z]+)\(", code)) - {
        "eval",
        "evalsha",
        "close",
        "pipeline",
        "execute",
    }
    sent = in_scripts | {{"delete": "del"}.get(name, name) for name in called} | {"memory|usage"}
    # redis-py's name for ZRANGE from the end.
    sent |= {"zrevrange"} if "desc=True" in code else set()
    for role in ("scheduler", "migrate", "trigger", "callback"):
        assert allowed("store", role) == sent | OF_THE_LIBRARY
    assert allowed("store", "web") == sent | OF_THE_LIBRARY | {"pubsub|numsub"}
    assert allowed("store", "stream") == sent | OF_THE_LIBRARY | {"subscribe", "unsubscribe"}
    assert allowed("store", PERSON) == allowed("store", "web") | {"scan", "unlink", "acl|log"}
    assert allowed("broker", PERSON) == allowed("broker", "web") | {"acl|log"}


def test_no_account_has_a_category_all_keys_or_a_password_in_the_file() -> None:
    for server in ACLS:
        accounts = rules(server)
        assert accounts.pop("default") == ["off"]
        assert accounts.keys() == {"health", PERSON, *ROLES} - (
            {"beat", "flower"} if server == "store" else {"stream"}
        )
        for role, given in accounts.items():
            assert given[:2] == ["on", f"#{{{role}}}"]
            assert "-@all" in given
            assert not {"~*", "allkeys", "&*", "allchannels", "nopass"} & set(given)
            assert not [rule for rule in given if rule.startswith(("+@", ">"))]
            assert not {"flushall", "flushdb", "keys", "config", "acl", "shutdown", "debug"} & allowed(
                server, role
            )


def test_passwords_are_made_once_each_another_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    made = made_accounts(tmp_path)
    assert len(set(made.values())) == len(made) == len(ROLES) + 7
    (secret_key,) = read_secret_keys(made["WANGTIMER_SECRET_KEYS"])
    assert secret_key == "k1"
    passwords = [value for name, value in made.items() if name != "WANGTIMER_SECRET_KEYS"]
    assert all(re.fullmatch(r"[0-9a-f]{32}", value.rpartition(":")[2]) for value in passwords)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert made_accounts(tmp_path) == made
    for name in ACLS:
        text = (tmp_path / "accounts" / f"{name}.acl").read_text()
        assert not [password for password in made.values() if password in text]
        assert not re.search(r"[{}]|^#", text, re.MULTILINE)


def test_the_files_of_units_have_each_its_own_accounts_and_keep_what_was_added(tmp_path: Path) -> None:
    made, units = made_accounts(tmp_path, units=tmp_path / "units"), tmp_path / "units"
    with (units / "callback.env").open("a") as file:
        file.write("WANGTIMER_SMTP_URL=smtps://mail.example\n")
    assert made_accounts(tmp_path, units=units) == made
    files = {
        one.stem: dict(line.split("=", 1) for line in one.read_text().splitlines())
        for one in units.glob("*.env")
    }
    assert files.keys() == {"settings", "beat2", PERSON, *ROLES}
    assert files["callback"]["WANGTIMER_SMTP_URL"] == "smtps://mail.example"
    assert files["beat2"] == files["beat"]
    for name in (*ROLES, PERSON):
        text = (units / f"{name}.env").read_text()
        assert (units / f"{name}.env").stat().st_mode & 0o777 == 0o600
        others = {one for one in (*ROLES, PERSON) if made[f"REDIS_{one.upper()}_PASSWORD"] in text} - {name}
        assert not others
        assert ("WANGTIMER_STORE_URL" in text) == (name not in ("beat", "flower"))
    assert made["MYSQL_SCHEMA_PASSWORD"] in files[PERSON]["WANGTIMER_DATABASE_URL"]
    assert made["MYSQL_PASSWORD"] in files["settings"]["WANGTIMER_DATABASE_URL"]
    assert files["settings"]["WANGTIMER_SECRET_KEYS"] == made["WANGTIMER_SECRET_KEYS"]
    assert made["MYSQL_ROOT_PASSWORD"] not in "".join(one.read_text() for one in units.glob("*.env"))


def test_what_an_operator_changed_in_the_files_of_units_outlives_an_upgrade(tmp_path: Path) -> None:
    """A restored database and the keys of its dump, and TLS to Redis; a new password is taken all the same."""
    made_accounts(tmp_path, units=tmp_path / "units")
    settings, operator, web = (tmp_path / f"units/{name}.env" for name in ("settings", "operator", "web"))
    for file in (settings, operator):
        file.write_text(file.read_text().replace("/wangtimer?", "/wangtimer_restored?"))
    settings.write_text(
        re.sub("(?m)^WANGTIMER_SECRET_KEYS=.*", r"\g<0>,k0:of-the-dump", settings.read_text())
    )
    web.write_text(web.read_text().replace("redis://", "rediss://"))
    written = {file: file.read_text() for file in (settings, operator, web)}
    made_accounts(tmp_path, units=tmp_path / "units")
    assert {file: file.read_text() for file in written} == written
    passwords = tmp_path / ".env"
    passwords.write_text(re.sub("(?m)^(MYSQL|REDIS_WEB)_PASSWORD=.*\n", "", passwords.read_text()))
    made = made_accounts(tmp_path, units=tmp_path / "units")
    assert f"://wangtimer:{made['MYSQL_PASSWORD']}@127.0.0.1:3306/wangtimer_restored?" in settings.read_text()
    assert web.read_text().count(f"=rediss://web:{made['REDIS_WEB_PASSWORD']}@127.0.0.1:") == 2
    settings.write_text("WANGTIMER_SECRET_KEYS_FILE=/etc/wangtimer/keys\n")
    made_accounts(tmp_path, units=tmp_path / "units")
    assert "WANGTIMER_SECRET_KEYS=" not in settings.read_text()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[GuardedRedis, dict[str, str]]]:
    passwords = made_accounts(tmp_path / "made")
    with GuardedRedis(tmp_path / "broker", tmp_path / "made/accounts/broker.acl") as server:
        yield server, passwords


@pytest.mark.processes
def test_a_process_sends_only_to_the_queues_it_must_and_takes_only_from_its_own(
    broker: tuple[GuardedRedis, dict[str, str]],
) -> None:
    server, passwords = broker
    sends, takes = set(), set()
    for role in OF_THE_BROKER:
        url = server.url_of(role, passwords[f"REDIS_{role.upper()}_PASSWORD"])
        with closing(redis.Redis.from_url(url)) as client:
            for queue in QUEUES:
                with suppress(redis.exceptions.NoPermissionError):
                    client.lpush(queue, "x")
                    sends.add((role, queue))
                with suppress(redis.exceptions.NoPermissionError):
                    client.brpop([queue], 1)
                    takes.add((role, queue))
            for forbidden in FORBIDDEN_IN_REDIS:
                with pytest.raises(redis.exceptions.NoPermissionError):
                    client.execute_command(forbidden)
    own = {(role, queue) for queue, role in QUEUES.items()}
    assert takes == own
    assert sends - own == {(role, queue) for role, queues in SENDS_TO.items() for queue in queues}


@pytest.mark.processes
def test_the_doctor_says_of_an_account_without_info_what_it_cannot_see(
    broker: tuple[GuardedRedis, dict[str, str]],
) -> None:
    server, passwords = broker
    url = server.url_of("scheduler", passwords["REDIS_SCHEDULER_PASSWORD"])
    (finding,) = check_redis(url, Part("broker"), "WANGTIMER_BROKER_URL")
    assert finding.severity is Severity.WARNING
    assert "INFO" in finding.text


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedDeployment]:
    """All processes of the Procfile under their accounts."""
    with GuardedDeployment(tmp_path_factory.mktemp("guarded")) as running:
        yield running


def run(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=60
    )


def refused(guarded: GuardedDeployment) -> list[tuple[object, object]]:
    """Return what was refused to whom. CLIENT SETINFO is asked by redis-py and needed by nobody."""
    found = [*guarded.store.refusals(), *guarded.broker.refusals()]
    return [(one["username"], one["object"]) for one in found if one["object"] != "client|setinfo"]


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_under_them_all_processes_do_their_work_and_nothing_is_refused(guarded: GuardedDeployment) -> None:
    timer = guarded.make_timer("each-second", everyMs=1_000)

    def outcomes() -> set[str]:
        return {str(one["statusName"]) for one in guarded.records(timer)}

    assert wait_for(lambda: outcomes() == {"succeeded"}, 60), guarded.records(timer)
    account = tuple(guarded.passwords["FLOWER_BASIC_AUTH"].split(":"))

    def workers() -> set[str]:
        """Those that Flower knows; one that has just started may not answer it yet."""
        shown = requests.get(f"{guarded.flower_url}/api/workers?refresh=1", auth=account, timeout=30)
        return {name.partition("@")[0] for name in shown.json()}

    assert wait_for(lambda: workers() == {"scheduler", "migrate", "trigger", "callback"}, 60), workers()
    assert requests.get(f"{guarded.flower_url}/broker", auth=account, timeout=30).ok
    # As the health checks of containers do.
    for role in ("callback", "beat"):
        asked = run(guarded.environment_of(role), *INSPECT, "ping", "--timeout", "20")
        assert asked.returncode == 0, asked.stdout + asked.stderr
        assert "callback@" in asked.stdout
    assert refused(guarded) == []
    logs = "".join(path.read_text() for path in guarded.logs())
    assert not re.search("NOPERM|NoPermission|denied|Traceback", logs)
    # The file systems of their containers are read-only.
    assert {path.name for path in guarded.logs()[0].parents[1].iterdir()} == {"log", "run"}
    checked = run(guarded.environment_of("web"), *WANGTIMER, "doctor")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_rows_are_all_that_a_process_can_change_in_sql(guarded: GuardedDeployment) -> None:
    rows, changes = guarded.passwords["MYSQL_PASSWORD"], guarded.passwords["MYSQL_SCHEMA_PASSWORD"]
    port = guarded.sql.port
    with closing(
        MySQLdb.connect(host=HOST, port=port, user="wangtimer", password=rows, database="wangtimer")
    ) as sql:
        for statement in FORBIDDEN_IN_SQL:
            with pytest.raises(MySQLdb.OperationalError, match="denied"):
                sql.cursor().execute(statement)
    for account, password, code in (("wangtimer", rows, 1), ("wangtimer_schema", changes, 0)):
        guarded.sql.run("DROP TABLE IF EXISTS wangtimer.idempotency")
        environment = guarded.environment_of("web")
        environment["WANGTIMER_DATABASE_URL"] = guarded.sql_url(account, password)
        done = run(environment, *WANGTIMER, "schema", "upgrade", "--apply")
        assert done.returncode == code, done.stdout + done.stderr
        assert password not in done.stdout + done.stderr
    assert "idempotency" in done.stderr
