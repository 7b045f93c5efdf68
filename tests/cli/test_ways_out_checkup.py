"""`wangtimer doctor` tries the mail server, the message brokers and the stream of consumers, and sends nothing."""

import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import redis
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from click.testing import CliRunner, Result

from tests.certificates import pem_of
from tests.messaging.amqp_broker import ScriptedBroker
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.base.settings import Settings
from wangtimer.cli.doctor.doctor import doctor
from wangtimer.cli.doctor.findings import Finding, Severity
from wangtimer.cli.doctor.ways_out_checkups import check_mail, check_named_brokers, check_stream
from wangtimer.core.messages.message_place import consumers_place
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Notify
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.target_store import TargetStore

SENDER = "alerts@wangtimer.example"
RIGHT = '[[broker.allow]]\napp = "shop"\nlists = ["shop:*"]\n'


def said(findings: Iterator[Finding]) -> list[tuple[Severity, str]]:
    return [(one.severity, one.text) for one in findings]


def the_one(findings: Iterator[Finding]) -> Finding:
    (finding,) = findings
    return finding


# Mail


class Mailbox:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.mails: list[Message | bytes | None] = []

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.mails.append(envelope.original_content)
        return "250 taken"


def takes_right_password(
    _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, given: Any
) -> AuthResult:
    assert isinstance(given, LoginPassword)
    return AuthResult(success=given.password == b"right", handled=False)


@pytest.fixture
def mail_place(tmp_path: Path) -> Iterator[tuple[str, Path, Mailbox]]:
    """A mail server that wants TLS and a password: its host and port, who vouches for it, and what it was sent."""
    authority, box = trustme.CA(), Mailbox()
    (tmp_path / "ca.pem").write_text(pem_of(authority))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    controller = Controller(
        box,
        hostname="localhost",
        port=free_port(),
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=takes_right_password,
    )
    controller.start()
    yield f"localhost:{controller.port}", tmp_path / "ca.pem", box
    controller.stop()


def mail_settings(place: str, authority: Path | None, password: str = "right") -> Settings:
    url: Any = f"smtp+starttls://us:{password}@{place}"
    return Settings(smtp_url=url, smtp_sender=SENDER, callback_ca_file=authority)


def test_a_mail_server_that_takes_our_password_is_well_and_is_sent_nothing(
    mail_place: tuple[str, Path, Mailbox],
) -> None:
    place, authority, box = mail_place
    assert said(check_mail(mail_settings(place, authority))) == [
        (Severity.OK, f"{place} answers, and takes our password")
    ]
    assert box.mails == []


def test_a_password_a_certificate_or_a_port_that_is_wrong_is_an_error_with_its_mend(
    mail_place: tuple[str, Path, Mailbox],
) -> None:
    place, authority, _ = mail_place
    wrong = {
        "535": mail_settings(place, authority, password="wrong"),
        "certificate verify failed": mail_settings(place, None),
        "refused": mail_settings(f"localhost:{free_port()}", authority),
    }
    for word, settings in wrong.items():
        finding = the_one(check_mail(settings))
        assert (finding.severity, word in finding.text) == (Severity.ERROR, True), finding
        assert "WANGTIMER_SMTP_URL" in finding.mend
        assert "\n" not in finding.text


def test_where_only_the_sender_is_known_it_says_who_knows_the_server() -> None:
    finding = the_one(check_mail(Settings(smtp_sender=SENDER)))
    assert (finding.severity, "doctor --ways-out" in finding.text) == (Severity.OK, True)
    assert list(check_mail(Settings())) == []


# Message brokers


@pytest.fixture
def queue_redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(redis_program(), tmp_path) as server:
        yield server


def broker_settings(tmp_path: Path, url: str, rights: str = RIGHT, **more: Any) -> Settings:
    file = tmp_path / "brokers.toml"
    file.write_text(f'[[broker]]\nname = "orders"\nurl = "{url}"\n{rights}')
    return Settings(brokers_file=file, egress="public", callback_connect_timeout_ms=1_000, **more)


def test_a_broker_that_takes_us_is_well(tmp_path: Path, queue_redis: RedisServer) -> None:
    found = said(check_named_brokers(broker_settings(tmp_path, queue_redis.url()), is_way_out=True))
    assert found == [(Severity.OK, "orders (redis) answers, and takes our account")]
    with ScriptedBroker(lambda *_: None) as rabbit:
        found = said(check_named_brokers(broker_settings(tmp_path, rabbit.url), is_way_out=True))
        assert found == [(Severity.OK, "orders (amqp) answers, and takes our account")]
        assert rabbit.published == []


def test_a_broker_that_kombu_asks_nothing_before_the_first_message_is_said_to_be_set_up(
    tmp_path: Path,
) -> None:
    url = f"sqla+sqlite:///{tmp_path}/missing/queues.db"
    found = said(check_named_brokers(broker_settings(tmp_path, url), is_way_out=True))
    told = "orders (sqla+sqlite) is set up; whether it answers, the first message shows"
    assert found == [(Severity.OK, told)]


def test_a_broker_that_nobody_may_send_to_is_a_warning(tmp_path: Path, queue_redis: RedisServer) -> None:
    findings = check_named_brokers(broker_settings(tmp_path, queue_redis.url(), rights=""), is_way_out=True)
    assert [one.severity for one in findings] == [Severity.OK, Severity.WARNING]


def test_a_broker_that_refuses_our_password_is_an_error_wherever_one_looks(
    tmp_path: Path, queue_redis: RedisServer
) -> None:
    with closing(redis.Redis.from_url(queue_redis.url())) as client:
        client.config_set("requirepass", "right")
    url = queue_redis.url().replace("redis://", "redis://:hush@")
    for is_way_out in (True, False):
        finding = the_one(check_named_brokers(broker_settings(tmp_path, url), is_way_out=is_way_out))
        assert finding.severity is Severity.ERROR
        assert finding.text == "orders: could not connect to the broker: AuthenticationError"
        assert "look at user, password" in finding.mend
        assert "hush" not in str(finding)


def test_a_broker_out_of_reach_is_an_error_where_messages_leave_and_a_warning_elsewhere(
    tmp_path: Path,
) -> None:
    settings = broker_settings(tmp_path, f"amqp://us:hush@127.0.0.1:{free_port()}/shop")
    there = the_one(check_named_brokers(settings, is_way_out=True))
    here = the_one(check_named_brokers(settings, is_way_out=False))
    assert (there.severity, here.severity) == (Severity.ERROR, Severity.WARNING)
    assert there.text == here.text == "orders: it cannot be reached from here: connection refused"
    assert "doctor --ways-out" in here.mend


def test_a_broker_that_is_one_of_our_own_servers_is_an_error(
    tmp_path: Path, queue_redis: RedisServer
) -> None:
    settings = broker_settings(tmp_path, queue_redis.url(), store_url=queue_redis.url())
    finding = the_one(check_named_brokers(settings, is_way_out=True))
    assert (finding.severity, "one of WangTimer's own" in finding.mend) == (Severity.ERROR, True)


def test_brokers_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    finding = the_one(check_named_brokers(Settings(brokers_file=tmp_path / "none"), is_way_out=False))
    assert (finding.severity, "No such file" in finding.text) == (Severity.ERROR, True)
    assert list(check_named_brokers(Settings(), is_way_out=True)) == []


def test_the_ways_out_can_be_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(**variables: str) -> Result:
        for name, value in variables.items():
            monkeypatch.setenv(f"WANGTIMER_{name.upper()}", value)
        return CliRunner().invoke(doctor, ["--ways-out", "--json"])

    nothing = tried()
    assert (nothing.exit_code, [one["severity"] for one in json.loads(nothing.stdout)]) == (0, ["ok"])
    half = tried(smtp_sender=SENDER)
    assert (half.exit_code, half.stdout) == (1, "")
    assert "WANGTIMER_SMTP_SENDER is set and WANGTIMER_SMTP_URL is not" in half.stderr
    away = tried(smtp_url=f"smtp://127.0.0.1:{free_port()}")
    assert (away.exit_code, [one["part"] for one in json.loads(away.stdout)]) == (1, ["mail"])


# The stream


def test_a_stream_is_missed_only_where_a_target_is_for_consumers(redis_url: str, sqlite_url: str) -> None:
    settings = Settings(store_url=redis_url, database_url=sqlite_url)
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
        assert said(check_stream(settings)) == [
            (Severity.OK, "no stream process listens, and no target is for consumers")
        ]
        call = Notify(consumers_place("workers").url, "")
        made = NamedTarget("shop", "jobs", 0, call)
        TargetStore(database, NO_KEYS).change("shop", "jobs", lambda _was: made, 1_000)
    finding = the_one(check_stream(settings))
    assert (finding.severity, "target jobs of app shop" in finding.text) == (Severity.ERROR, True)
    assert "python -m wangtimer.stream" in finding.mend
    with closing(redis.Redis.from_url(redis_url)) as client, closing(client.pubsub()) as listening:
        listening.subscribe(Keys(settings.key_prefix).consumers_came)
        assert listening.get_message(timeout=5) is not None
        assert said(check_stream(settings)) == [(Severity.OK, "stream processes that listen: 1")]


def test_an_account_that_may_not_ask_for_the_stream_is_told_what_it_lacks(
    queue_redis: RedisServer, sqlite_url: str
) -> None:
    with closing(redis.Redis.from_url(queue_redis.url())) as client:
        client.execute_command("ACL", "SETUSER", "web", "on", ">pw", "~*", "+@all", "-pubsub")
    url = queue_redis.url().replace("redis://", "redis://web:pw@")
    finding = the_one(check_stream(Settings(store_url=url, database_url=sqlite_url)))
    assert (finding.severity, "make-accounts" in finding.mend) == (Severity.WARNING, True)
