"""A feature more is one folder and one line of a list: this folder is one, and all that it adds works."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What a deployment with this feature does, in a process of its own: its modules find what it adds."""
    command = (sys.executable, "-m", "tests.further_feature.round_trip")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_feature_adds_a_field_of_a_timer(seen: dict[str, Any]) -> None:
    assert (seen["made"]["restMinute"], seen["edited"]["restMinute"]) == (1, 5)


def test_it_has_a_say_before_a_call_and_in_the_request(seen: dict[str, Any]) -> None:
    calls = sorted((call["key"], call["minute"], call["header"]) for call in seen["calls"])
    assert calls == [("plain", 1, None), ("plain", 2, None), ("resting", 2, "1")]
    outcomes = {one["fireAt"]: (one["status"], one["error"]) for one in seen["firings"]}
    assert outcomes == {
        "2027-01-04T00:01:00.000Z": ("skipped", "it rests"),
        "2027-01-04T00:02:00.000Z": ("succeeded", ""),
    }


def test_it_reads_the_answer_and_writes_into_its_table_once_that_is_settled(seen: dict[str, Any]) -> None:
    """Its route lists what is there."""
    assert seen["listed"] == {"items": [{"fireAt": "2027-01-04T00:02:00.000Z", "words": "as you say"}]}
    assert seen["documented"]


def test_it_adds_a_command(seen: dict[str, Any]) -> None:
    assert seen["command"] == seen["listed"]["items"]
    assert "Show what targets said." in seen["help"]


def test_it_adds_a_metric(seen: dict[str, Any]) -> None:
    assert "wangtimer_words 1.0" in seen["metrics"].splitlines()
