"""`wangtimer targets ...`, and timers that go through a target, against the real service."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.runs import Run, json_of, runner_of
from tests.client.flaky import Told, flaky
from tests.client.served import Served
from tests.docs.blocks import ROOT, blocks
from wangtimer.core.messages.named_broker import read_brokers

URL = "http://target.example/hooks"


@pytest.fixture
def told() -> Iterator[Told]:
    with flaky() as told:
        yield told


def test_a_target_is_set_shown_named_and_deleted(run: Run) -> None:
    made = json_of(
        run(
            *("targets", "set", "orders", "--target", URL, "--method", "put", "--timeout", "2s"),
            *("--header", "X-Tag: a", "--secret-header", "X-Tag", "--keep-output", "never", "--json"),
        )
    )
    assert (made["url"], made["method"], made["timeout"], made["keepOutput"]) == (URL, "PUT", "2s", "never")
    through = ("--through", "orders", "--path", "/expire?order=7")
    timer = json_of(run("timers", "create", "expire", *through, "--in", "1h", "--json"))
    assert timer["target"] == {"name": "orders", "path": "/expire?order=7", "headers": {}, "body": ""}
    shown = " ".join(run("timers", "show", "expire").stdout.split())
    assert "calls /expire?order=7 through orders" in shown
    target = " ".join(run("targets", "show", "orders").stdout.split())
    assert "timeout 2s secret header x-tag keep output never timers 1" in target
    assert URL in run("targets", "list").stdout
    assert "1 timer names it" in run("targets", "delete", "orders").stderr
    run("timers", "delete", "expire")
    assert run("targets", "delete", "orders").stdout == "orders is deleted\n"


def test_what_is_not_given_of_a_target_stays(run: Run) -> None:
    run("targets", "set", "orders", "--target", URL, "--header", "X-Tag: a", "--body", "x", "--timeout", "2s")
    changed = json_of(
        run("targets", "set", "orders", "--drop-header", "x-tag", "--clear", "timeout", "--json")
    )
    assert (changed["url"], changed["headers"], changed["body"]) == (URL, {}, "x")
    assert "timeout" not in changed
    refused = run("targets", "set", "orders", "--body", "y", "--version", changed["version"] + 1)
    assert "is at version" in refused.stderr
    assert run("targets", "set", "orders").exit_code == 2
    assert run("targets", "set", "orders", "--body", "y", "--clear", "body").exit_code == 2


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--target", ("targets", "set", "pay", "--header", "Authorization: Bearer paysecret")),
        ("--target", ("timers", "create", "a", "--in", "1m")),
        ("--target", ("timers", "put", "a", "--in", "1m", "--body", "x")),
        ("--target", ("timers", "edit", "a", "--body", "x")),
        ("--post-to", ("alerts", "set", "a", "--kind", "webhook", "--event", "recovered")),
    ],
)
def test_the_url_of_a_call_is_not_taken_for_that_of_the_service(
    told: Told, option: str, words: tuple[str, ...]
) -> None:
    run = runner_of(told.url)
    refused = run(*words, "--url", f"{told.url}/hooks")
    assert (refused.exit_code, told.came) == (2, []), "neither the key nor a secret is sent"
    assert f"the service is --url, what is called is {option}" in refused.stderr
    run(*words, option, "http://127.0.0.1:1/hooks", "--url", f"{told.url}/wangtimer")
    runner_of(f"{told.url}/wangtimer")(*words)
    assert [path.startswith("/wangtimer/v1/") for _, path, _ in told.came] == [True] * len(told.came) != []


@pytest.mark.parametrize("status", [404, 200])
def test_a_host_that_is_no_wangtimer_has_got_the_key(told: Told, status: int) -> None:
    told.fails = [status] * 9
    words = ("targets", "set", "pay", "--body", "x")
    refused = runner_of(told.url)(*words, env={"WANGTIMER_KEY": "wtk_a"})
    assert "--url is the service's address; the key was sent there: revoke it" in refused.stderr
    refused = runner_of(told.url)(*words, env={"WANGTIMER_KEY": ""})
    assert ("not as WangTimer" in refused.stderr, "revoke" in refused.stderr) == (True, False)


def test_a_new_target_needs_a_url(run: Run) -> None:
    assert "has no target 'orders'" in run("targets", "set", "orders", "--body", "x").stderr


def test_a_timer_has_a_url_or_goes_through_a_target(run: Run) -> None:
    for options in ((), ("--through", "orders", "--target", URL)):
        refused = run("timers", "create", "a", "--in", "1m", *options)
        assert "exactly one of --target and --through" in refused.stderr


BROKERS = """
[[broker]]
name = "orders"
url = "amqp://shop:secret@rabbit.internal:5672//"
[[broker.allow]]
app = "shop"
exchanges = ["shop.*"]
celery_queues = ["shop.*"]
[[broker]]
name = "hot"
url = "redis://redis.internal:6379/0"
[[broker.allow]]
app = "shop"
streams = ["shop:*"]
lists = ["shop:*"]
"""


@pytest.fixture
def with_brokers(served: Served) -> None:
    vars(served.world.wiring.settings)["named_brokers"] = read_brokers(BROKERS)


@pytest.mark.usefixtures("with_brokers")
@pytest.mark.parametrize(
    ("words", "made", "shown"),
    [
        (
            ("--celery", "orders", "--queue", "shop.tasks"),
            {"celery": {"broker": "orders", "queue": "shop.tasks"}},
            "Celery: orders, queue shop.tasks",
        ),
        (
            ("--messages", "orders", "--exchange", "shop.events", "--routing-key", "x"),
            {"queue": {"broker": "orders", "exchange": "shop.events", "routingKey": "x"}},
            "broker orders, exchange shop.events, routingKey x",
        ),
        (
            ("--messages", "hot", "--stream", "shop:events", "--max-length", 100),
            {"queue": {"broker": "hot", "stream": "shop:events", "maxLength": 100}},
            "broker hot, stream shop:events, maxLength 100",
        ),
        (
            ("--messages", "hot", "--list", "shop:work"),
            {"queue": {"broker": "hot", "list": "shop:work"}},
            "broker hot, list shop:work",
        ),
        (
            ("--consumers", "reports", "--fallback-url", URL),
            {"consumers": {"group": "reports", "fallbackUrl": URL}},
            f"consumers: reports, else {URL}",
        ),
    ],
)
def test_a_target_may_be_another_than_a_url(
    run: Run, words: tuple[object, ...], made: dict[str, object], shown: str
) -> None:
    found = json_of(run("targets", "set", "jobs", *words, "--json"))
    assert made.items() <= found.items()
    assert shown in run("targets", "list").stdout
    again = json_of(run("targets", "set", "jobs", *words, "--keep-output", "never", "--json"))
    assert again["keepOutput"] == "never"


@pytest.mark.parametrize("words", [("--queue", "q"), ("--stream", "s"), ("--fallback-url", URL)])
def test_a_part_of_a_target_of_no_kind_is_wrong_use(run: Run, words: tuple[str, ...]) -> None:
    refused = run("targets", "set", "jobs", *words)
    assert (refused.exit_code, "is of a target with --" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("with_brokers")
def test_a_timer_gives_a_task_to_celery(run: Run) -> None:
    run("targets", "set", "tasks", "--celery", "orders", "--queue", "shop.tasks")
    task = ("--task", "shop.expire", "--args", "[42]", "--kwargs", '{"all": true}')
    for make in ("create", "put"):
        timer = json_of(run("timers", make, make, "--in", "1h", "--through", "tasks", *task, "--json"))
        assert timer["target"]["name"] == "tasks"
        assert json.loads(timer["target"]["body"]) == {
            "task": "shop.expire",
            "args": [42],
            "kwargs": {"all": True},
        }
    for words, reason in (
        (("--args", "[42]"), "--args is of a Celery task"),
        (("--task", "t", "--args", "42"), "--args: '42' is not JSON as in '[42]'"),
        (("--task", "t", "--kwargs", "{"), "--kwargs: '{' is not JSON"),
    ):
        refused = run("timers", "create", "x", "--in", "1h", "--through", "tasks", *words)
        assert (refused.exit_code, reason in refused.stderr) == (2, True)
    assert "Celery" in run("timers", "create", "x", "--in", "1h", "--target", URL, "--task", "t").stderr


@pytest.mark.usefixtures("with_brokers")
def test_tasks_of_beat_are_imported_for_its_own_workers(run: Run, tmp_path: Path) -> None:
    beat, out = tmp_path / "beat_through.py", tmp_path / "beat.yaml"
    beat.write_text(
        "beat_schedule = {'poll': {'task': 'shop.poll', 'schedule': 60, 'args': [7], 'options': {'queue': 'shop.slow', "
        "'expires': 5}}, 'report': {'task': 'shop.report', 'schedule': 90}}\n"
    )
    run("targets", "set", "tasks", "--celery", "orders", "--queue", "shop.tasks")
    words = ("import", "celery-beat", beat, "--out", out, "--force")
    done = run(*words, "--through", "tasks")
    assert done.exit_code == 0, done.output
    assert "task shop.poll through tasks" in done.stdout
    assert "its options are not taken over: expires" in done.stdout
    poll, report = yaml.safe_load(out.read_text())
    assert poll["target"] == {
        "name": "tasks",
        "celery": {"task": "shop.poll", "args": [7], "kwargs": {}, "queue": "shop.slow"},
    }
    assert report["target"]["celery"] == {"task": "shop.report", "args": [], "kwargs": {}}
    assert {"overlap", "retry"}.isdisjoint(poll)
    assert run("apply", "-f", out, "--yes").exit_code == 0
    assert "2 unchanged" in run("apply", "-f", out, "--yes").stdout
    assert run(*words, "--through", "tasks", "--target-url", URL).exit_code == 2
    assert "say what to call" in run(*words).stderr


def test_the_page_send_messages_md_shows_commands_that_work(served: Served, run: Run) -> None:
    page = blocks(ROOT / "docs/how-to/send-messages.md")
    (brokers,) = (block.text for block in page if block.language == "toml")
    vars(served.world.wiring.settings)["named_brokers"] = read_brokers(brokers)
    commands = [line for block in page if block.language == "sh" for line in block.text.splitlines()]
    assert len(commands) == 6
    for command in commands:
        done = run(*shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
