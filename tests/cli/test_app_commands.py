"""`wangtimer apps ...` and `wangtimer keys ...`, against the API and straight on the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import trustme
from sqlalchemy import select, update

from tests.api.keyed_world import KeyedWorld
from tests.api.world import present
from tests.certificates import pair_of, pem_of
from tests.cli.runs import Run, json_of, runner_of
from tests.client.served import Served, serving_world
from wangtimer.api.v1.apps import app_routes
from wangtimer.cli.apps import app_commands
from wangtimer.client.api_key import key_in_file
from wangtimer.core.apps.audited_change import AuditedKind
from wangtimer.core.apps.key_text import KeyText
from wangtimer.store.sql.audit import AuditFilter
from wangtimer.store.sql.tables import timers


@pytest.fixture
def keyed(sqlite_url: str, redis_url: str) -> KeyedWorld:
    return KeyedWorld(sqlite_url, redis_url, present(), callback_queues="reports,mail")


@pytest.fixture
def served(keyed: KeyedWorld) -> Iterator[Served]:
    with serving_world(keyed) as found:
        yield found


@pytest.fixture
def operator(keyed: KeyedWorld, served: Served, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `wangtimer ...` with an operator's key."""
    monkeypatch.setenv("WANGTIMER_KEY", keyed.key(None))
    return runner_of(served.url)


def test_an_operators_lists_of_all_apps_say_which(operator: Run, served: Served) -> None:
    of_all = runner_of(served.url, "")
    for app in ("ads", "shop"):
        operator("apps", "create", app)
        made = operator(
            "timers", "create", "t", "--app", app, "--every", "5m", "--target", "http://t.example/"
        )
        assert made.exit_code == 0, made.output
    for command in ("timers", "firings"):
        head, *rows = of_all(command, "list").stdout.splitlines()
        assert head.split()[0] == "app"
        assert {row.split()[0] for row in rows} <= {"ads", "shop"}
        head, *_ = operator(command, "list").stdout.splitlines()
        assert head.split()[0] != "app"


def test_apps_are_made_limited_and_disabled(
    operator: Run, keyed: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_commands, "BELIEVED_S", 0)
    made = json_of(operator("apps", "create", "ads", "--calls-per-second", "9", "--json"))
    assert {name: one for name, one in made["limits"].items() if one} == {"callsPerSecond": 9}
    limited = json_of(
        operator("apps", "limit", "ads", "--calls-per-second", "none", "--calls-at-once", 3, "--json")
    )
    assert {name: one for name, one in limited["limits"].items() if one} == {"callsAtOnce": 3}
    own = operator("apps", "limit", "ads", "--firings-per-second", 2_000, "--replays-per-hour", 5)
    assert "firings per second" in own.stdout
    assert "2000" in own.stdout
    more = json_of(operator("apps", "limit", "ads", "--calls-at-once-to-one-host", 2, "--json"))
    assert (more["limits"]["callsAtOnce"], more["limits"]["callsAtOnceToOneHost"]) == (3, 2)
    assert [one["name"] for one in json_of(operator("apps", "list", "--json"))] == ["ads"]
    key = keyed.key("ads")
    body = {"key": "a", "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    assert keyed.ask("POST", "/v1/timers", key, json=body).status_code == 201
    assert json_of(operator("apps", "disable", "ads", "--json"))["enabledTimers"] == 0
    assert json_of(operator("apps", "show", "ads", "--json"))["disabledAt"] is not None
    enabled = operator("apps", "enable", "ads", "--json")
    assert json_of(enabled)["disabledAt"] is None
    assert "wangtimer timers bulk enable --all --app ads" in enabled.stderr


def test_the_way_out_of_an_app_is_set_shown_and_taken_back(
    operator: Run, keyed: KeyedWorld, tmp_path: Path
) -> None:
    keyed.app_of("shop")
    file = tmp_path / "ca.pem"
    file.write_text(pem_of(trustme.CA()))
    items = ("--allow", "10.1.0.0/16:443", "--allow", "*.corp.example")
    made = json_of(
        operator("apps", "egress", "shop", "--https-only", *items, "--ca-file", str(file), "--json")
    )
    (authority,) = made["egress"].pop("caCertificates")
    assert made["egress"] == {"httpsOnly": True, "allow": ["10.1.0.0/16:443", "*.corp.example"]}
    shown = operator("apps", "show", "shop").output
    assert authority["subject"] in shown
    assert "10.1.0.0/16:443, *.corp.example" in shown
    off = ("--no-https-only", "--allow", "none", "--ca-file", "none")
    taken = json_of(operator("apps", "egress", "shop", *off, "--json"))
    assert taken["egress"] == {"httpsOnly": False, "allow": [], "caCertificates": []}
    for wrong in ((), ("--ca-file", str(tmp_path / "none"))):
        assert operator("apps", "egress", "shop", *wrong).exit_code == 2


def test_a_client_certificate_is_set_shown_and_removed(
    keyed: KeyedWorld, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WANGTIMER_KEY", keyed.app_of("shop"))
    run = runner_of(served.url)
    pair = pair_of(trustme.CA(), "shop")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_text(pair.chain)
    key.write_text(pair.key)
    assert json_of(run("client-certificate", "show", "--json")) == {"app": "shop", "certificate": None}
    done = run("client-certificate", "set", str(chain), str(key))
    assert (done.exit_code, "CN=shop" in done.output) == (0, True)
    assert "PRIVATE" not in done.output
    shown = json_of(run("client-certificate", "show", "--json"))["certificate"]
    assert len(shown["fingerprint"]) == 64
    assert json_of(run("client-certificate", "remove", "--json"))["certificate"] is None
    assert run("client-certificate", "set", str(key), str(key)).exit_code == 1


def test_an_app_is_given_a_queue_and_the_queue_is_taken_back(operator: Run, keyed: KeyedWorld) -> None:
    assert json_of(operator("apps", "create", "ads", "--queue", "mail", "--json"))["queue"] == "mail"
    assert keyed.wiring.queues_replica.read() == {"ads": "mail"}
    assert json_of(operator("apps", "limit", "ads", "--queue", "reports", "--json"))["queue"] == "reports"
    limited = json_of(operator("apps", "limit", "ads", "--calls-at-once", 3, "--json"))
    assert limited["queue"] == "reports"
    assert "reports" in operator("apps", "list").stdout
    assert json_of(operator("apps", "limit", "ads", "--queue", "none", "--json"))["queue"] is None
    assert keyed.wiring.queues_replica.read() == {}
    noted = keyed.wiring.audit.page(AuditFilter(kind=AuditedKind.APP), 9)
    assert [one.fields for one in noted] == [("queue",), ("limits.callsAtOnce",), ("queue",), ()]


def test_a_queue_that_is_not_in_the_settings_is_refused(operator: Run, keyed: KeyedWorld) -> None:
    refused = operator("apps", "create", "ads", "--queue", "report")
    assert (refused.exit_code, "did you mean 'reports'" in refused.stderr) == (1, True)
    keyed.app_of("ads")
    refused = operator("apps", "limit", "ads", "--queue", "other")
    assert (refused.exit_code, "WANGTIMER_CALLBACK_QUEUES" in refused.stderr) == (1, True)


def test_disabling_an_app_disables_its_timers_that_cannot_be_read_too(
    operator: Run, keyed: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_commands, "BELIEVED_S", 0)
    keyed.app_of("ads")
    key = keyed.key("ads")
    ids = []
    for one in ("a", "b", "c"):
        body = {"key": one, "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
        made = keyed.ask("POST", "/v1/timers", key, json=body | {"enabled": True})
        ids.append(made.json["id"])
    spoil = update(timers).where(timers.c.id == ids[1]).values(bounds='{"moon":"full"}')
    keyed.wiring.database.write(lambda sql: sql.execute(spoil))
    disabled = operator("apps", "disable", "ads", "--json")
    assert (disabled.exit_code, '"enabledTimers": 0' in disabled.stdout) == (0, True)
    columns = select(timers.c.status, timers.c.version).order_by(timers.c.id)
    rows = keyed.wiring.database.read(lambda sql: [tuple(row) for row in sql.execute(columns)])
    assert rows == [("disabled", 2)] * 3
    assert ids[1] not in keyed.wiring.definitions.get([ids[1]]).definitions
    noted = keyed.wiring.audit.page(AuditFilter(subject=str(ids[1])), 1)
    assert [(one.action, one.name, one.old_status, one.new_status) for one in noted] == [
        ("disable", "b", "enabled", "disabled")
    ]


def test_disabling_an_app_ends_where_its_timers_do_not_get_fewer(
    operator: Run, keyed: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_commands, "BELIEVED_S", 0)
    numbers = iter((9, 7, 5, 5, 0))
    monkeypatch.setattr(app_routes, "disable_timers", lambda _wiring, _app: next(numbers))
    keyed.app_of("ads")
    ended = operator("apps", "disable", "ads")
    assert (ended.exit_code, "5 timers of ads are still enabled" in ended.stderr) == (1, True)


def test_a_wrong_app_is_refused_in_one_line(operator: Run, keyed: KeyedWorld) -> None:
    keyed.app_of("shop")
    unknown = operator("apps", "show", "shpo")
    assert (unknown.exit_code, "did you mean 'shop'" in unknown.stderr) == (1, True)
    assert operator("apps", "limit", "shop").exit_code == 2
    assert operator("apps", "limit", "shop", "--calls-at-once", "many").exit_code == 2


@pytest.mark.parametrize("command", [("limit", "--calls-at-once", 3), ("free",)])
def test_a_url_in_place_of_a_host_is_told_what_to_write(operator: Run, command: tuple[object, ...]) -> None:
    refused = operator("hosts", *command, "https://shop.example.org:443/")
    assert (refused.exit_code, "write NAME:PORT" in refused.stderr) == (2, True)


def test_a_key_is_made_used_listed_and_revoked(
    operator: Run, keyed: KeyedWorld, served: Served, tmp_path: Path
) -> None:
    keyed.app_of("shop")
    file = tmp_path / "shop-key"
    made = operator("keys", "create", "checkout", "--app", "shop", "--scope", "timers:read", "--out", file)
    assert made.exit_code == 0, made.output
    assert file.stat().st_mode & 0o777 == 0o600
    key = KeyText.read(key_in_file(file))
    assert key is not None
    assert key.text not in made.output
    header = {"Authorization": f"Bearer {key.text}"}
    assert requests.get(f"{served.url}/v1/timers", headers=header, timeout=10).status_code == 200
    assert requests.get(f"{served.url}/v1/firings", headers=header, timeout=10).status_code == 403
    listed = {one["id"]: one for one in json_of(operator("keys", "list", "--app", "shop", "--json"))}
    assert listed[key.id]["scopes"] == ["timers:read"]
    assert operator("keys", "revoke", key.id, "--app", "shop").exit_code == 0
    assert operator("keys", "create", "again", "--app", "shop", "--out", file).exit_code == 2
    for wrong in ((), ("--app", "shop", "--operator")):
        assert operator("keys", "list", *wrong).exit_code == 2


def test_the_first_key_needs_no_key(
    served: Served, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WANGTIMER_DATABASE_URL", sqlite_url)
    run = runner_of(served.url)
    assert run("apps", "list").exit_code == 1
    made = run("keys", "create", "ann", "--operator", "--database", "--out", tmp_path / "key")
    assert made.exit_code == 0, made.output
    monkeypatch.setenv("WANGTIMER_KEY_FILE", str(tmp_path / "key"))
    assert run("apps", "create", "shop").exit_code == 0
    refused = run("keys", "create", "x", "--app", "shpo", "--database")
    assert (refused.exit_code, "did you mean 'shop'" in refused.stderr) == (1, True)
    assert run("keys", "create", "x", "--app", "shop", "--scope", "apps:admin", "--database").exit_code == 2


def test_what_is_paused_is_listed_and_goes_on(operator: Run) -> None:
    operator("apps", "create", "ads")
    paused = json_of(operator("pause", "app", "ads", "--reason", "deploying", "--json"))
    assert (paused["name"], paused["app"], paused["reason"]) == ("app:ads", "ads", "deploying")
    operator("pause", "all")
    operator("pause", "host", "shop.test:443")
    assert [one["name"] for one in json_of(operator("pauses", "--json"))] == [
        "all",
        "app:ads",
        "host:shop.test:443",
    ]
    assert "app:ads goes on" in operator("resume", "app", "ads").output
    assert operator("resume", "app", "ads").exit_code == 1
    for wrong in (["all", "ads"], ["app"], ["timer"]):
        assert operator("pause", *wrong).exit_code == 2


def test_hosts_are_limited_listed_and_freed(operator: Run) -> None:
    limited = json_of(operator("hosts", "limit", "shop.test:443", "--calls-per-second", 9, "--json"))
    assert limited == {"host": "shop.test:443", "callsPerSecond": 9, "callsAtOnce": None}
    operator("hosts", "limit", "*", "--calls-at-once", 3)
    assert [one["host"] for one in json_of(operator("hosts", "list", "--json"))] == ["*", "shop.test:443"]
    assert "shop.test:443 has no limit" in operator("hosts", "free", "shop.test:443").output
    assert [one["host"] for one in json_of(operator("hosts", "list", "--json"))] == ["*"]
    assert operator("hosts", "limit", "shop.test:443").exit_code == 2


@pytest.mark.parametrize("command", ["load", "failing-hosts"])
def test_an_apps_key_sees_what_is_of_its_app(
    keyed: KeyedWorld, served: Served, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("WANGTIMER_KEY", keyed.key("shop"))
    monkeypatch.delenv("WANGTIMER_APP", raising=False)
    run = runner_of(served.url, "")
    assert json_of(run(command, "--json"))["items"] == []
    refused = run(command, "--all-apps")
    assert refused.exit_code == 1
    assert "lacks the scope load:read" in refused.stderr


def test_a_command_without_a_key_or_an_app_says_where_it_reads_them(
    keyed: KeyedWorld, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    operators = keyed.key(None)
    without = runner_of(served.url, "")("timers", "list")
    assert (without.exit_code, "WANGTIMER_KEY_FILE" in without.stderr) == (1, True)
    monkeypatch.setenv("WANGTIMER_KEY", operators)
    unnamed = runner_of(served.url, "")("timers", "delete", "7")
    assert (unnamed.exit_code, "--app shop" in unnamed.stderr) == (1, True)


def test_an_apps_retries_are_set_shown_and_taken_out(operator: Run, keyed: KeyedWorld) -> None:
    keyed.app_of("shop")
    set_ = operator("apps", "retry", "shop", "--attempts", 4, "--final-status", "404", "--json")
    assert json_of(set_)["retry"]["attempts"] == 4
    assert json_of(set_)["retry"]["finalStatuses"] == ["404"]
    shown = operator("apps", "show", "shop").output
    assert all(words in shown for words in ("attempts", "4", "final status", "404"))
    assert (
        json_of(operator("apps", "limit", "shop", "--calls-at-once", 3, "--json"))["retry"]["attempts"] == 4
    )
    assert json_of(operator("apps", "retry", "shop", "--clear", "--json"))["retry"] is None
    for wrong in ((), ("--clear", "--attempts", "4")):
        refused = operator("apps", "retry", "shop", *wrong)
        assert (refused.exit_code, "--attempts" in refused.stderr) == (2, True)
