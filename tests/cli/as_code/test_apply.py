"""`wangtimer apply` against the real service."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.api.world import World
from tests.cli.runs import Run, runner_of
from tests.client.flaky import flaky
from tests.client.served import Served
from wangtimer.cli.as_code import apply_command, carrying_out
from wangtimer.client import Client

URL = "http://target.example/fire"
NIGHTLY = f"""\
- key: nightly
  schedule: {{cron: 0 2 * * *, timezone: Asia/Shanghai}}
  target: {{url: {URL}, json: {{limit: 100}}}}
- key: often
  schedule: {{every: 5m}}
  target: {{url: {URL}}}
  tags: [billing]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "timers.yaml"
    found.write_text(NIGHTLY)
    return found


def timers(served: Served, app: str = "shop") -> dict[str, Any]:
    answer = requests.get(f"{served.url}/v1/timers?limit=500", headers={"WangTimer-App": app}, timeout=30)
    return {row["key"]: row for row in answer.json()["items"]}


def test_a_missing_timer_is_made_and_enabled_and_twice_changes_nothing(
    run: Run, served: Served, file: Path
) -> None:
    made = run("apply", "-f", file, "--yes")
    assert made.exit_code == 0, made.output
    assert "2 created, 0 changed, 0 deleted" in made.stdout
    before = timers(served)
    assert before["nightly"]["enabled"] is True
    assert before["nightly"]["schedule"]["cron"] == "0 2 * * *"
    again = run("apply", "-f", file, "--yes")
    assert again.exit_code == 0
    assert again.stdout == "0 to create, 0 to change, 0 to delete, 2 unchanged\n"
    assert timers(served) == before


def test_a_dry_run_shows_each_field_and_ends_with_2_and_changes_nothing(
    run: Run, served: Served, file: Path
) -> None:
    run("apply", "-f", file, "--yes")
    before = timers(served)
    file.write_text(
        NIGHTLY.replace("0 2", "30 2").replace("5m}", "5m}\n  enabled: false").replace("100", "7")
    )
    shown = run("apply", "-f", file, "--dry-run")
    assert shown.exit_code == 2
    assert shown.stdout.splitlines() == [
        f"~ nightly  {file}:1",
        '    schedule.cron: "0 2 * * *" -> "30 2 * * *"',
        "    target.body: it differs in what is not shown",
        f"~ often  {file}:4",
        "    enabled: true -> false",
        "0 to create, 2 to change, 0 to delete, 0 unchanged",
    ]
    assert timers(served) == before


def test_what_differs_is_made_so(run: Run, served: Served, file: Path) -> None:
    run("apply", "-f", file, "--yes")
    requests.patch(
        f"{served.url}/v1/timers/key:nightly",
        json={
            "misfire": {"policy": "skip"},
            "retry": {"attempts": 3},
            "target": {"headers": {"X-By": "hand"}},
            "tags": ["x"],
        },
        headers={"WangTimer-App": "shop"},
        timeout=30,
    ).raise_for_status()
    mended = run("apply", "-f", file, "--yes")
    assert mended.exit_code == 0, mended.output
    assert 'misfire.policy: "skip" -> "fire_all"' in mended.stdout
    assert 'target.headers.X-By: "***" -> none' in mended.stdout
    assert "retry.attempts: 3 -> none" in mended.stdout
    row = timers(served)["nightly"]
    assert (row["misfire"]["policy"], row["tags"]) == ("fire_all", [])
    assert row["target"]["headers"] == {"Content-Type": ["application/json"]}
    assert "retry" not in row


def test_retries_are_as_the_file_says(run: Run, served: Served, file: Path) -> None:
    file.write_text(NIGHTLY.replace("5m}", "5m}\n  retry: {attempts: 3, finalStatuses: [4xx]}"))
    assert run("apply", "-f", file, "--yes").exit_code == 0
    assert timers(served)["often"]["retry"]["finalStatuses"] == ["4xx"]
    assert "0 to create, 0 to change" in run("apply", "-f", file, "--dry-run").stdout
    file.write_text(NIGHTLY.replace("5m}", "5m}\n  retry: {attempts: 4, finalStatuses: [4xx]}"))
    assert "retry.attempts: 3 -> 4" in run("apply", "-f", file, "--dry-run").stdout


@pytest.mark.parametrize("rule", ["every: 5m", "everyDays: 14"])
def test_an_interval_goes_on_from_where_it_was_counted(
    run: Run, served: Served, file: Path, rule: str
) -> None:
    wanted = NIGHTLY.replace("every: 5m", rule)
    file.write_text(wanted)
    run("apply", "-f", file, "--yes")
    before = timers(served)["often"]["schedule"]["anchorAt"]
    served.world.clock.now += 77_000
    assert "0 to create, 0 to change" in run("apply", "-f", file, "--dry-run").stdout
    file.write_text(wanted.replace("[billing]", "[other]"))
    assert run("apply", "-f", file, "--yes").exit_code == 0
    after = timers(served)["often"]
    assert (after["schedule"]["anchorAt"], after["tags"]) == (before, ["other"])


@pytest.mark.parametrize(
    "rule",
    ["at: 2030-12-24T09:00:00", "everyDays: 14, anchorAt: 2030-12-23 09:00:00, startAt: 2030-12-24T00:00:00"],
)
def test_local_times_are_applied_once(run: Run, file: Path, rule: str) -> None:
    file.write_text(f"key: a\nschedule: {{{rule}, timezone: Europe/Berlin}}\ntarget: {{url: {URL}}}\n")
    assert run("apply", "-f", file, "--yes").exit_code == 0
    assert "0 to create, 0 to change" in run("apply", "-f", file, "--dry-run").stdout


def test_prune_deletes_those_of_the_set_that_the_files_no_longer_have_and_no_others(
    run: Run, served: Served, file: Path
) -> None:
    assert run("timers", "create", "by-hand", "--every", "1h", "--callback", URL).exit_code == 0
    other = file.with_name("other.yaml")
    other.write_text(NIGHTLY.replace("key: ", "key: other-"))
    assert run("apply", "-f", other, "--set", "other", "--yes").exit_code == 0
    assert run("apply", "-f", file, "--set", "shop", "--yes").exit_code == 0
    file.write_text("\n".join(NIGHTLY.splitlines()[:3]))
    kept = run("apply", "-f", file, "--set", "shop", "--dry-run")
    assert kept.exit_code == 0
    assert "? often  not in the files" in kept.stdout
    shown = run("apply", "-f", file, "--set", "shop", "--prune", "--dry-run")
    assert shown.exit_code == 2
    assert "- often  not in the files" in shown.stdout
    pruned = run("apply", "-f", file, "--set", "shop", "--prune", "--yes")
    assert pruned.exit_code == 0, pruned.output
    assert "0 created, 0 changed, 1 deleted" in pruned.stdout
    assert set(timers(served)) == {"by-hand", "other-nightly", "other-often", "nightly"}


def test_a_prune_that_leaves_nothing_of_a_set_asks_even_after_yes(
    run: Run, served: Served, file: Path
) -> None:
    run("apply", "-f", file, "--set", "shop", "--yes")
    # As an import of nothing writes it.
    file.write_text("# Timers made of a dump\n\n[]\n")
    words = ("apply", "-f", file, "--set", "shop", "--prune")
    refused = run(*words, "--yes")
    assert (refused.exit_code, set(timers(served))) == (1, {"nightly", "often"})
    told = "The files have no timer of the set 'shop': all 2 would be deleted."
    assert f"{told} If that is meant, add --allow-empty." in refused.stderr
    asked = run(*words, input="n\n")
    assert (asked.exit_code, told in asked.stderr, len(timers(served))) == (1, True, 2)
    assert run(*words, "--yes", "--allow-empty").exit_code == 0
    assert timers(served) == {}


def test_a_timer_that_left_the_set_meanwhile_is_not_pruned(
    run: Run, served: Served, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("apply", "-f", file, "--set", "shop", "--yes")
    file.write_text("\n".join(NIGHTLY.splitlines()[:3]))
    carry_out = carrying_out.carry_out

    def take_out_first(*given: Any) -> Any:
        answer = requests.patch(
            f"{served.url}/v1/timers/key:often",
            json={"tags": []},
            headers={"WangTimer-App": "shop"},
            timeout=30,
        )
        answer.raise_for_status()
        return carry_out(*given)

    monkeypatch.setattr(carrying_out, "carry_out", take_out_first)
    pruned = run("apply", "-f", file, "--set", "shop", "--prune", "--yes")
    assert (pruned.exit_code, "0 deleted" in pruned.stdout) == (1, True), pruned.output
    assert "timer 'often' was not deleted" in pruned.stderr
    assert set(timers(served)) == {"nightly", "often"}


def test_a_timer_of_another_set_is_refused(run: Run, served: Served, file: Path) -> None:
    run("apply", "-f", file, "--set", "one", "--yes")
    before = timers(served)
    for options in (("--set", "two"), ()):
        refused = run("apply", "-f", file, *options, "--yes")
        assert refused.exit_code == 1
        assert f"{file}:1: timer 'nightly': it belongs to the set 'one'" in refused.stderr
    assert timers(served) == before


def test_faults_are_named_by_file_line_and_key_and_nothing_is_sent(
    run: Run, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(NIGHTLY)
    (tmp_path / "b.yaml").write_text(
        f"""\
- key: bad-cron
  schedule:
    cron: 61 * * * *
  target: {{url: {URL}}}
- key: nightly
  schedule: {{every: 1h}}
  target: {{url: {URL}}}
- schedule: {{every: 1h}}
  target: {{url: {URL}}}
- key: soon
  schedule: {{delay: 1h}}
  target: {{url: {URL}}}
- key: marked
  schedule: {{every: 1h}}
  target: {{url: {URL}}}
  tags: [set=x]
"""
    )
    refused = run("apply", "-f", tmp_path, "--yes")
    assert refused.exit_code == 1
    b = tmp_path / "b.yaml"
    lines = refused.stderr.splitlines()
    assert lines[0].startswith(
        f"wangtimer: {b}:3: timer 'bad-cron': schedule.cron: minute '61' cannot be read"
    )
    assert f"{b}:5: timer 'nightly': the key is given twice, first at {tmp_path / 'a.yaml'}:1" in lines[1]
    assert f"{b}:8: key: missing" in lines[2]
    assert f"{b}:11: timer 'soon': schedule.delay" in lines[3]
    assert f"{b}:16: timer 'marked': tags: a tag begins with set=" in lines[4]
    assert lines[5] == "wangtimer: 5 faults; nothing was sent"
    assert timers(served) == {}


def test_one_fault_is_one_and_asks_once_about_the_zone(run: Run, file: Path) -> None:
    file.write_text(
        f"- {{key: a, schedule: {{cron: 0 9 * * *, timezone: asia/shanghai}}, target: {{url: '{URL}'}}}}\n"
    )
    told, counted = run("apply", "-f", file, "--yes").stderr.splitlines()
    assert "did you mean Asia/Shanghai?" in told
    assert "; meant:" not in told
    assert counted == "wangtimer: 1 fault; nothing was sent"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("1e999", "json: the number is too large"),
        ("{a: [-1e999]}", "json.a.0: the number is too large"),
        (json.dumps({f"field-{number}": 1 for number in range(65)}), "an object has 65 fields"),
        ("[" * 40 + "]" * 40, "it is nested too deep"),
        ('"\\ud800"', "nicode"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_dry_run_refuses_what_the_service_cannot_read(
    run: Run, file: Path, body: str, fault: str, suffix: str
) -> None:
    if suffix == "json":
        body = body.replace("{a:", '{"a":')
    text = (
        f'[\n{{"key": "odd", "schedule": {{"every": "5m"}}, "target": {{"url": "{URL}", "json": {body}}}}}]'
    )
    file = file.with_suffix(f".{suffix}")
    file.write_text(text)
    refused = run("apply", "-f", file, "--dry-run")
    assert refused.exit_code == 1, refused.output
    assert refused.stderr.startswith(f"wangtimer: {file}:")
    assert fault in refused.stderr


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_numbers_of_a_body_keep_their_digits(run: Run, served: Served, file: Path, suffix: str) -> None:
    numbers = '{"p":1.10,"id":18446744073709551616,"z":-0,"e":1e5,"list":[1.00,-0.0,1E-400]}'
    file = file.with_suffix(f".{suffix}")
    file.write_text(
        f'[{{"key": "a", "schedule": {{"every": "5m"}}, "target": {{"url": "{URL}", "json": {numbers}}}}}]'
    )
    assert run("apply", "-f", file, "--yes").exit_code == 0
    target = timers(served)["a"]["target"]
    assert (target["body"], target["headers"]) == (numbers, {"Content-Type": ["application/json"]})
    assert run("apply", "-f", file, "--dry-run").exit_code == 0
    file.write_text(file.read_text().replace("1.10", "1.1"))
    assert run("apply", "-f", file, "--dry-run").exit_code == 2
    assert run("apply", "-f", file, "--yes").exit_code == 0
    assert timers(served)["a"]["target"]["body"] == numbers.replace("1.10", "1.1")


def test_numbers_that_json_has_not_are_written_as_json_has_them(run: Run, served: Served, file: Path) -> None:
    numbers = "[+1, .5, 5., 01.5, !!float 7]"
    file.write_text(f"key: a\nschedule: {{every: 5m}}\ntarget: {{url: {URL}, json: {numbers}}}\n")
    assert run("apply", "-f", file, "--yes").exit_code == 0
    assert timers(served)["a"]["target"]["body"] == "[1,0.5,5.0,1.5,7]"


def test_it_asks_before_it_does_anything(run: Run, served: Served, file: Path) -> None:
    assert run("apply", "-f", file, input="n\n").exit_code == 1
    assert timers(served) == {}
    assert run("apply", "-f", file, input="y\n").exit_code == 0
    assert set(timers(served)) == {"nightly", "often"}


@pytest.mark.parametrize(
    "options", [("--prune",), ("--set", " x"), ("--nonsense",), ("--set", "a", "--set", "b")]
)
def test_wrong_use_ends_with_1_for_2_says_that_there_are_differences(
    run: Run, file: Path, options: tuple[str, ...]
) -> None:
    assert run("apply", "-f", file, "--yes", *options).exit_code == 1


def test_a_one_shot_whose_moment_has_passed_is_let_be(run: Run, served: Served, file: Path) -> None:
    moment = "2020-01-01T00:00:00Z"
    file.write_text(f"key: past\nschedule: {{at: {moment}}}\ntarget: {{url: {URL}}}\n")
    found = run("apply", "-f", file, "--yes")
    assert found.exit_code == 0
    assert "its last moment has passed, and it is not made" in found.stdout
    assert timers(served) == {}


@pytest.mark.parametrize(
    "rule", ["every: 1s", "every: 1s, anchorAt: 2027-01-01T00:00:00Z", "cron: 0 9 * * *"]
)
def test_a_number_of_firings_without_a_start_is_refused_for_it_would_start_again(
    run: Run, served: Served, file: Path, rule: str
) -> None:
    file.write_text(f"key: few\nschedule: {{{rule}, maxFirings: 2}}\ntarget: {{url: {URL}}}\n")
    refused = run("apply", "-f", file, "--yes")
    assert refused.exit_code == 1
    assert f"{file}:2: timer 'few': schedule.maxFirings: " in refused.stderr
    assert "add startAt, as in" in refused.stderr
    assert timers(served) == {}


def test_a_number_of_firings_from_a_start_that_are_over_is_not_made_again(
    run: Run, served: Served, file: Path
) -> None:
    schedule = "every: 1s, maxFirings: 2, startAt: 2020-01-01T00:00:00Z"
    file.write_text(f"key: few\nschedule: {{{schedule}}}\ntarget: {{url: {URL}}}\n")
    found = run("apply", "-f", file, "--yes")
    assert found.exit_code == 0, found.output
    assert "its last moment has passed, and it is not made" in found.stdout
    assert timers(served) == {}


@pytest.mark.parametrize("ahead_ms", [-3_600_000, 3_600_000])
def test_what_is_over_is_told_by_the_clock_of_the_service(
    run: Run, served: Served, file: Path, ahead_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of this host is an hour away from the service's."""
    service_now = int(time.time() * 1_000)
    monkeypatch.setattr(apply_command, "now_ms", lambda: service_now + ahead_ms)
    file.write_text(
        "".join(
            f"- {{key: {key}, schedule: {{at: {service_now + offset_ms}}}, target: {{url: '{URL}'}}}}\n"
            for key, offset_ms in (("soon", 2_400_000), ("past", -2_400_000))
        )
    )
    made = run("apply", "-f", file, "--yes")
    assert made.exit_code == 0, made.output
    assert f"past  {file}:2: its last moment has passed" in made.stdout
    assert timers(served).keys() == {"soon"}


def test_a_calendar_of_a_later_page_is_found(run: Run, served: Served, file: Path) -> None:
    calendars = [f"plant-{number:02}" for number in range(60)]
    for name in calendars:
        put = {"headers": {"WangTimer-App": "shop"}, "json": {"days": ["2027-01-01"]}, "timeout": 30}
        assert requests.put(f"{served.url}/v1/calendars/{name}", **put).ok
    file.write_text(NIGHTLY.replace("Shanghai}", f"Shanghai, excludeCalendar: {calendars[-1]}}}"))
    made = run("apply", "-f", file, "--yes")
    assert made.exit_code == 0, made.output


def test_a_calendar_of_the_app_may_be_named_and_an_unknown_one_is_a_fault(
    run: Run, served: Served, file: Path
) -> None:
    file.write_text(NIGHTLY.replace("2 * * *,", "2 * * *, excludeCalendar: plant,"))
    refused = run("apply", "-f", file, "--yes")
    assert refused.exit_code == 1
    assert (
        f"{file}:2: timer 'nightly': schedule.excludeCalendar: there is no calendar 'plant'" in refused.stderr
    )
    requests.put(
        f"{served.url}/v1/calendars/plant",
        json={"days": ["2027-01-01"]},
        headers={"WangTimer-App": "shop"},
        timeout=30,
    ).raise_for_status()
    assert run("apply", "-f", file, "--yes").exit_code == 0
    assert run("apply", "-f", file, "--dry-run").exit_code == 0


def test_the_differences_are_told_as_json(run: Run, file: Path) -> None:
    run("apply", "-f", file, "--yes")
    file.write_text(
        NIGHTLY.replace("0 2", "0 3") + f"- key: new\n  schedule: {{every: 1h}}\n  target: {{url: {URL}}}\n"
    )
    shown = run("apply", "-f", file, "--dry-run", "--json")
    assert shown.exit_code == 2
    found = json.loads(shown.stdout)
    assert found["create"] == [{"key": "new", "place": f"{file}:8"}]
    assert found["change"][0]["fields"] == [{"name": "schedule.cron", "old": "0 2 * * *", "new": "0 3 * * *"}]
    assert (found["unchanged"], found["delete"], found["over"]) == (1, [], [])


def test_what_a_header_holds_as_a_secret_is_not_shown(run: Run, file: Path) -> None:
    run("apply", "-f", file, "--yes")
    file.write_text(NIGHTLY.replace("json:", "headers: {Authorization: Bearer x}, json:"))
    shown = run("apply", "-f", file, "--dry-run")
    assert 'target.headers.Authorization: none -> "***"' in shown.stdout
    assert "Bearer" not in shown.output


def test_secrets_in_urls_are_shown_neither_of_a_new_timer_nor_of_a_changed_one(run: Run, file: Path) -> None:
    file.write_text(NIGHTLY.replace("/fire", "/fire?token=sesame"))
    made = run("apply", "-f", file, "--yes")
    assert "POST http://target.example/fire?token=***" in made.stdout
    file.write_text(NIGHTLY.replace("/fire", "/fire?token=openup"))
    shown = run("apply", "-f", file, "--dry-run")
    assert "2 whose secrets only the service can compare" in shown.stdout
    told = run("apply", "-f", file, "--dry-run", "--json")
    assert [one["key"] for one in json.loads(told.stdout)["secretsToCompare"]] == ["nightly", "often"]
    assert shown.exit_code == told.exit_code == 0
    assert not any(secret in one.output for one in (made, shown, told) for secret in ("sesame", "openup"))


def test_the_service_compares_secrets_and_changes_those_that_differ(
    run: Run, served: Served, file: Path
) -> None:
    for secret, changed in (("sesame", 0), ("sesame", 0), ("openup", 2), ("openup", 0)):
        file.write_text(NIGHTLY.replace("/fire", f"/fire?token={secret}"))
        done = run("apply", "-f", file, "--yes")
        assert done.exit_code == 0, done.output
        assert f"{changed} changed, 0 deleted" in done.stdout
    before = timers(served)
    file.write_text(NIGHTLY.replace("/fire", "/fire?token=***"))
    masked = run("apply", "-f", file, "--yes")
    assert masked.stdout == "0 to create, 0 to change, 0 to delete, 2 unchanged\n"
    assert timers(served) == before


def test_a_service_that_cannot_be_reached_ends_with_1(file: Path) -> None:
    refused = runner_of("http://127.0.0.1:1")("apply", "-f", file, "--yes")
    assert refused.exit_code == 1
    assert "is the service running" in refused.stderr


def test_a_timer_that_somebody_changed_meanwhile_is_told_and_the_others_are_changed(
    run: Run, served: Served, small_world: World, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("apply", "-f", file, "--yes")
    file.write_text(NIGHTLY.replace("0 2", "0 3").replace("5m", "6m"))
    plain = Client.put_timer

    def put(self: Client, which: Any, *, version: int, **body: Any) -> Any:
        return plain(self, which, version=version - (which["key"] == "often"), **body)

    monkeypatch.setattr(Client, "put_timer", put)
    done = run("apply", "-f", file, "--yes")
    assert done.exit_code == 3
    assert f"{file}:4: timer 'often' was not changed" in done.stderr
    assert timers(served)["nightly"]["schedule"]["cron"] == "0 3 * * *"
    assert timers(served)["often"]["schedule"]["every"] == "5m"


@pytest.mark.test_all
def test_thousands_of_timers_are_made_in_batches(run: Run, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    many = [
        {"key": f"many-{number}", "schedule": {"cron": "0 9 * * *"}, "target": {"url": URL}, "enabled": False}
        for number in range(1_203)
    ]
    file.write_text(json.dumps({"timers": many}))
    made = run("apply", "-f", file, "--set", "many", "--yes")
    assert made.exit_code == 0, made.output
    assert "1203 created" in made.stdout
    again = run("apply", "-f", file, "--set", "many", "--dry-run")
    assert again.exit_code == 0
    assert "1203 unchanged" in again.stdout
    file.write_text(json.dumps(many[:100]))
    assert "1103 deleted" in run("apply", "-f", file, "--set", "many", "--prune", "--yes").stdout


TOO_MUCH_WORK = {
    "type": "/docs/errors#40012",
    "title": "Too much work",
    "status": 400,
    "code": 40012,
    "detail": "send fewer timers",
}


def made_of(key: str) -> dict[str, Any]:
    return {"index": 0, "id": 7, "key": key, "created": True, "problem": None, "warnings": []}


def test_a_batch_whose_answer_was_lost_is_sent_again_under_the_same_key(file: Path) -> None:
    file.write_text(f"key: nightly\nschedule: {{every: 5m}}\ntarget: {{url: {URL}}}\n")
    with flaky() as told:
        told.losses = [2]
        told.answers = [
            {"items": [], "nextCursor": None},
            {"items": [made_of("nightly")], "created": 1, "failed": 0},
        ]
        done = runner_of(told.url)("apply", "-f", file, "--yes")
    assert done.exit_code == 0, done.output
    assert "1 created, 0 changed, 0 deleted" in done.stdout
    sent = [headers["Idempotency-Key"] for method, _, headers in told.came if method == "POST"]
    assert len(sent) == 2
    assert len(set(sent)) == 1


def test_a_batch_that_is_too_much_work_is_halved_until_it_is_not(file: Path) -> None:
    keys = ["a", "b", "c"]
    file.write_text(
        "".join(f"- {{key: {key}, schedule: {{every: 1s}}, target: {{url: '{URL}'}}}}\n" for key in keys)
    )
    with flaky() as told:
        told.statuses = [200, 200, 200, 400, 200, 400, 200, 400]
        told.answers = [
            *[{"items": [], "nextCursor": None}] * 3,
            TOO_MUCH_WORK,
            {"items": [made_of("a")], "created": 1, "failed": 0},
            TOO_MUCH_WORK,
            {"items": [made_of("b")], "created": 1, "failed": 0},
            TOO_MUCH_WORK,
        ]
        done = runner_of(told.url)("apply", "-f", file, "--yes")
    assert done.exit_code == 3, done.output
    assert "2 created, 0 changed, 0 deleted" in done.stdout
    assert f"{file}:3: timer 'c' was not made: send fewer timers" in done.stderr
    sent = [[one["key"] for one in body["timers"]] for body in told.bodies if "timers" in body]
    assert sent == [["a", "b", "c"], ["a"], ["b", "c"], ["b"], ["c"]]
