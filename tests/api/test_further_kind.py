"""A further kind of rule in the API: one file says all of it."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.processes


@pytest.fixture
def answers(sqlite_url: str, redis_url: str) -> list[list[dict[str, Any]]]:
    command = [sys.executable, "-m", "tests.api.further_kind_api", sqlite_url, redis_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_further_kind_is_asked_for_shown_edited_and_refused(answers: list[list[dict[str, Any]]]) -> None:
    made, enabled, read, moved, cron, back, refused, two, bounds = answers[0]
    assert (made["data"]["workdayOfMonth"], made["data"]["timezone"]) == (3, "Europe/Berlin")
    assert made["data"]["words"]["en"] == "at 12:00 on workday 3 of each month (Europe/Berlin)"
    assert made["data"]["warnings"][0]["textZh"] == "节假日也算工作日"
    assert enabled["code"] == 0
    assert read["data"]["nextFireAt"] == made["data"]["nextMoments"][0]["utc"]
    assert (moved["data"]["workdayOfMonth"], moved["data"]["timezone"]) == (3, "Asia/Shanghai")
    assert "workdayOfMonth" not in cron["data"]
    assert (back["data"]["workdayOfMonth"], back["data"]["maxFirings"]) == (20, 2)
    assert "cron" not in back["data"]
    assert (refused["code"], refused["field"]) == (40008, "workdayOfMonth")
    assert two["msg"].startswith(
        "cron: 2 of cron, everyMs, everyDays, at, delayMs and workdayOfMonth are given"
    )
    assert bounds["msg"].endswith("leave it out, or give cron or everyMs or everyDays or workdayOfMonth")


def test_v1_has_a_further_kind_too(answers: list[list[dict[str, Any]]]) -> None:
    made, read, previewed, refused, none = answers[1]
    assert made["schedule"] == read["schedule"] == {"workdayOfMonth": 3, "timezone": "Europe/Berlin"}
    assert made["preview"]["words"]["en"] == "at 12:00 on workday 3 of each month (Europe/Berlin)"
    assert previewed["words"] == made["preview"]["words"]
    assert previewed["nextMoments"] == made["preview"]["nextMoments"][:1]
    assert (refused["code"], refused["pointer"]) == (40008, "/schedule/workdayOfMonth")
    assert none["detail"].startswith("0 of cron, every, everyDays, at, delay and workdayOfMonth are given")
