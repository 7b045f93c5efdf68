"""`wangtimer alerts ...` against the real service."""

import orjson
import pytest

from tests.api.world import World
from tests.cli.runs import Run, json_of

HOOK = "http://127.0.0.1:9/alerts?key=sesame"
ON_CALL = ("alerts", "set", "on-call", "--kind", "webhook", "--post-to", HOOK, "--event", "missed")


def test_a_rule_is_set_and_listed_without_what_its_url_hides(run: Run) -> None:
    assert run(*ON_CALL, "--failures-in-a-row", 3, "--late-by", "2s", "--key-prefix", "bill").exit_code == 0
    (rule,) = json_of(run("alerts", "list", "--json"))
    assert (rule["failuresInARow"], rule["lateBy"], rule["keyPrefix"]) == (3, "2s", "bill")
    assert rule["per"] == "host"
    shown = run("alerts", "list").stdout
    assert "missed, 3 failures in a row, late by 2s" in shown
    assert "bill..., by host" in shown
    assert "webhook http://127.0.0.1:9/***" in shown
    assert "sesame" not in shown


def test_setting_it_again_replaces_it(run: Run) -> None:
    run(*ON_CALL)
    run("alerts", "set", "on-call", "--kind", "webhook", "--post-to", HOOK, "--event", "skipped")
    assert [one["events"] for one in json_of(run("alerts", "list", "--json"))] == [["skipped"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kind", "webhook", "--post-to", HOOK), "events"),
        (("--kind", "webhook", "--event", "missed"), "/destination/url: missing"),
        (("--kind", "mail", "--to", "nobody", "--event", "missed"), "destination"),
        (("--kind", "webhook", "--post-to", HOOK, "--late-by", "soon"), "lateBy"),
    ],
)
def test_what_cannot_be_a_rule_names_the_field_and_makes_none(
    run: Run, arguments: tuple[str, ...], said: str
) -> None:
    refused = run("alerts", "set", "on-call", *arguments)
    assert refused.exit_code == 1
    assert said in refused.stderr
    assert json_of(run("alerts", "list", "--json")) == []


def test_an_event_that_there_is_not_is_answered_with_those_that_there_are(run: Run) -> None:
    refused = run("alerts", "set", "on-call", "--kind", "webhook", "--post-to", HOOK, "--event", "late")
    assert refused.exit_code == 2
    assert "'first_failure', 'failed_for_good', 'missed', 'skipped', 'recovered'" in refused.stderr


def test_a_deleted_rule_is_gone_and_cannot_be_tried(run: Run) -> None:
    run(*ON_CALL)
    assert run("alerts", "delete", "on-call").stdout == "on-call is deleted\n"
    for command in ("delete", "test"):
        refused = run("alerts", command, "on-call")
        assert refused.exit_code == 1
        assert "on-call" in refused.stderr


def answer_the_test(world: World, answer: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as a callback process does, as soon as somebody waits: take the test's message, and say what became of it."""
    messages, sleep = world.wiring.alert_messages, type(world.clock).sleep

    def work(seconds: float) -> None:
        sleep(world.clock, seconds)
        for taken in messages.take(1, world.clock.now, world.clock.now + 1):
            messages.answer(taken, orjson.dumps(answer).decode())

    monkeypatch.setattr(world.clock, "sleep", work)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ({"is_taken": True, "http_status": 200, "answer": "ok"}, "it was taken\nanswer: ok\n"),
        ({"is_taken": False, "error": "HTTP 503"}, "it was not taken: HTTP 503\n"),
    ],
)
def test_a_test_shows_what_the_destination_answers(
    run: Run,
    small_world: World,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, object],
    shown: str,
) -> None:
    run(*ON_CALL)
    answer_the_test(small_world, answer, monkeypatch)
    assert run("alerts", "test", "on-call").stdout == shown
