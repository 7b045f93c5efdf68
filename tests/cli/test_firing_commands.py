"""`wangtimer firings ...` against the real service."""

import csv
import json
from pathlib import Path

import pytest

from tests.api.world import World
from tests.cli.runs import Run, json_of, runner_of
from tests.client.flaky import flaky
from tests.client.outcomes import fired
from wangtimer.cli.firings.firing_commands import Screen
from wangtimer.client import Client
from wangtimer.client.values import moment_ms


@pytest.fixture
def each(small_world: World) -> int:
    """The id of a timer, `each`."""
    return small_world.made(name="each")


@pytest.fixture
def moments(small_world: World, each: int) -> list[int]:
    """Five firings of `each` that succeeded."""
    return fired(small_world, each, 5)


def test_json_is_exactly_the_servers_data(run: Run, small_world: World, moments: list[int]) -> None:
    listed = json_of(run("firings", "list", "--timer", "each", "--json"))
    header, query = {"WangTimer-App": "shop"}, {"timer": "key:each"}
    assert listed == small_world.client.get("/v1/firings", headers=header, query_string=query).json["items"]
    assert len(listed) == 5


def test_firings_are_filtered(run: Run, moments: list[int]) -> None:
    def shown(*options: object) -> list[int]:
        return [moment_ms(one["fireAt"]) for one in json_of(run("firings", "list", "--json", *options))]

    assert shown("--since", moments[1], "--until", moments[2]) == [moments[2], moments[1]]
    assert shown("--status", "failed") == []
    assert shown("--since", "1h", "--limit", 1) == moments[-1:]
    assert shown("--later-than", "1s") == []
    assert shown("--tag", "none") == []


def test_a_table_names_each_firing_as_its_callbacks_do(run: Run, each: int, moments: list[int]) -> None:
    lines = run("firings", "list").stdout.splitlines()
    assert lines[1].split()[0] == f"{each}-{moments[-1]}"
    assert "succeeded" in lines[1]


def test_a_table_says_what_a_firing_waits_for() -> None:
    firing = {
        "id": "1-5",
        "fireAt": "",
        "status": "pending",
        "attempt": 1,
        "waitedFor": "pause:app:shop",
        "error": "",
    }
    nothing = dict.fromkeys(("latenessMs", "durationMs", "httpStatus"))
    with flaky() as told:
        told.answer = {"items": [firing | nothing], "nextCursor": None}
        assert "pause:app:shop" in runner_of(told.url)("firings", "list").stdout


def test_an_export_is_a_whole_file_or_none(run: Run, moments: list[int], tmp_path: Path) -> None:
    out = tmp_path / "firings.jsonl"
    assert run("firings", "export", "--out", out).exit_code == 0
    assert [moment_ms(json.loads(line)["fireAt"]) for line in out.read_text().splitlines()] == moments[::-1]
    refused = run("firings", "export", "--since", "yesterday", "--out", tmp_path / "none")
    assert refused.exit_code == 1
    assert sorted(tmp_path.glob("*one*")) == []
    for nowhere in (tmp_path / "no" / "where", out / "x"):
        result = run("firings", "export", "--out", nowhere)
        assert (result.exit_code, "--out" in result.stderr) == (2, True)


def test_an_export_without_a_file_is_printed(run: Run, moments: list[int]) -> None:
    lines = run("firings", "export", "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("id,timerId,app,fireAt,")
    assert len(lines) == 6


def test_a_spreadsheet_runs_no_cell_of_an_export(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    found = [{"id": "7-1", "timerId": 7, "latenessMs": -1, "output": "=1+1"}]
    monkeypatch.setattr(Client, "firings", lambda self, **_: iter(found))
    (row,) = csv.DictReader(run("firings", "export", "--format", "csv").stdout.splitlines())
    assert (row["timerId"], row["latenessMs"], row["output"]) == ("7", "-1", "'=1+1")


def test_an_export_to_a_terminal_has_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for piece in ("a,名\r\n".encode()[:3], "a,名\r\n".encode()[3:-1], b"\n1,\x1b2\r\n"):
        screen.write(piece)
    assert capsys.readouterr().out == "a,名\n1,\N{REPLACEMENT CHARACTER}2\n"


def test_what_a_target_answered_cannot_steer_the_terminal(run: Run, small_world: World) -> None:
    small_world.made(name="a", notifyHTTPParam={"url": "http://target.example/", "body": "\x1b[31mred[/x]"})
    shown = run("timers", "show", "a").stdout
    assert "\x1b" not in shown
    assert "\N{REPLACEMENT CHARACTER}[31mred[/x]" in shown
    small_world.made(name="b", notifyHTTPParam={"url": "http://target.example/", "body": "\x9b31m\u202e名"})
    shown = run("timers", "show", "b", "--json").stdout
    assert '"\\u009b31m\\u202e名"' in shown
    assert json.loads(shown)["target"]["body"] == "\x9b31m\u202e名"


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "--json", "--format", "csv"),
        ("show", "7"),
        ("replay",),
        ("replay", "7-1", "--since", "1h"),
        ("cancel", "x-y"),
    ],
)
def test_wrong_use_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("firings", *arguments).exit_code == 2


def test_a_firing_is_made_shown_counted_and_cancelled(
    run: Run, small_world: World, moments: list[int]
) -> None:
    assert json_of(run("firings", "counts", "--json")) == {
        "pending": 0,
        "accepted": 0,
        "succeeded": 5,
        "failed": 0,
        "skipped": 0,
    }
    assert json_of(run("timers", "enable", "each", "--json"))["status"] == "enabled"
    made = json_of(run("firings", "fire", "each", "--json"))
    shown = json_of(run("firings", "show", made["id"], "--json"))
    assert shown["kind"] == "manual"
    pending = json_of(
        run("firings", "list", "--status", "pending", "--until", "2100-01-01T00:00:00Z", "--json")
    )
    cancelled = json_of(run("firings", "cancel", pending[0]["id"], "--json"))
    assert (cancelled["status"], cancelled["error"]) == ("skipped", "cancelled")


def test_a_firing_shows_when_each_attempt_was_made_and_when_the_next_one_is_due() -> None:
    firing = {"id": "1-5", "fireAt": "", "kind": "scheduled", "status": "pending", "waitedFor": ""}
    firing |= dict.fromkeys(("latenessMs", "durationMs", "attempt", "httpStatus", "error", "output"))
    attempt = dict.fromkeys(
        ("latenessMs", "connectMs", "firstByteMs", "durationMs", "httpStatus", "status", "error")
    )
    attempts = [
        {"attempt": 1, "sentAt": "2027-01-15T08:00:00.007Z", **attempt},
        {"attempt": 2, "madeAt": "2027-01-15T08:00:01.007Z", "sentAt": None, **attempt},
    ]
    firing["nextAttemptAt"] = "2027-01-15T08:00:03.009Z"
    with flaky() as told:
        told.answer = {**firing, "attempts": attempts, "request": None, "requestState": "not_sent"}
        lines = runner_of(told.url)("firings", "show", "1-5").stdout.splitlines()
    assert [line.split()[:2] for line in lines[-3:]] == [
        ["attempt", "made"],
        ["1", "2027-01-15T08:00:00.007Z"],
        ["2", "2027-01-15T08:00:01.007Z"],
    ]
    assert ["next", "attempt", "2027-01-15T08:00:03.009Z"] in [line.split() for line in lines]


def test_a_firing_shows_its_request_as_it_was_sent() -> None:
    firing = {"id": "1-5", "fireAt": "", "kind": "scheduled", "status": "failed", "waitedFor": ""}
    firing |= dict.fromkeys(("latenessMs", "durationMs", "attempt", "httpStatus", "error", "output"))
    headers = {"Authorization": ["***"], "X": ["1", "2\x1b"]}
    request = {"attempt": 2, "method": "PUT", "url": "http://t/", "headers": headers, "body": "{}"}
    with flaky() as told:
        told.answer = {**firing, "attempts": [], "request": request, "requestState": "as_sent"}
        shown = runner_of(told.url)("firings", "show", "1-5").stdout
    lines = [
        "PUT http://t/ (attempt 2, as it was sent)",
        "Authorization: ***",
        "X: 1",
        "X: 2\N{REPLACEMENT CHARACTER}",
    ]
    assert shown.endswith("\n".join(["", *lines, "", "{}", ""]))


def test_a_dry_run_of_a_replay_says_why_not(run: Run, each: int, moments: list[int]) -> None:
    shown = run("firings", "replay", f"{each}-{moments[0]}", "--dry-run").stdout
    assert shown.startswith("0 firings would be replayed\n")
    assert "it is succeeded" in shown


def test_load_shows_the_minutes_to_come(run: Run, small_world: World) -> None:
    small_world.enabled(name="each", cron="* * * * *")
    found = json_of(run("load", "--minutes", 5, "--json"))
    assert sum(one["firings"] for one in found["items"]) == found["firings"] > 0
    assert "in all" in run("load").stdout
