"""`wangtimer dead-letters ...` against the real service."""

import pytest

from tests.api.world import World
from tests.cli.runs import Run, json_of, runner_of
from tests.client.served import Served
from tests.store.members import failed_of


@pytest.fixture
def failed(small_world: World) -> list[str]:
    """The ids of three firings of `each` that have failed for good: 503, 503, timed out."""
    timer_id = small_world.enabled(name="each")
    small_world.clock.now += 10_000
    records = small_world.wiring.firings.records(timer_id, 99)[::-1][:3]
    said = [{"reason": "http_503", "http_status": 503, "error": "HTTP 503"}] * 2
    said.append({"reason": "timed_out", "error": "timed out after 10000 ms"})
    small_world.wiring.firings.settle(
        [
            failed_of(one.firing.member, host="shop.test:80", **fields)
            for one, fields in zip(records, said, strict=True)
        ]
    )
    return [one.firing.member.firing_id for one in records]


def test_they_are_listed_the_latest_first(run: Run, failed: list[str]) -> None:
    assert [one["id"] for one in json_of(run("dead-letters", "list", "--json"))] == failed[::-1]
    lines = run("dead-letters", "list", "--timer", "each", "--reason", "http_503").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == failed[1::-1]
    assert all("shop.test:80" in line for line in lines[1:])


def test_a_table_of_all_apps_names_the_app(served: Served, failed: list[str]) -> None:
    lines = runner_of(served.url, None)("dead-letters", "list").stdout.splitlines()
    assert lines[0].split()[:2] == ["app", "firing"]
    assert [line.split()[:2] for line in lines[1:]] == [["shop", one] for one in failed[::-1]]


def test_they_are_counted(run: Run, failed: list[str]) -> None:
    shown = run("dead-letters", "counts").stdout
    assert "3 dead letters" in shown
    assert json_of(run("dead-letters", "counts", "--reason", "timed_out", "--json"))["total"] == 1


def test_those_that_are_named_or_match_are_replayed(run: Run, failed: list[str]) -> None:
    assert "1 firings would be replayed" in run("dead-letters", "replay", failed[0], "--dry-run").stdout
    assert "1 firings replayed" in run("dead-letters", "replay", failed[0]).stdout
    assert (
        "1 firings replayed" in run("dead-letters", "replay", "--since", "1h", "--reason", "http_503").stdout
    )
    assert [one["reason"] for one in json_of(run("dead-letters", "list", "--json"))] == ["timed_out"]


def test_those_that_are_named_or_match_are_discarded(run: Run, failed: list[str]) -> None:
    assert (
        "1 dead letters would be discarded" in run("dead-letters", "discard", failed[0], "--dry-run").stdout
    )
    asked = run("dead-letters", "discard", "--since", "1h", input="n\n")
    assert asked.exit_code == 1
    assert json_of(run("dead-letters", "counts", "--json"))["total"] == 3
    assert "1 dead letters discarded" in run("dead-letters", "discard", failed[0], "--yes").stdout
    again = run("dead-letters", "discard", failed[0], "--yes")
    assert again.exit_code != 0
    assert f"{failed[0]} is no dead letter" in again.stdout
    assert json_of(run("dead-letters", "discard", "--since", "1h", "--yes", "--json"))["discarded"] == 2
    assert json_of(run("dead-letters", "list", "--json")) == []


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_which_must_be_said_once(run: Run, failed: list[str], verb: str) -> None:
    for options in ((), ("--reason", "http_503"), (failed[0], "--since", "1h")):
        assert run("dead-letters", verb, *options).exit_code == 2
    assert json_of(run("dead-letters", "counts", "--json"))["total"] == 3
