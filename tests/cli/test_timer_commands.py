"""`wangtimer timers ...` against the real service."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.world import World
from tests.cli.runs import Run, json_of, runner_of
from tests.client.served import Served, cut_off_redis
from tests.store.members import outcome_of
from wangtimer.client.values import moment_ms
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.time.moment_text import show_moment
from wangtimer.stack.ports import free_port

TARGET = ("--target", "http://target.example/fire")


def created(run: Run, name: str, *options: object) -> dict[str, Any]:
    made: dict[str, Any] = json_of(run("timers", "create", name, *TARGET, "--json", *options))
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
        *(
            "--retention-days",
            3,
            "--disabled",
            "--method",
            "put",
            "--header",
            "X-Tag: a",
            "--header",
            "X-Tag:b:c",
            "--body",
            f"@{body}",
        ),
        *("--timeout", "1500ms"),
        *("--attempts", 4, "--backoff", "fixed", "--retry-pause", "7s", "--retry-within", "1h"),
        *("--final-status", "4xx", "--final-status", "501", "--retried-status", "409"),
    )
    assert {name: made["schedule"][name] for name in ("every", "maxFirings", "jitter")} == {
        "every": "1m30s",
        "maxFirings": 5,
        "jitter": "500ms",
    }
    assert made["schedule"]["startAt"] == "2030-01-01T00:00:00.000Z"
    assert made["schedule"]["endAt"] == "2030-03-17T17:46:40.000Z"
    assert (made["schedule"]["excludeCalendar"], made["schedule"]["timezone"]) == ("weekends", "Asia/Tokyo")
    assert made["misfire"] == {"policy": "skip", "grace": "2m", "catchupWindow": "1h30m"}
    assert (made["tags"], made["retentionDays"], made["status"]) == (["a", "b"], 3, "disabled")
    assert made["target"] == {
        "url": TARGET[1],
        "method": "PUT",
        "headers": {"X-Tag": ["a", "b:c"]},
        "body": '{"名": 1}',
        "timeout": "1s500ms",
    }
    assert made["retry"] == {
        "attempts": 4,
        "backoff": "fixed",
        "pause": "7s",
        "within": "1h",
        "finalStatuses": ["4xx", "501"],
        "retriedStatuses": ["409"],
    }
    shown = run("timers", "show", "all").stdout
    for words in (
        "timeout 1s500ms",
        "start 2030",
        "max firings 5",
        "misfire skip",
        "catchup window 1h30m",
        "tag a b",
        "attempts 4",
        "retry pause 7s",
        "final status 4xx 501",
    ):
        assert words in " ".join(shown.split())
    assert "delete after finish" not in shown
    cleared = json_of(run("timers", "edit", "all", "--clear", "timeout", "--json"))
    assert "timeout" not in cleared["target"]
    listed = json_of(
        run(
            "timers",
            "edit",
            "all",
            "--then-after",
            "1s",
            "--then-after",
            "2m",
            "--clear",
            "timeout",
            "--json",
        )
    )
    assert (listed["retry"]["attempts"], listed["retry"]["pauses"]) == (3, ["1s", "2m"])
    assert "retry" not in json_of(run("timers", "edit", "all", "--clear", "retry", "--json"))
    assert run("timers", "edit", "all", "--clear", "retry", "--attempts", 3).exit_code == 2


def test_in_is_a_moment_so_far_from_now(run: Run, small_world: World) -> None:
    made = created(run, "soon", "--in", "10m")
    assert moment_ms(made["schedule"]["at"]) == small_world.clock.now + 600_000
    assert (made["status"], made["version"]) == ("enabled", 1)


def test_json_is_exactly_the_servers_data(run: Run, small_world: World) -> None:
    made = created(run, "a", "--cron", "@daily")
    shown = json_of(run("timers", "show", "a", "--json"))
    header = {"WangTimer-App": "shop"}
    assert shown == small_world.client.get(f"/v1/timers/{made['id']}", headers=header).json
    listed = json_of(run("timers", "list", "--json"))
    assert listed == small_world.client.get("/v1/timers", headers=header).json["items"]
    seen = json_of(run("timers", "preview", "--cron", "@daily", "-n", 3, "--json"))
    body = {"schedule": {"cron": "@daily"}, "count": 3}
    assert seen == small_world.client.post("/v1/schedules:preview", headers=header, json=body).json


def test_a_timer_is_named_by_its_id_or_its_key(run: Run) -> None:
    made = created(run, "by-key", "--cron", "@daily", "--disabled")
    assert json_of(run("timers", "enable", "by-key", "--json"))["status"] == "enabled"
    assert json_of(run("timers", "disable", made["id"], "--json"))["timer"]["status"] == "disabled"
    assert json_of(run("timers", "show", "key:by-key", "--json"))["id"] == made["id"]
    missing = run("timers", "show", "other")
    assert missing.exit_code == 1
    assert "app 'shop' has no timer 'other'" in missing.stderr


def test_a_key_that_is_a_number_is_named_with_a_prefix(run: Run) -> None:
    made = created(run, "123", "--cron", "@daily")
    assert json_of(run("timers", "show", "key:123", "--json"))["id"] == made["id"]
    assert run("timers", "show", "123").exit_code == 1


def test_parts_of_a_second_can_be_written(run: Run, small_world: World) -> None:
    assert created(run, "a", "--every", "1.5s")["schedule"]["every"] == "1s500ms"
    at = created(run, "b", "--in", "1m0.25s")["schedule"]["at"]
    assert moment_ms(at) == small_world.clock.now + 60_250


def test_times_are_by_the_clocks_of_a_zone_that_is_named(run: Run) -> None:
    in_berlin = ("--tz", "Europe/Berlin")
    assert created(run, "a", "--at", "2030-12-24 09:00:00", *in_berlin)["schedule"] == {
        "at": "2030-12-24T08:00:00.000Z"
    }
    every = ("--every-days", 14, "--anchor", "2030-03-18T09:00:00", *in_berlin)
    assert created(run, "b", *every)["schedule"]["anchorAt"] == "2030-03-18T08:00:00.000Z"
    shown = run("timers", "preview", *every)
    assert (shown.exit_code, "every 14 days at the time of day of 2030-03-18 09:00" in shown.stdout) == (
        0,
        True,
    )
    assert "2030-04-01T09:00:00.000+02:00" in shown.stdout


def test_a_long_body_is_shown_whole(run: Run) -> None:
    body = "x" * 60_000
    created(run, "a", "--cron", "@daily", "--body", body)
    assert body in run("timers", "show", "a").stdout


def test_an_edit_changes_what_is_given_and_clears_what_is_named(run: Run) -> None:
    created(run, "a", "--cron", "@daily", "--tag", "x", "--max-firings", 3, "--body", "old")
    edited = json_of(
        run(
            "timers",
            "edit",
            "a",
            "--cron",
            "@hourly",
            "--clear",
            "tags",
            "--clear",
            "max-firings",
            "--json",
            "--key",
            "b",
            "--disabled",
        )
    )
    assert edited["schedule"]["cron"] == "@hourly"
    assert (edited["tags"], "maxFirings" in edited["schedule"]) == ([], False)
    assert (edited["target"]["body"], edited["key"], edited["enabled"]) == ("old", "b", False)
    stale = run("timers", "edit", "b", "--version", 1, "--cron", "@daily")
    assert stale.exit_code == 1
    assert "(41201)" in stale.stderr


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
    elsewhere = json_of(run("timers", "edit", "a", "--target", "http://other.example/", "--json"))
    call = {
        "url": "http://other.example/",
        "method": "PUT",
        "headers": {"X": ["1"], "Y": ["2"]},
        "body": "old",
    }
    assert elsewhere["target"] == call
    edit = ("--drop-header", "x", "--header", "Z: 3", "--clear", "method", "--clear", "body", "--json")
    edited = json_of(run("timers", "edit", "a", *edit))
    assert edited["target"] == call | {
        "method": "POST",
        "headers": {"Y": ["2"], "Z": ["3"]},
        "body": "",
    }


def test_tables_into_a_pipe_are_plain_columns(run: Run) -> None:
    first = created(run, "first", "--cron", "0 9 * * 1-5", "--tag", "x", "--disabled")["id"]
    created(run, "second", "--at", "2030-01-01T00:00:00Z")
    lines = run("timers", "list").stdout.splitlines()
    assert lines[0].split() == ["id", "key", "status", "when", "next", "last", "tags"]
    when = ["0", "9", "*", "*", "1-5", "(UTC)"]
    assert lines[1].split() == [str(first), "first", "disabled", *when, "-", "-", "x"]
    assert lines[2].split()[3:5] == ["at", "2030-01-01T00:00:00.000Z"]
    assert run("timers", "list", "--tag", "x", "--sort=-key").stdout.count("\n") == 2
    shown = " ".join(run("timers", "show", "first").stdout.split())
    assert "calls POST http://target.example/fire tag x" in shown


def test_a_dialect_is_given_shown_and_kept(run: Run) -> None:
    quartz = ("--cron", "0 0 9 ? * 2", "--dialect", "quartz")
    mondays = "at 09:00 on Mondays (UTC)"
    assert json_of(run("timers", "preview", *quartz, "--json"))["words"]["en"] == mondays
    made = created(run, "a", *quartz)
    assert (made["schedule"]["dialect"], made["preview"]["words"]["en"]) == ("quartz", mondays)
    assert "0 0 9 ? * 2 (quartz, UTC)" in run("timers", "list").stdout
    edited = json_of(run("timers", "edit", "a", "--cron", "0 0 9 ? * 6L", "--json"))
    assert (edited["schedule"]["cron"], edited["schedule"]["dialect"]) == ("0 0 9 ? * 6L", "quartz")
    put = json_of(run("timers", "put", "a", *TARGET, *quartz, "--json"))
    assert (put["id"], put["schedule"]["dialect"], put["created"]) == (made["id"], "quartz", False)
    unix = json_of(run("timers", "edit", "a", "--cron", "0 9 * * 2", "--dialect", "unix", "--json"))
    assert unix["schedule"]["dialect"] == "unix"
    assert run("timers", "preview", "--cron", "@daily", "--dialect", "spring").exit_code == 2


@pytest.mark.parametrize("policy", ["skip", "queueOne", "cancelOlder"])
def test_what_becomes_of_overlapping_firings_is_given_shown_changed_and_cleared(
    run: Run, policy: str
) -> None:
    made = created(run, "slow", "--every", "90s", "--overlap", policy)
    assert made["overlap"] == policy
    assert f"overlap {policy}" in " ".join(run("timers", "show", "slow").stdout.split())
    assert json_of(run("timers", "edit", "slow", "--tag", "a", "--json"))["overlap"] == policy
    assert "overlap" not in json_of(run("timers", "edit", "slow", "--overlap", "allow", "--json"))
    json_of(run("timers", "edit", "slow", "--overlap", policy, "--json"))
    assert "overlap" not in json_of(run("timers", "edit", "slow", "--clear", "overlap", "--json"))
    wrong = run("timers", "edit", "slow", "--overlap", "never")
    assert (wrong.exit_code, "queue" in wrong.output) == (2, True)


def test_calls_with_numbers_are_asked_for_shown_and_given_up(run: Run) -> None:
    made = created(run, "counted", "--every", "90s", "--numbered")
    assert made["target"]["numbered"] is True
    assert "numbered" in run("timers", "show", "counted").stdout
    assert json_of(run("timers", "edit", "counted", "--tag", "a", "--json"))["target"]["numbered"] is True
    assert (
        "numbered" not in json_of(run("timers", "edit", "counted", "--clear", "numbered", "--json"))["target"]
    )


def test_a_list_ends_at_its_limit_or_not_at_all(run: Run) -> None:
    made = [created(run, f"t{number}", "--cron", "@daily")["id"] for number in range(3)]
    cut = run("timers", "list", "--limit", 2, "--json")
    assert [one["id"] for one in json.loads(cut.stdout)] == made[:2]
    assert cut.stderr == "there are more than these 2: --limit 0 lists all\n"
    for whole in (0, 3):
        listed = run("timers", "list", "--limit", whole, "--json")
        assert (len(json.loads(listed.stdout)), listed.stderr) == (3, "")


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
    one = created(run, "a", *yearly)
    changes = [
        ("timers", "edit", "a", "--misfire", "skip"),
        ("timers", "put", "a", *TARGET, *yearly),
        ("firings", "cancel", f"{one['id']}-{moment_ms(one['nextFireAt'])}"),
        ("timers", "disable", "a"),
        ("timers", "bulk", "enable", "--all"),
        ("timers", "bulk", "disable", "--all"),
        ("timers", "delete", "a"),
    ]
    told = "it takes effect within 8s; an earlier moment may still fire as before"
    assert [told in run(*change).stdout for change in changes[:2]] == [False] * 2
    cut_off_redis(small_world, monkeypatch)
    run("timers", "edit", "a", "--misfire", "fire_all")
    assert [told in run(*change).stdout for change in changes] == [True] * 7


def test_bulk_takes_several_keys_and_says_which_nobody_has(run: Run) -> None:
    for key in ("a", "b", "c"):
        created(run, key, "--cron", "@daily")
    keys = ("--key", "a", "--key", "b")
    assert run("timers", "bulk", "delete", *keys, "--dry-run").stdout == "2 timers would be deleted\n"
    assert json_of(run("timers", "bulk", "delete", *keys, "--yes", "--json"))["done"] == 2
    assert [one["key"] for one in json_of(run("timers", "list", "--json"))] == ["c"]
    partly = run("timers", "bulk", "delete", "--key", "c", "--key", "typo", "--yes")
    assert (partly.exit_code, partly.stdout) == (3, "1 timers deleted, 0 failed, 0 left\n")
    assert "app 'shop' has no timer with the key 'typo'" in partly.stderr
    assert run("timers", "bulk", "delete", "--key", "typo", "--yes").exit_code == 1


def test_a_key_whose_timer_is_so_already_is_no_key_that_nobody_has(run: Run) -> None:
    created(run, "hr", "--cron", "@daily", "--disabled")
    for more in ((), ("--dry-run",)):
        partly = run("timers", "bulk", "disable", "--key", "hr", "--key", "nope", *more)
        assert partly.exit_code == 3
        assert "app 'shop' has no timer with the key 'nope'" in partly.stderr
        assert run("timers", "bulk", "disable", "--key", "hr", *more).exit_code == 0
        assert run("timers", "bulk", "disable", "--key", "no", "--key", "nope", *more).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "a", *TARGET, "--in", "10"), "'10' is not a span of time"),
        (("create", "a", "--in", "1m"), "--target"),
        (("create", "a", *TARGET, "--header", "x", "--in", "1m"), "no colon"),
        (("create", "a", *TARGET, "--body", "@/not/there", "--in", "1m"), "--body"),
        (("create", "a", *TARGET), "say when: exactly one of --cron, --every, --every-days, --at, --in"),
        (("put", "a", *TARGET, "--in", "1m", "--every", "1m"), "not --every and --in"),
        (("preview",), "say when"),
        (("edit", "a", "--in", "1m", "--every", "1m"), "not --every and --in"),
        (("edit", "a", "--clear", "tags", "--tag", "x"), "--clear tags: it is given too"),
        (("create", "bad\udcff", *TARGET, "--in", "1m"), "'bad\\udcff' is not text in UTF-8"),
        (("show", "9" * 5_000), "is not an id"),
        (("edit", "a"), "no change is given"),
        (("edit", "a", "--body", "x", "--clear", "body"), "--clear body: it is given too"),
        (("edit", "a", "--drop-header", "X", "--clear", "headers"), "--clear headers: it is given too"),
        (("bulk", "delete"), "say which timers"),
        (
            ("bulk", "delete", "--id", "7", "--all"),
            "say which timers by one of a filter, --key, --id and --all, not --id and --all",
        ),
        (("bulk", "enable", "--key", "a", "--tag", "b"), "not --key and a filter"),
        (("list", "--url", "nonsense"), "is not a URL"),
        (("list", "--app", "a\nb"), "is not the name of an app"),
    ],
)
def test_wrong_use_is_exit_code_2(run: Run, arguments: tuple[str, ...], words: str) -> None:
    result = run("timers", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_without_a_key_that_says_the_app_a_new_timer_needs_its_name(served: Served) -> None:
    result = runner_of(served.url, "")("timers", "create", "a", *TARGET, "--cron", "@daily")
    assert result.exit_code == 1
    assert "WangTimer-App: missing" in result.stderr


def test_what_the_service_refuses_is_one_line_and_exit_code_1(run: Run) -> None:
    result = run("timers", "create", "a", *TARGET, "--cron", "61 * * * *")
    assert result.exit_code == 1
    assert result.stderr.startswith("wangtimer: /schedule/cron: ")
    assert "'61'" in result.stderr
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
    put = ("timers", "put", "a", *TARGET, "--json")
    made = json_of(run(*put, "--cron", "@daily", "--tag", "x"))
    assert (made["tags"], made["created"], made["enabled"]) == (["x"], True, True)
    again = json_of(run(*put, "--cron", "@hourly"))
    assert (again["id"], again["schedule"]["cron"], again["created"]) == (made["id"], "@hourly", False)
    assert again["tags"] == []


def test_a_timer_shows_what_came_of_it_last_and_why(run: Run, small_world: World) -> None:
    assert "last" not in [
        line.split()[0]
        for line in run("timers", "create", "a", *TARGET, "--every", "1s").stdout.splitlines()
        if line.strip()
    ]
    small_world.clock.now += 5_000
    timer = json_of(run("timers", "show", "a", "--json"))
    first = small_world.wiring.firings.records(timer["id"], 99)[-1].firing
    reason = "not sent: could not connect"
    small_world.wiring.firings.settle([outcome_of(first.member, FiringStatus.FAILED, error=reason)])
    line = next(line for line in run("timers", "show", "a").stdout.splitlines() if line.startswith("last"))
    assert line.split(maxsplit=1)[1] == f"failed {show_moment(first.fire_at)}: {reason}"
