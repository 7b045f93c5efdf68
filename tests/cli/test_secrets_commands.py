"""`wangtimer secrets`: makes keys, and encrypts all secrets anew."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from click.testing import CliRunner, Result
from orjson import loads
from redis import Redis

from tests.certificates import pair_of
from tests.store.plain_stores import plain_timers
from tests.store.test_timers import NOW, new
from wangtimer.cli.main import commands
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind
from wangtimer.core.egress.way_out import WAYS_OUT
from wangtimer.core.secret_keys import new_secret_key, read_secret_keys
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies
from wangtimer.store.replica import ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.ways_out import ClientCertificates, open_key
from wangtimer.testing.doubles import HandClock

OLD, NEW = new_secret_key("old"), new_secret_key("new")
CALL = Notify("http://a.example/", headers=(("Authorization", "sesame"),))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url, pool_size=2)) as database:
        database.create_tables()
        yield database


@pytest.fixture
def timer(database: Database) -> Timer:
    seals = Seals(read_secret_keys(OLD))
    return plain_timers(database, seals=seals).create(replace(new(), notify=CALL), NOW)


def run(*arguments: str, **settings: str) -> Result:
    environment = {f"WANGTIMER_{name.upper()}": value for name, value in settings.items()}
    return CliRunner(env={"WANGTIMER_SECRET_KEYS": None, **environment}).invoke(
        commands, ["secrets", *arguments]
    )


def test_a_key_is_one_line_for_the_file() -> None:
    done = run("key", "2027-01")
    assert (done.exit_code, list(read_secret_keys(done.stdout))) == (0, ["2027-01"])
    refused = run("key", "a b")
    assert (refused.exit_code, "KEY_ID" in refused.output) == (2, True)


def test_rotate_seals_anew_has_redis_forget_and_can_be_repeated(
    database: Database, timer: Timer, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{NEW}\n{OLD}\n")
    settings = {"database_url": database_url, "store_url": redis_url, "secret_keys_file": str(file)}
    signing = SigningStore(database, Seals(read_secret_keys(OLD))).needed(["shop"], NOW)["shop"]
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as redis:
        DefinitionStore(connection, Keys("wt"), HandClock(), 60, BadTimers()).put([timer.definition])
        done = run("rotate", **settings)
        assert (done.exit_code, done.stdout) == (
            0,
            "1 timers, 0 targets and the signing secrets of 1 apps written anew; key new encrypts\n",
        )
        assert redis.keys("*") == [b"wt:signing"]
        newest = Seals(read_secret_keys(NEW))
        assert SigningCopies(MarkedCopies(connection, Keys("wt")), newest).get(["shop"]).found == {
            "shop": signing
        }
    held = plain_timers(database).get("shop", timer.id)
    assert newest.call_of(held.definition) == CALL
    assert SigningStore(database, newest).get("shop") == signing
    assert run("rotate", **settings).stdout.startswith(
        "0 timers, 0 targets and the signing secrets of 0 apps"
    )


def test_what_rotate_cannot_open_is_named_and_the_exit_code_tells(
    database: Database, timer: Timer, database_url: str, redis_url: str
) -> None:
    SigningStore(database, Seals(read_secret_keys(OLD))).needed(["shop"], NOW)
    done = run("rotate", database_url=database_url, store_url=redis_url, secret_keys=NEW)
    assert done.exit_code == 1
    assert "not done: the signing secrets of app 'shop': this process has no key 'old'" in done.stderr
    assert (
        f"not done: the secrets of timer {timer.id} cannot be opened: this process has no key 'old'"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "WANGTIMER_SECRET_KEYS_FILE is not set"),
        ({"secret_keys": "sesame"}, "WANGTIMER_SECRET_KEYS: key 1 is not written"),
        ({"secret_keys_file": "/nowhere/keys"}, "WANGTIMER_SECRET_KEYS_FILE=/nowhere/keys: No such file"),
        ({"secret_keys": NEW, "secret_keys_file": "/nowhere/keys"}, "both set"),
        ({"secret_keys": NEW, "database_url": "sqlite:////nowhere/a.db"}, "there is no database"),
    ],
)
def test_rotate_says_which_setting_is_wrong(settings: dict[str, str], said: str) -> None:
    done = run("rotate", **settings)
    assert done.exit_code == 1
    assert said in done.stderr
    assert "sesame" not in done.output


def test_a_redis_that_is_away_is_told_of(timer: Timer, database_url: str) -> None:
    done = run(
        "rotate", database_url=database_url, store_url="redis://127.0.0.1:1/0", secret_keys=f"{NEW},{OLD}"
    )
    assert (done.exit_code, "Redis is away" in done.stderr) == (1, True)


def test_rotate_seals_keys_of_client_certificates_and_tells_processes(
    database: Database, database_url: str, redis_url: str
) -> None:
    pair = pair_of(trustme.CA(), "shop")
    was = ClientCertificates(database, Seals(read_secret_keys(OLD)))
    was.put("shop", pair.chain, pair.key, NOW, NOW)
    settings = {"database_url": database_url, "store_url": redis_url, "secret_keys": f"{NEW},{OLD}"}
    done = run("rotate", **settings)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (
        0,
        "the keys of 1 client certificates written anew",
    )
    with closing(RedisConnection(redis_url)) as connection:
        (text,) = ReplicaTexts(connection, Keys("wt")).read([WAYS_OUT.name])
    assert text is not None
    told = WAYS_OUT.from_json(loads(text))
    assert open_key(Seals(read_secret_keys(NEW)), told.of_apps["shop"].sealed_key, "shop") == pair.key
    assert "client certificates" not in run("rotate", **settings).stdout


def test_a_client_certificate_whose_key_is_missing_is_named(
    database: Database, database_url: str, redis_url: str
) -> None:
    pair = pair_of(trustme.CA(), "shop")
    ClientCertificates(database, Seals(read_secret_keys(OLD))).put("shop", pair.chain, pair.key, NOW, NOW)
    done = run("rotate", database_url=database_url, store_url=redis_url, secret_keys=NEW)
    assert done.exit_code == 1
    assert "the key of the client certificate of app 'shop': this process has no key 'old'" in done.stderr


def test_rotate_seals_where_alerts_go_and_names_a_rule_whose_key_is_missing(
    database: Database, database_url: str, redis_url: str
) -> None:
    robot = Destination(DestinationKind.SLACK, "http://127.0.0.1:9/sesame")
    rule = AlertRule("shop", "ops", frozenset([AlertEvent.MISSED]), robot)
    AlertRuleStore(database, Seals(read_secret_keys(OLD))).put("shop", "ops", lambda _held: rule, NOW)
    settings = {"database_url": database_url, "store_url": redis_url}
    refused = run("rotate", **settings, secret_keys=NEW)
    assert refused.exit_code == 1
    assert "not done: alert rule 'ops' of app 'shop': " in refused.stderr
    done = run("rotate", **settings, secret_keys=f"{NEW},{OLD}")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (
        0,
        "where the messages of 1 alert rules go written anew",
    )
    held = AlertRuleStore(database, Seals(read_secret_keys(NEW))).get("shop", "ops")
    assert held is not None
    assert held.destination == robot
    assert "alert rules" not in run("rotate", **settings, secret_keys=f"{NEW},{OLD}").stdout
