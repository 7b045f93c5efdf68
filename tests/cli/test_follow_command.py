"""`wangtimer timers follow`: a line an outcome, and how it ends."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.runs import Run, runner_of
from tests.client.flaky import Told, flaky
from wangtimer.client import Client

TIMER = {"id": 7, "version": 1, "status": "enabled"}


@pytest.fixture
def told() -> Iterator[Told]:
    with flaky() as told:
        yield told


@pytest.fixture
def run(told: Told) -> Run:
    return runner_of(told.url)


def firing(moment: int, **fields: Any) -> dict[str, Any]:
    found = {"id": f"7-{moment}", "fireAt": f"2026-11-20T00:00:00.{moment:03}Z", "status": "succeeded"}
    found |= {"latenessMs": 1, "durationMs": 12, "attempt": 1, "httpStatus": 200, "error": "", "output": ""}
    return found | fields


def page(*items: dict[str, Any]) -> dict[str, Any]:
    return {"items": list(items), "nextCursor": None}


FAILED = firing(
    2, status="failed", attempt=5, httpStatus=None, durationMs=None, error="refused\nby \x1b[31m it"
)


def test_each_outcome_is_a_line(told: Told, run: Run) -> None:
    told.answers = [TIMER, page(FAILED, firing(1))]
    result = run("timers", "follow", "order-42", "--since", "1h", "--most", 2)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "2026-11-20T00:00:00.001Z  succeeded  1 ms late  took 12 ms  attempt 1  HTTP 200",
        "2026-11-20T00:00:00.002Z  failed  1 ms late  attempt 5  refused by \N{REPLACEMENT CHARACTER}[31m it",
    ]
    assert [path.partition("?")[0] for _, path, _ in told.came] == ["/v1/timers/key:order-42", "/v1/firings"]


def test_as_json_each_is_an_object_on_a_line(told: Told, run: Run) -> None:
    told.answers = [TIMER, page(FAILED, firing(1))]
    result = run("timers", "follow", 7, "--since", "1h", "--most", 2, "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [firing(1), FAILED]
    assert "\x1b" not in result.stdout


def test_ctrl_c_ends_it_well(told: Told, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "_pause", interrupt)
    told.answers = [TIMER, page(), page(firing(1)), TIMER]
    result = run("timers", "follow", "key:order-42")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1


def test_it_ends_with_its_timer(told: Told, run: Run) -> None:
    finished = {**TIMER, "status": "finished"}
    told.answers = [TIMER, page(), page(firing(1)), finished, page(firing(1))]
    result = run("timers", "follow", "key:order-42")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1)


def test_a_timer_that_is_not_there_is_exit_code_1(told: Told, run: Run) -> None:
    told.answer = {"code": 40401, "detail": "the app has no such timer; list them"}
    told.status = 404
    assert run("timers", "follow", "order-42").exit_code == 1
