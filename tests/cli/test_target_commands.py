"""`wangtimer targets ...`, and timers that go through a target, against the real service."""

from tests.cli.runs import Run, json_of

URL = "http://target.example/hooks"


def test_a_target_is_set_shown_named_and_deleted(run: Run) -> None:
    made = json_of(
        run(
            *("targets", "set", "orders", "--target", URL, "--method", "put", "--timeout", "2s"),
            *("--header", "X-Tag: a", "--keep-output", "never", "--json"),
        )
    )
    assert (made["url"], made["method"], made["timeout"], made["keepOutput"]) == (URL, "PUT", "2s", "never")
    through = ("--through", "orders", "--path", "/expire?order=7")
    timer = json_of(run("timers", "create", "expire", *through, "--in", "1h", "--json"))
    assert timer["target"] == {"name": "orders", "path": "/expire?order=7", "headers": {}, "body": ""}
    shown = " ".join(run("timers", "show", "expire").stdout.split())
    assert "calls /expire?order=7 through orders" in shown
    assert "timers 1" in " ".join(run("targets", "show", "orders").stdout.split())
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


def test_a_new_target_needs_a_url(run: Run) -> None:
    assert "has no target 'orders'" in run("targets", "set", "orders", "--body", "x").stderr


def test_a_timer_has_a_url_or_goes_through_a_target(run: Run) -> None:
    for options in ((), ("--through", "orders", "--target", URL)):
        refused = run("timers", "create", "a", "--in", "1m", *options)
        assert "exactly one of --target and --through" in refused.stderr
