"""`wangtimer timers ...` against the real service."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.api.world import World
from tests.cli.runs import Run, json_of, runner_of
from tests.client.served import cut_off_redis
from wangtimer.client import ClientError
from wangtimer.stack.ports import free_port

CALLBACK = ("--callback", "http://target.example/fire")


def created(run: Run, name: str, *options: object) -> dict[str, Any]:
    made: dict[str, Any] = json_of(run("timers", "create", name, *CALLBACK, "--json", *options))
    return made


def test_a_timer_is_made_with_every_option(run: Run, small_world: World, tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"名": 1}')
    made = created(
        run,
        "all",
        *(
            "--every",
            "90s",
            "--start",
            "2030-01-01T00:00:00Z",
            "--end",
            "1900000000000",
            "--timezone",
            "Asia/Tokyo",
        ),
        *("--max-firings", 5, "--jitter", "500ms", "--exclude-calendar", "weekends", "--misfire", "skip"),
        *("--misfire-grace", "2m", "--catchup-window", "1h30m", "--tag", "a", "--tag", "b"),
        *("--method", "put", "--header", "X-Tag: a", "--header", "X-Tag:b:c", "--body", f"@{body}"),
    )
    assert (made["everyMs"], made["maxFirings"], made["jitterMs"]) == (90_000, 5, 500)
    assert (made["startAt"], made["endAt"]) == ("2030-01-01T00:00:00.000Z", "2030-03-17T17:46:40.000Z")
    assert (made["misfireGraceMs"], made["catchupWindowMs"]) == (120_000, 5_400_000)
    assert (made["excludeCalendar"], made["timezone"], made["tags"]) == ("weekends", "Asia/Tokyo", ["a", "b"])
    assert made["notifyHTTPParam"] == {
        "url": CALLBACK[1],
        "method": "PUT",
        "header": {"X-Tag": ["a", "b:c"]},
        "body": '{"名": 1}',
    }


def test_in_is_a_moment_so_far_from_now(run: Run, small_world: World) -> None:
    made = created(run, "soon", "--in", "10m", "--enable")
    assert made["atMs"] == small_world.clock.now + 600_000
    assert made["statusName"] == "enabled"


def test_json_is_exactly_the_servers_data(run: Run, small_world: World) -> None:
    made = created(run, "a", "--cron", "@daily")
    shown = json_of(run("timers", "show", "a", "--json"))
    assert shown == small_world.get("/api/timer/v1/def", app="shop", id=made["id"]).data
    listed = json_of(run("timers", "list", "--json"))
    assert listed == small_world.get("/api/timer/v1/defs", app="shop").data
    seen = json_of(run("timers", "preview", "--cron", "@daily", "-n", 3, "--json"))
    assert seen == small_world.post("/api/timer/v1/preview", cron="@daily", count=3).data


def test_a_timer_is_named_by_its_id_or_its_name(run: Run) -> None:
    made = created(run, "by-name", "--cron", "@daily")
    assert json_of(run("timers", "enable", "by-name", "--json"))["statusName"] == "enabled"
    assert json_of(run("timers", "disable", made["id"], "--json"))["statusName"] == "disabled"
    missing = run("timers", "show", "other")
    assert missing.exit_code == 1
    assert missing.stderr == "wangtimer: app 'shop' has no timer named 'other'\n"


def test_a_name_that_is_a_number_is_named_with_a_prefix(run: Run) -> None:
    made = created(run, "123", "--cron", "@daily")
    assert json_of(run("timers", "show", "name:123", "--json"))["id"] == made["id"]
    assert run("timers", "show", "123").exit_code == 1


def test_parts_of_a_second_can_be_written(run: Run, small_world: World) -> None:
    assert created(run, "a", "--every", "1.5s")["everyMs"] == 1_500
    assert created(run, "b", "--in", "1m0.25s")["atMs"] == small_world.clock.now + 60_250


def test_a_timer_that_cannot_be_enabled_is_made_all_the_same_and_said_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ClientError("SQL is away")

    monkeypatch.setattr("wangtimer.client.Client.enable_timer", refuse)
    result = run("timers", "create", "a", *CALLBACK, "--cron", "@daily", "--enable")
    assert result.exit_code == 3
    assert re.search(r"timer \d+ is made, but not enabled: SQL is away", result.stderr)
    assert "disabled" in result.stdout
    put = run("timers", "put", "a", *CALLBACK, "--cron", "@hourly", "--enable", "--json")
    assert (put.exit_code, json.loads(put.stdout)["cron"]) == (3, "@hourly")


def test_a_long_body_is_shown_whole(run: Run) -> None:
    body = "x" * 60_000
    created(run, "a", "--cron", "@daily", "--body", body)
    assert body in run("timers", "show", "a").stdout


def test_an_edit_changes_what_is_given_and_clears_what_is_named(run: Run) -> None:
    created(run, "a", "--cron", "@daily", "--tag", "x", "--max-firings", 3, "--body", "old")
    edited = json_of(
        run("timers", "edit", "a", "--cron", "@hourly", "--clear", "tags", "--clear", "max-firings", "--json")
    )
    assert edited["cron"] == "@hourly"
    assert "tags" not in edited
    assert "maxFirings" not in edited
    assert edited["notifyHTTPParam"]["body"] == "old"
    stale = run("timers", "edit", "a", "--version", 1, "--cron", "@daily")
    assert stale.exit_code == 1
    assert "(40903)" in stale.stderr


def test_an_edit_of_one_part_of_the_call_leaves_the_others(run: Run) -> None:
    created(
        run,
        "a",
        "--cron",
        "@daily",
        "--method",
        "PUT",
        "--header",
        "X: 1",
        "--header",
        "Y: 2",
        "--body",
        "old",
    )
    elsewhere = json_of(run("timers", "edit", "a", "--callback", "http://other.example/", "--json"))
    call = {
        "url": "http://other.example/",
        "method": "PUT",
        "header": {"X": ["1"], "Y": ["2"]},
        "body": "old",
    }
    assert elsewhere["notifyHTTPParam"] == call
    edit = ("--drop-header", "x", "--header", "Z: 3", "--clear", "method", "--clear", "body", "--json")
    edited = json_of(run("timers", "edit", "a", *edit))
    assert edited["notifyHTTPParam"] == call | {
        "method": "POST",
        "header": {"Y": ["2"], "Z": ["3"]},
        "body": "",
    }


def test_tables_into_a_pipe_are_plain_columns(run: Run) -> None:
    first = created(run, "first", "--cron", "0 9 * * 1-5", "--tag", "x")["id"]
    created(run, "second", "--at", "2030-01-01T00:00:00Z")
    lines = run("timers", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "status", "when", "next", "last", "tags"]
    when = ["0", "9", "*", "*", "1-5", "(UTC)"]
    assert lines[1].split() == [str(first), "first", "disabled", *when, "-", "-", "x"]
    assert lines[2].split()[3:5] == ["at", "2030-01-01T00:00:00.000Z"]
    assert run("timers", "list", "--tag", "x", "--sort=-name").stdout.count("\n") == 2
    shown = " ".join(run("timers", "show", "first").stdout.split())
    assert "calls POST http://target.example/fire misfire" in shown


def test_a_dialect_is_given_shown_and_kept(run: Run) -> None:
    quartz = ("--cron", "0 0 9 ? * 2", "--dialect", "quartz")
    mondays = "at 09:00 on Mondays (UTC)"
    assert json_of(run("timers", "preview", *quartz, "--json"))["words"]["en"] == mondays
    made = created(run, "a", *quartz)
    assert (made["cronDialect"], made["words"]["en"]) == ("quartz", mondays)
    assert "0 0 9 ? * 2 (quartz, UTC)" in run("timers", "list").stdout
    edited = json_of(run("timers", "edit", "a", "--cron", "0 0 9 ? * 6L", "--json"))
    assert (edited["cron"], edited["cronDialect"]) == ("0 0 9 ? * 6L", "quartz")
    put = json_of(run("timers", "put", "a", *CALLBACK, *quartz, "--json"))
    assert (put["id"], put["cronDialect"], put["created"]) == (made["id"], "quartz", False)
    unix = json_of(run("timers", "edit", "a", "--cron", "0 9 * * 2", "--dialect", "unix", "--json"))
    assert unix["cronDialect"] == "unix"
    assert run("timers", "preview", "--cron", "@daily", "--dialect", "spring").exit_code == 2


def test_a_list_ends_at_its_limit_or_not_at_all(run: Run) -> None:
    made = [created(run, f"t{number}", "--cron", "@daily")["id"] for number in range(3)]
    assert [one["id"] for one in json_of(run("timers", "list", "--limit", 2, "--json"))] == made[:2]
    assert len(json_of(run("timers", "list", "--limit", 0, "--json"))) == 3


def test_a_deleted_timer_is_gone(run: Run) -> None:
    made = created(run, "a", "--cron", "@daily")["id"]
    first, second = run("timers", "delete", "a").stdout.splitlines()
    assert first == f"timer {made} is deleted"
    assert second.endswith("T00:00:00.000Z: cancelled, no call of it is made")
    assert run("timers", "show", str(made)).exit_code == 1


def test_a_change_that_redis_could_not_be_told_of_says_how_soon_it_counts(
    run: Run, small_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    yearly = ("--cron", "0 0 1 1 *")
    one = created(run, "a", *yearly, "--enable")
    changes = [
        ("timers", "edit", "a", "--misfire", "skip"),
        ("timers", "put", "a", *CALLBACK, *yearly),
        ("firings", "cancel", f"{one['id']}-{one['nextMoments'][0]['atMs']}"),
        ("timers", "disable", "a"),
        ("timers", "bulk", "enable", "--all"),
        ("timers", "bulk", "disable", "--all"),
        ("timers", "delete", "a"),
    ]
    told = "it counts within 8 s; a moment before that may fire as it was"
    assert [told in run(*change).stdout for change in changes[:2]] == [False] * 2
    cut_off_redis(small_world, monkeypatch)
    run("timers", "edit", "a", "--misfire", "fire_all")
    assert [told in run(*change).stdout for change in changes] == [True] * 7


def test_bulk_takes_several_names_and_says_which_nobody_has(run: Run) -> None:
    for name in ("a", "b", "c"):
        created(run, name, "--cron", "@daily")
    names = ("--name", "a", "--name", "b")
    assert run("timers", "bulk", "delete", *names, "--dry-run").stdout == "2 timers would be deleted\n"
    assert json_of(run("timers", "bulk", "delete", *names, "--yes", "--json"))["done"] == 2
    assert [one["name"] for one in json_of(run("timers", "list", "--json"))] == ["c"]
    partly = run("timers", "bulk", "delete", "--name", "c", "--name", "typo", "--yes")
    assert (partly.exit_code, partly.stdout) == (3, "1 timers deleted, 0 failed, 0 left\n")
    assert "app 'shop' has no timer named 'typo'" in partly.stderr
    assert run("timers", "bulk", "delete", "--name", "typo", "--yes").exit_code == 1


def test_a_name_whose_timer_is_so_already_is_no_name_that_nobody_has(run: Run) -> None:
    created(run, "hr", "--cron", "@daily")
    for more in ((), ("--dry-run",)):
        partly = run("timers", "bulk", "disable", "--name", "hr", "--name", "nope", *more)
        assert partly.exit_code == 3
        assert "app 'shop' has no timer named 'nope'" in partly.stderr
        assert run("timers", "bulk", "disable", "--name", "hr", *more).exit_code == 0
        assert run("timers", "bulk", "disable", "--name", "no", "--name", "nope", *more).exit_code == 1


@pytest.mark.parametrize("verb", ["create", "put"])
@pytest.mark.parametrize(
    ("name", "written"), [("a", "a"), ("a b", "'a b'"), ("12", "name:12"), ("name:x", "name:name:x")]
)
def test_a_timer_that_is_made_and_not_enabled_is_told_how_to_be(
    run: Run, verb: str, name: str, written: str
) -> None:
    made = run("timers", verb, name, *CALLBACK, "--cron", "@daily")
    assert made.stdout.splitlines()[-1] == f"not enabled: wangtimer timers enable {written}"
    assert "not enabled" not in run("timers", "put", name, *CALLBACK, "--cron", "@daily", "--enable").stdout
    assert "not enabled" not in run("timers", "put", name, *CALLBACK, "--cron", "@hourly").stdout
    json_of(run("timers", verb, f"{name}-too", *CALLBACK, "--cron", "@daily", "--json"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "a", *CALLBACK, "--in", "10"), "'10' is no duration"),
        (("create", "a"), "--callback"),
        (("create", "a", *CALLBACK, "--header", "x", "--in", "1m"), "no colon"),
        (("create", "a", *CALLBACK, "--body", "@/not/there", "--in", "1m"), "--body"),
        (("create", "a", *CALLBACK), "say when: exactly one of --cron, --every, --at, --in"),
        (("put", "a", *CALLBACK, "--in", "1m", "--every", "1m"), "not --every and --in"),
        (("preview",), "say when"),
        (("edit", "a", "--in", "1m", "--every", "1m"), "not --every and --in"),
        (("edit", "a", "--clear", "tags", "--tag", "x"), "--clear tags: it is given too"),
        (("create", "bad\udcff", *CALLBACK, "--in", "1m"), "'bad\\udcff' is not text in UTF-8"),
        (("show", "9" * 5_000), "is no id"),
        (("edit", "a"), "nothing is to change"),
        (("edit", "a", "--body", "x", "--clear", "body"), "--clear body: it is given too"),
        (("edit", "a", "--drop-header", "X", "--clear", "headers"), "--clear headers: it is given too"),
        (("bulk", "delete"), "say which timers"),
        (("bulk", "delete", "--id", "7", "--all"), "--id names timers in full"),
        (("list", "--url", "nonsense"), "is no URL"),
    ],
)
def test_wrong_use_is_exit_code_2(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("timers", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_without_an_app_it_is_wrong_use() -> None:
    result = runner_of("http://127.0.0.1:9", "")("timers", "list")
    assert result.exit_code == 2
    assert "--app" in result.stderr
    assert "WANGTIMER_APP" in result.stderr


def test_what_the_service_refuses_is_one_line_and_exit_code_1(run: Run) -> None:
    result = run("timers", "create", "a", *CALLBACK, "--cron", "61 * * * *")
    assert result.exit_code == 1
    assert result.stderr.startswith("wangtimer: cron: minute '61' cannot be read")
    assert result.stdout == ""


def test_a_service_that_is_not_there_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.client.transport.FIRST_PAUSE_S", 0.001)
    result = runner_of(f"http://127.0.0.1:{free_port()}")("timers", "list")
    assert result.exit_code == 1
    assert result.stderr.startswith("wangtimer: cannot reach http://127.0.0.1:")
    assert result.stderr.endswith(
        "connection refused; is the service running (wangtimer up)? --url names another\n"
    )
    assert result.stderr.count("\n") == 1


def test_help_says_the_exit_codes(run: Run) -> None:
    for command in (("timers",), ("timers", "bulk"), ("firings",), ("firings", "replay"), ("load",)):
        shown = " ".join(run(*command, "--help").stdout.split())
        assert (
            "Exit codes: 0 done; 1 the service refused or cannot be reached; 2 wrong use; 3 partly" in shown
        )


def test_put_makes_a_timer_and_then_replaces_it(run: Run) -> None:
    put = ("timers", "put", "a", *CALLBACK, "--json")
    made = json_of(run(*put, "--cron", "@daily", "--tag", "x"))
    assert (made["tags"], made["created"]) == (["x"], True)
    again = json_of(run(*put, "--cron", "@hourly"))
    assert (again["id"], again["cron"], again["created"]) == (made["id"], "@hourly", False)
    assert "tags" not in again
