"""Procfile, docker-compose.yml and celeryconfig.py tell one story (checked without a Docker engine)."""

import hashlib
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stack.accounts import made_accounts
from wangtimer.base.settings import Settings
from wangtimer.stack.procfile import Command, read_commands

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
OWN_QUEUE = ROOT / "deploy/own-queue.yml"
QUEUES = {"schedule", "migrate", "trigger", "callback"}
PUBLISHED = {"proxy", "flower"}
SERVERS = {"mysql", "store", "broker"}
# By whom each network is shared. Docker publishes a port only from a network that is not internal.
NETWORKS = {
    "public": {"proxy"},
    "front": {"proxy", "web", "stream", "operator"},
    "data": {
        "mysql",
        "store",
        "web",
        "scheduler",
        "migrate",
        "trigger",
        "callback",
        "stream",
        "schema",
        "operator",
    },
    "broker": {"broker", "web", "beat", "scheduler", "migrate", "trigger", "callback", "flower", "operator"},
    "egress": {"callback"},
    "operators": {"flower"},
}
INTERNAL = {"front", "data", "broker"}
LOOPBACK = ("127.0.0.1:", "${WEB_ADDRESS:-127.0.0.1}:")
DATA = {"mysql": "/var/lib/mysql", "store": "/data"}
FURTHER_PASSWORDS = {
    **{name: {"MYSQL_PASSWORD"} for name in ("web", "scheduler", "migrate", "trigger", "callback", "stream")},
    **{name: {"REDIS_HEALTH_PASSWORD"} for name in ("store", "broker")},
    "mysql": {"MYSQL_PASSWORD", "MYSQL_SCHEMA_PASSWORD", "MYSQL_ROOT_PASSWORD"},
    "flower": {"FLOWER_BASIC_AUTH"},
}
DURATION = re.compile(r"\d+s")


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


def services() -> dict[str, dict[str, Any]]:
    """Return the services that run; `schema` and `operator` are run once, by hand."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return {name: service for name, service in found.items() if "profiles" not in service}


def composed_argv(service: dict[str, Any]) -> tuple[str, ...]:
    """Read a command as compose does: `$$` stands for one `$`, words as in a shell."""
    return tuple(shlex.split(service["command"].replace("$$", "$")))


def is_ours(service: dict[str, Any]) -> bool:
    """Tell whether a service runs the program's own image."""
    image: str = service["image"]
    return image.startswith("wangtimer:")


def test_the_image_is_built_once() -> None:
    """Compose takes for the other services what one builds under the same name."""
    assert [name for name, service in compose()["services"].items() if "build" in service] == ["web"]


def queue_of(command: Command) -> str | None:
    return command.argv[command.argv.index("-Q") + 1] if "-Q" in command.argv else None


def test_compose_starts_each_process_with_the_procfile_s_command() -> None:
    composed = {name: composed_argv(service) for name, service in services().items() if is_ours(service)}
    assert composed == {command.name: command.argv for command in read_commands().values()}


def test_every_queue_has_a_process_and_every_process_a_real_queue() -> None:
    consumed = {queue_of(command) for command in read_commands().values()} - {None}
    declared = getattr(importlib.import_module("celeryconfig"), "task_queues", None)
    assert declared is not None, "celeryconfig.py has no task_queues"
    assert consumed == {queue.name for queue in declared} == QUEUES


def test_the_proxy_waits_for_no_stream() -> None:
    """Who has no consumers runs none."""
    assert set(needs(compose()["services"]["proxy"])) == {"web"}


def test_the_files_are_as_the_compose_specification_has_them() -> None:
    """By its own schema. What it leaves open is below: on what a service waits, and that no value is a number."""
    schema = ("--builtin-schema", "vendor.compose-spec")
    files = (str(COMPOSE), str(OWN_QUEUE))
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *schema, *files], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    composed = compose()["services"]
    for name, service in composed.items():
        assert all(one == {"condition": "service_healthy"} for one in needs(service).values()), name
        assert set(needs(service)) <= set(composed), name
        assert all(isinstance(value, str) for value in service["environment"].values()), name


def needs(service: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = service.get("depends_on", {})
    return found


@pytest.mark.parametrize("name", sorted(services()))
def test_a_service_is_watched_and_restarted_and_given_time_to_end(name: str) -> None:
    service = services()[name]
    health = service["healthcheck"]
    assert health["test"][0] in ("CMD", "CMD-SHELL")
    assert all(DURATION.fullmatch(health[key]) for key in ("interval", "timeout"))
    assert service["restart"] == "unless-stopped"
    assert DURATION.fullmatch(service["stop_grace_period"])


@pytest.mark.parametrize("name", ["beat", "scheduler", "migrate", "trigger", "callback"])
def test_a_celery_process_tells_its_health_by_a_file_and_nobody_starts_python_for_it(name: str) -> None:
    service = services()[name]
    assert service["healthcheck"]["test"] == [
        "CMD",
        "test",
        "-f",
        service["environment"]["WANGTIMER_READY_FILE"],
    ]


def test_there_are_two_beats() -> None:
    assert services()["beat"]["scale"] == 2


@pytest.mark.parametrize("name", sorted(compose()["services"]))
def test_a_container_has_a_limit_of_memory(name: str) -> None:
    assert re.search(r"\d[mg]\}?$", compose()["services"][name]["mem_limit"])


@pytest.mark.parametrize("name", sorted(services()))
def test_only_the_proxy_is_reachable_from_outside_and_flower_from_its_host(name: str) -> None:
    service = services()[name]
    assert ("ports" in service) == (name in PUBLISHED)
    # All but TLS is for this host.
    assert [port for port in service.get("ports", []) if not port.startswith(LOOPBACK)] == (
        ["${TLS_PORT:-5443}:5443"] if name == "proxy" else []
    )


@pytest.mark.parametrize("name", ["web", "callback"])
def test_no_call_reaches_flower_or_the_second_port_of_mysql(name: str) -> None:
    servers = services()[name]["environment"]["WANGTIMER_OWN_SERVERS"].split(",")
    assert {"flower:5555", "mysql:33060"} <= set(servers)
    assert {one.partition(":")[0] for one in servers} <= set(compose()["services"])


# Which processes need a setting that an operator may give, and what they get if nobody gives it.
FURTHER_SETTINGS = {
    "SMTP_URL": ({"callback"}, "${WANGTIMER_SMTP_URL:-}"),
    "SMTP_SENDER": ({"web", "callback"}, "${WANGTIMER_SMTP_SENDER:-}"),
    "BROKERS_FILE": ({"web", "callback"}, "/run/secrets/brokers"),
    "TRUSTED_PROXIES": ({"web"}, "${WANGTIMER_TRUSTED_PROXIES:-}"),
    "COMPAT_TRUSTED_NETWORKS": ({"web"}, "${WANGTIMER_COMPAT_TRUSTED_NETWORKS:-}"),
}


@pytest.mark.parametrize("setting", FURTHER_SETTINGS)
def test_who_needs_mail_brokers_or_proxies_is_given_them_and_nobody_else(setting: str) -> None:
    given = {
        name: service["environment"][f"WANGTIMER_{setting}"]
        for name, service in compose()["services"].items()
        if f"WANGTIMER_{setting}" in service["environment"]
    }
    processes, value = FURTHER_SETTINGS[setting]
    assert given == dict.fromkeys(processes, value)


def test_brokers_are_a_secret_of_who_reads_them_and_none_are_named_at_first(tmp_path: Path) -> None:
    having = {name for name, service in compose()["services"].items() if "secrets" in service}
    assert having == FURTHER_SETTINGS["BROKERS_FILE"][0]
    assert all(services()[name]["secrets"] == ["brokers"] for name in having)
    assert compose()["secrets"] == {"brokers": {"file": "./accounts/brokers.toml"}}
    made_accounts(tmp_path)
    file = tmp_path / "accounts/brokers.toml"
    assert Settings(brokers_file=file).named_brokers == {}
    file.write_text('[[broker]]\nname = "orders"\nurl = "amqp://rabbit.example"\n')
    made_accounts(tmp_path)
    assert set(Settings(brokers_file=file).named_brokers) == {"orders"}


def test_a_server_shares_a_network_only_with_who_needs_it_and_only_callbacks_reach_the_world() -> None:
    document = compose()
    shared: dict[str, set[str]] = {name: set() for name in document["networks"]}
    for name, service in document["services"].items():
        for network in service["networks"]:
            shared[network].add(name)
    assert shared == NETWORKS
    internal = {name for name, network in document["networks"].items() if network == {"internal": True}}
    assert internal == INTERNAL
    # A target that is on the network of callbacks finds no server there.
    assert not NETWORKS["egress"] & SERVERS


@pytest.mark.parametrize("name", sorted(compose()["services"]))
def test_a_container_can_write_to_nothing_but_its_volume_and_gain_no_right(name: str) -> None:
    service = compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "pid", "ipc", "devices", "network_mode"} & set(service)
    # Ours has its user in the Dockerfile.
    user = service.get("user", "")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user) or is_ours(service)
    # A tmpfs over a folder of an image is root's, unless it is told; /tmp of our image is everybody's.
    owner = ":uid={},gid={}".format(*user.split(":")) if user else ""
    own = [one for one in service["tmpfs"] if one != "/tmp"]
    assert all(owner and one.endswith(owner) for one in own)
    writable = [volume for volume in service.get("volumes", []) if not volume.endswith(":ro")]
    assert writable == ([f"{name}:{DATA[name]}"] if name in DATA else [])


@pytest.mark.parametrize("name", sorted(services()))
def test_a_process_has_the_password_of_its_own_accounts_only(name: str) -> None:
    named = set(re.findall(r"\$\{(\w*(?:PASSWORD|AUTH)\w*)", str(services()[name]["environment"])))
    own = {f"REDIS_{name.upper()}_PASSWORD"} if is_ours(services()[name]) else set()
    assert named == own | FURTHER_PASSWORDS.get(name, set())


@pytest.mark.parametrize("name", sorted({"beat", "scheduler", "migrate", "trigger", "callback"}))
def test_workers_can_be_scaled(name: str) -> None:
    """A container name, a host name or a host port would be the same for all replicas."""
    assert not {"container_name", "hostname", "ports", "network_mode"} & set(services()[name])


def test_no_secret_stands_in_the_file_and_each_is_made_by_make_accounts(tmp_path: Path) -> None:
    text = COMPOSE.read_text()
    secrets = re.findall(r"(?<!\$)\$\{(\w*(?:PASSWORD|AUTH|SECRET)\w*)([^}]*)\}", text)
    assert {name for name, _ in secrets} == set(made_accounts(tmp_path))
    assert {rule for _, rule in secrets} == {":?run sh deploy/make-accounts"}
    in_urls = re.findall(r"://(\w*):(\$\{[^}]*\}|[^@\s]+)@", text)
    assert len(in_urls) == 17
    assert all(password.startswith("${") for _, password in in_urls)
    assert all(
        f"REDIS_{account.upper()}_PASSWORD" in password
        for account, password in in_urls
        if not account.startswith("wangtimer")
    )


def test_made_again_accounts_keep_what_there_is_and_add_what_is_missing(tmp_path: Path) -> None:
    made = made_accounts(tmp_path)
    file = tmp_path / ".env"
    file.write_text(
        "".join(f"{name}={value}\n" for name, value in made.items() if name != "REDIS_STREAM_PASSWORD")
    )
    again = made_accounts(tmp_path)
    assert again.keys() == made.keys()
    assert {name for name in made if again[name] != made[name]} == {"REDIS_STREAM_PASSWORD"}
    digest = hashlib.sha256(again["REDIS_STREAM_PASSWORD"].encode()).hexdigest()
    assert f"#{digest}" in (tmp_path / "accounts" / "store.acl").read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_the_servers_are_given_are_the_files_of_deploy() -> None:
    assert services()["store"]["volumes"][1:] == ["./accounts/store.acl:/accounts.acl:ro"]
    assert services()["broker"]["volumes"] == ["./accounts/broker.acl:/accounts.acl:ro"]
    for server in ("store", "broker"):
        assert "--aclfile /accounts.acl" in services()[server]["command"]
    mounted = [volume.split(":")[0] for volume in services()["mysql"]["volumes"][1:]]
    assert mounted == ["./schema.sql", "./deploy/mysql/accounts.sql", "./deploy/mysql/accounts.sh"]
    assert all((ROOT / path).is_file() for path in mounted)


def test_a_planned_stop_waits_longer_than_a_callback_may_take() -> None:
    grace = int(services()["callback"]["stop_grace_period"].removesuffix("s"))
    assert grace * 1000 > Settings.model_fields["callback_timeout_ms"].default


def test_the_image_holds_what_the_build_needs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE)
    assert {word for line in copied for word in line.split()} <= allowed
    assert re.search(r"^USER (?!root)\w+", dockerfile, re.MULTILINE)
    assert "requirements.lock" in dockerfile
    command = re.search(r"^CMD \[(.*)\]$", dockerfile, re.MULTILINE)
    assert command is not None
    assert tuple(re.findall(r'"([^"]*)"', command[1])) == read_commands()["web"].argv


def test_the_example_of_an_own_queue_is_the_callback_process_with_another_queue() -> None:
    """The Procfile has it as a comment, deploy/own-queue.yml for Compose."""
    example = yaml.safe_load(OWN_QUEUE.read_text())["services"]["callback-reports"]
    assert example["scale"] == "${CALLBACKS_REPORTS:-1}"
    # Compose reads paths from the folder of the first file, whichever file they stand in.
    assert example["extends"] == {"file": "docker-compose.yml", "service": "callback"}
    common = shlex.join(read_commands()["callback"].argv)
    own = common.replace("-Q callback", "-Q callback.reports").replace("callback@%h", "callback-reports@%h")
    assert example["command"] == own
    assert f"# callback-reports: {own}" in (ROOT / "Procfile").read_text().splitlines()
