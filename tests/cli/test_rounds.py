"""Long work goes on, round after round, until nothing is left; how it ended is the exit code."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.runs import Run, json_of, runner_of
from tests.client.flaky import Told, flaky


@pytest.fixture
def told() -> Iterator[Told]:
    with flaky() as told:
        yield told


@pytest.fixture
def run(told: Told) -> Run:
    return runner_of(told.url)


def answers(*data: dict[str, Any]) -> list[dict[str, Any]]:
    return list(data)


def change(done: int, remaining: int, *failed: int) -> dict[str, Any]:
    problem = {"code": 40902, "detail": "long past; give it another moment"}
    return {
        "matched": done + remaining + len(failed),
        "done": done,
        "failed": [{"id": one, "key": f"t{one}", "problem": problem} for one in failed],
        "remaining": remaining,
        "lastId": 77,
        "stopped": [],
        "countsWithin": "1s",
    }


def replayed(done: int, remaining: int) -> dict[str, Any]:
    return {
        "matched": done + remaining,
        "replayed": done,
        "notReplayed": [],
        "firstDueAt": "2026-01-01T00:00:01.000Z",
        "lastDueAt": "2026-01-01T00:00:02.000Z",
        "remaining": remaining,
    }


def test_bulk_goes_on_until_nothing_is_left(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 2_500), change(1_000, 1_500), change(1_000, 500), change(500, 0))
    done = json_of(run("timers", "bulk", "disable", "--tag", "x", "--json"))
    assert done == {
        "matched": 2_500,
        "done": 2_500,
        "failed": [],
        "remaining": 0,
        "lastId": 77,
        "stopped": [],
        "countsWithin": "1s",
        "wasInDoubt": False,
    }
    assert [body["dryRun"] for body in told.bodies] == [True, False, False, False]
    assert [body.get("afterId") for body in told.bodies] == [None, None, 77, 77]
    assert told.bodies[1] == {"filter": {"tag": "x"}, "dryRun": False, "limit": 1_000}
    assert {path for _, path, _ in told.came} == {"/v1/timers:batchDisable"}


def test_bulk_that_failed_in_part_is_exit_code_3(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 3), change(2, 0, 9))
    result = run("timers", "bulk", "enable", "--all")
    assert result.exit_code == 3
    assert "2 timers enabled, 1 failed, 0 left" in result.stdout
    assert "t9" in result.stdout


def test_bulk_that_failed_wholly_is_exit_code_1(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 1), change(0, 0, 9))
    assert run("timers", "bulk", "enable", "--id", 9).exit_code == 1
    assert len(told.came) == 2


def test_bulk_passes_by_what_failed(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 5), change(0, 3, 4, 5), change(3, 0))
    result = run("timers", "bulk", "enable", "--all")
    assert result.exit_code == 3
    assert "3 timers enabled, 2 failed, 0 left" in result.stdout
    assert len(told.came) == 3


def test_a_lost_answer_makes_the_counts_a_least_and_the_exit_code_3(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 20), change(0, 0))
    told.losses = [2]
    result = run("timers", "bulk", "enable", "--all")
    assert (result.exit_code, result.stdout) == (3, "0 timers enabled, 0 failed, 0 left\n")
    assert "an answer was lost: at least this much was done" in result.stderr
    told.answers = answers(replayed(0, 20), replayed(0, 0))
    told.losses = [5]
    assert run("firings", "replay", "--since", "1h").exit_code == 3


def test_one_change_whose_answer_was_lost_is_exit_code_3(told: Told, run: Run) -> None:
    told.losses = [1]
    result = run("timers", "edit", 7, "--tag", "x")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.endswith("; the request may have been carried out\n")


@pytest.mark.parametrize(
    "command",
    [
        ("timers", "preview", "--cron", "@daily"),
        ("timers", "bulk", "disable", "--all", "--dry-run"),
        ("firings", "replay", "--since", "1h", "--dry-run"),
    ],
)
def test_what_changes_nothing_is_never_in_doubt(
    told: Told, run: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.client.transport._pause_s", lambda tries: 0.0)
    told.fails = [503] * 4
    result = run(*command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "may have been carried out" not in result.stderr


def test_rounds_that_break_off_say_what_was_done(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 2_500), change(1_000, 1_500))
    told.answers.append({"code": 50301, "detail": "SQL is away; repeat it"})
    told.statuses = [200, 200, 500]
    result = run("timers", "bulk", "disable", "--all")
    assert (result.exit_code, result.stdout) == (3, "1000 timers disabled, 0 failed, 1500 left\n")
    assert "it broke off: SQL is away; repeat it" in result.stderr
    told.answers = answers(change(0, 2_500))
    told.answers.append({"code": 50301, "detail": "SQL is away; repeat it"})
    told.statuses = [200, 500]
    assert run("timers", "bulk", "disable", "--all").exit_code == 3


def test_bulk_delete_asks_first(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 5))
    result = run("timers", "bulk", "delete", "--all", input="n\n")
    assert result.exit_code == 1
    assert "Delete 5 timers?" in result.stderr
    assert len(told.came) == 1
    told.answers = answers(change(0, 5), change(5, 0))
    assert run("timers", "bulk", "delete", "--all", "--yes").exit_code == 0


def test_a_dry_run_only_counts(told: Told, run: Run) -> None:
    told.answers = answers(change(0, 5), replayed(0, 7))
    assert run("timers", "bulk", "delete", "--all", "--dry-run").stdout == "5 timers would be deleted\n"
    result = run("firings", "replay", "--since", "1h", "--dry-run")
    assert result.stdout == "7 firings would be replayed\n"
    assert [body["dryRun"] for body in told.bodies] == [True, True]


def test_a_replay_goes_on_until_nothing_is_left(told: Told, run: Run) -> None:
    told.answers = answers(replayed(0, 15_000), replayed(10_000, 5_000), replayed(5_000, 0))
    done = json_of(run("firings", "replay", "--since", "2026-01-01T00:00:00Z", "--per-second", 9, "--json"))
    assert (done["matched"], done["replayed"], done["remaining"]) == (15_000, 15_000, 0)
    assert told.bodies[2] == {
        "since": "2026-01-01T00:00:00Z",
        "perSecond": 9,
        "statuses": ["failed"],
        "startAt": "2026-01-01T00:00:02.000Z",
    }


def test_a_replay_does_not_chase_what_fails_anew(told: Told, run: Run) -> None:
    told.answers = answers(replayed(0, 10), replayed(6, 4), replayed(4, 6))
    told.answer = replayed(6, 4)
    assert run("firings", "replay", "--since", "1h").exit_code == 3
    assert len(told.came) == 3


def test_firings_are_replayed_by_their_ids(told: Told, run: Run) -> None:
    fault = {"id": "8-200", "detail": "it is pending"}
    told.answers = answers({**replayed(1, 0), "notReplayed": [fault]})
    result = run("firings", "replay", "7-100", "8-200")
    assert result.exit_code == 3
    assert "8-200" in result.stdout
    assert told.bodies[0]["ids"] == ["7-100", "8-200"]


def test_a_backfill_goes_on_from_where_it_stopped(told: Told, run: Run) -> None:
    def filled(planned: int, remaining: int, following: str | None) -> dict[str, Any]:
        return {
            "matched": planned + remaining,
            "planned": planned,
            "firstDueAt": "2026-01-01T00:00:01.000Z",
            "lastDueAt": "2026-01-01T00:00:02.000Z",
            "remaining": remaining,
            "nextSince": following,
        }

    counted = {**filled(0, 12, None), "matched": 15}
    told.answers = answers(counted)
    dry = run("firings", "backfill", 7, "--since", 100, "--until", 900, "--dry-run")
    assert dry.stdout == "12 firings would be planned, of 15 moments\n"
    told.answers = answers({**filled(0, 99_990, None), "matched": 100_000})
    dry = run("firings", "backfill", 7, "--since", 100, "--until", 900, "--dry-run")
    assert dry.stdout == "at least 99990 firings would be planned, of at least 100000 moments\n"
    told.bodies.clear()
    told.answers = answers(counted, filled(10, 2, "2026-01-01T00:00:00.500Z"), filled(2, 0, None))
    done = json_of(run("firings", "backfill", 7, "--since", 100, "--until", 900, "--json"))
    assert (done["matched"], done["planned"], done["remaining"]) == (15, 12, 0)
    assert [(body["since"], body.get("startAt")) for body in told.bodies] == [
        (100, None),
        (100, None),
        ("2026-01-01T00:00:00.500Z", "2026-01-01T00:00:02.000Z"),
    ]


def test_a_list_asks_for_one_more_than_it_shows_and_so_knows_whether_there_are_more(
    told: Told, run: Run
) -> None:
    told.answer = {"items": [], "nextCursor": None}
    for limit in (7, 0, 600):
        run("timers", "list", "--limit", limit)
        run("firings", "list", "--limit", limit)
    asked = [path.partition("limit=")[2] for _, path, _ in told.came]
    assert asked == ["8", "8", "500", "500", "500", "500"]


def test_many_ids_are_counted_and_changed_piece_by_piece(told: Told, run: Run) -> None:
    ids = [word for number in range(1, 1_502) for word in ("--id", number)]
    told.answers = answers(change(0, 1_000), change(0, 501), change(1_000, 0), change(501, 0))
    done = json_of(run("timers", "bulk", "disable", *ids, "--json"))
    assert (done["matched"], done["done"], done["remaining"]) == (1_501, 1_501, 0)
    assert [len(body["ids"]) for body in told.bodies] == [1_000, 501, 1_000, 501]


def test_load_is_of_all_apps_unless_one_is_named(told: Told) -> None:
    minute = {"minute": "2026-11-21T00:00:00.000Z", "firings": 3, "apps": {"bank": 1, "shop": 2}}
    told.answer = {"items": [minute], "firings": 3, "plannedUntil": ""}
    shown = runner_of(told.url, "")("load").stdout
    assert "shop 2, bank 1" in shown
    assert "3 in all" in shown
    runner_of(told.url)("load", "--minutes", 5)
    runner_of(told.url)("load", "--all-apps")
    assert [path for _, path, _ in told.came] == [
        "/v1/load:allApps",
        "/v1/load?minutes=5",
        "/v1/load:allApps",
    ]


def test_failing_hosts_are_of_all_apps_unless_one_is_named(told: Told) -> None:
    host = {
        "host": "https://a:443",
        "since": "2026-11-21T00:00:00.000Z",
        "lastFailedAt": "",
        "lastError": "HTTP 503",
        "disabledAt": None,
    }
    told.answer = {"items": [{"app": "shop", "waiting": 7, **host}]}
    assert "HTTP 503" in runner_of(told.url, "")("failing-hosts").stdout
    shown = runner_of(told.url)("failing-hosts").stdout
    assert "https://a:443" in shown
    assert "shop" not in shown
    runner_of(told.url)("failing-hosts", "--all-apps")
    assert [path for _, path, _ in told.came] == [
        "/v1/failing-hosts:allApps",
        "/v1/failing-hosts",
        "/v1/failing-hosts:allApps",
    ]


def test_a_disabled_host_is_enabled_before_the_hosts_are_shown(told: Told) -> None:
    told.answer = {"items": []}
    runner_of(told.url)("failing-hosts", "--enable", "https://a:443")
    asked = [(method, path) for method, path, _ in told.came]
    assert asked == [("POST", "/v1/failing-hosts:enable"), ("GET", "/v1/failing-hosts")]
    assert told.bodies[0] == {"host": "https://a:443"}


def test_brokers_are_shown_with_what_the_app_may_send(told: Told) -> None:
    rights = [
        {"exchanges": ["", "shop.*"], "routingKeys": ["order.*"]},
        {"celeryQueues": ["t"], "celeryTasks": []},
    ]
    told.answer = {"items": [{"name": "orders", "kind": "rabbitmq", "allowed": rights}]}
    _, first, second = runner_of(told.url)("brokers").stdout.splitlines()
    assert first.split("  ")[0] == "orders"
    assert 'exchanges "", shop.*; routing keys order.*' in first
    assert "Celery queues t; Celery tasks none" in second
    assert [path for _, path, _ in told.came] == ["/v1/brokers"]
