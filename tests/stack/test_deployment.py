"""Procfile, docker-compose.yml and celeryconfig.py tell one story (checked without a Docker engine)."""

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from wangtimer.stack.procfile import Command, read_commands

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
QUEUES = {"schedule", "migrate", "trigger", "callback"}
PUBLISHED = {"proxy", "flower"}

SERVICE_KEYS = {
    "build",
    "command",
    "depends_on",
    "environment",
    "healthcheck",
    "image",
    "init",
    "logging",
    "ports",
    "restart",
    "stop_grace_period",
    "volumes",
}
HEALTH_KEYS = {"test", "interval", "timeout", "retries", "start_period"}
DURATION = re.compile(r"\d+s")


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return document


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def composed_argv(service: dict[str, Any]) -> tuple[str, ...]:
    """Read a command as compose does: `$$` stands for one `$`, words as in a shell."""
    return tuple(shlex.split(service["command"].replace("$$", "$")))


def queue_of(command: Command) -> str | None:
    return command.argv[command.argv.index("-Q") + 1] if "-Q" in command.argv else None


def test_compose_starts_each_process_with_the_procfile_s_command() -> None:
    composed = {name: composed_argv(service) for name, service in services().items() if "build" in service}
    assert composed == {command.name: command.argv for command in read_commands().values()}


def test_every_queue_has_a_process_and_every_process_a_real_queue() -> None:
    consumed = {queue_of(command) for command in read_commands().values()} - {None}
    declared = getattr(importlib.import_module("celeryconfig"), "task_queues", None)
    assert declared is not None, "celeryconfig.py has no task_queues"
    assert consumed == {queue.name for queue in declared} == QUEUES


def test_the_file_has_the_shape_compose_expects() -> None:
    document = compose()
    assert {key for key in document if not key.startswith("x-")} == {"name", "services", "volumes"}
    for name, service in document["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        assert isinstance(service["image"], str), name
        assert all(condition == {"condition": "service_healthy"} for condition in needs(service).values()), (
            name
        )
        assert set(needs(service)) <= set(document["services"]), name
        assert all(isinstance(value, str) for value in service["environment"].values()), name


def needs(service: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = service.get("depends_on", {})
    return found


@pytest.mark.parametrize("name", sorted(services()))
def test_a_service_is_watched_and_restarted_and_given_time_to_end(name: str) -> None:
    service = services()[name]
    health = service["healthcheck"]
    assert set(health) <= HEALTH_KEYS
    assert health["test"][0] in ("CMD", "CMD-SHELL")
    assert all(DURATION.fullmatch(health[key]) for key in ("interval", "timeout"))
    assert service["restart"] == "unless-stopped"
    assert DURATION.fullmatch(service["stop_grace_period"])


@pytest.mark.parametrize("name", ["beat", "scheduler", "migrate", "trigger", "callback"])
def test_a_celery_process_is_asked_by_the_node_name_it_was_given(name: str) -> None:
    service = services()[name]
    assert f"{name}@%h" in composed_argv(service)
    assert service["healthcheck"]["test"][1].endswith(f"inspect ping --timeout 5 -d {name}@$$HOSTNAME")


@pytest.mark.parametrize("name", sorted(services()))
def test_only_the_proxy_and_flower_are_reachable_from_outside(name: str) -> None:
    assert ("ports" in services()[name]) == (name in PUBLISHED)


@pytest.mark.parametrize("name", sorted({"scheduler", "migrate", "trigger", "callback"}))
def test_workers_can_be_scaled(name: str) -> None:
    """A container name, a host name or a host port would be the same for all replicas."""
    assert not {"container_name", "hostname", "ports", "network_mode"} & set(services()[name])


def test_no_secret_stands_in_the_file_and_none_has_a_default() -> None:
    text = COMPOSE.read_text()
    secrets = re.findall(r"(?<!\$)\$\{(\w*(?:PASSWORD|AUTH|SECRET)\w*)([^}]*)\}", text)
    assert {name for name, _ in secrets} == {"MYSQL_PASSWORD", "REDIS_PASSWORD", "FLOWER_BASIC_AUTH"}
    assert all(rule.startswith(":?set ") for _, rule in secrets)
    in_urls = re.findall(r"://\w*:(\$\{[^}]*\}|[^@\s]+)@", text)
    assert len(in_urls) == 3
    assert all(password.startswith("${") for password in in_urls)


def test_a_planned_stop_waits_longer_than_a_callback_may_take() -> None:
    from wangtimer.settings import Settings

    grace = int(services()["callback"]["stop_grace_period"].removesuffix("s"))
    assert grace * 1000 > Settings.model_fields["callback_timeout_ms"].default


def test_the_image_holds_what_the_build_needs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE)
    assert {word for line in copied for word in line.split()} <= allowed
    assert re.search(r"^USER (?!root)\w+", dockerfile, re.MULTILINE)
    assert '".[mysql]"' in dockerfile
    command = re.search(r"^CMD \[(.*)\]$", dockerfile, re.MULTILINE)
    assert command is not None
    assert tuple(re.findall(r'"([^"]*)"', command[1])) == read_commands()["web"].argv
