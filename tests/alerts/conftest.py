"""A teller of alerts with a real engine and a real database."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from email import message_from_bytes
from email.message import Message
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.alerts.robots import Check, Robot, running
from tests.callback.calls import MachineClock, egress_of, engine_of
from tests.patience import Deadline
from tests.store.alert_worlds import AlertWorld
from wangtimer.callback import Limits
from wangtimer.callback.permits import Permits
from wangtimer.core.alerts.mail_server import MailServer
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret
from wangtimer.features.alerts.alert_teller import AlertTeller
from wangtimer.features.alerts.mailer import Mailer
from wangtimer.stack.ports import free_port
from wangtimer.store.seals import Seals
from wangtimer.store.sql.database import Database

DEADLINE_S = 10.0
SIGNING_KEY = b"k" * 24
SENDER = "alerts@wangtimer.example"
SEALS = Seals({"k1": b"s" * 32})


class SteeredClock(MachineClock):
    """This machine's clock, put forward by hand where a test is not to wait."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now_ms(self) -> float:
        return super().now_ms() + 1_000 * self.ahead_s


class Telling(AlertWorld):
    """A deployment's alerts, and tellers of them."""

    def __init__(self, database: Database, stack: ExitStack) -> None:
        super().__init__(database, SEALS)
        self.clock = SteeredClock()
        self.now = int(self.clock.now_ms())
        self.egress = egress_of()
        self.mailer: Mailer | None = None
        self.has_rules = True
        self.limits = Limits()
        self.permits: Permits | None = None
        self._stack = stack

    def teller(self) -> AlertTeller:
        """Return a teller with an engine of its own, as another process has it."""
        engine = engine_of(self.clock, self.egress, self.limits, permits=self.permits)
        engine.start()
        self._stack.callback(engine.stop, 1)
        secrets = (SigningSecret(1, SIGNING_KEY, 0, was_shown=True),)
        return AlertTeller(
            self.rules,
            self.messages,
            SimpleNamespace(present=lambda app, _now: AppSigning(app, 1, True, secrets)),
            engine,
            self.mailer,
            self.clock,
            lambda: self.has_rules,
            lambda _app: "",
        )

    def robot(self, check: Check) -> Robot:
        return self._stack.enter_context(running(check))

    def tell_until(self, teller: AlertTeller, is_true: Callable[[], bool]) -> None:
        """Let a teller work until something is true."""
        deadline = Deadline(DEADLINE_S)
        while True:
            teller.tell()
            if is_true():
                return
            assert not deadline.is_over, "it did not come true in time"
            time.sleep(0.01)

    def shown(self, name: str = "ops", app: str = "shop") -> Any:
        (found,) = [one for one in self.rules.page(app, "", 100) if one.name == name]
        return found


@pytest.fixture
def telling(mariadb_url: str) -> Iterator[Telling]:
    with closing(Database(mariadb_url, pool_size=4)) as database, ExitStack() as stack:
        database.create_tables()
        yield Telling(database, stack)


class Mailbox:
    """What a real mail server took. `refusals`: answers to the next recipients."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], str, Message]] = []
        self.refusals: list[str] = []
        # Else it hangs up without a farewell.
        self.says_goodbye = True
        # Before each recipient.
        self.pause_s = 0.0
        # Held while it takes no mail.
        self.is_open = Event()
        self.is_open.set()

    async def handle_QUIT(self, server: SMTP, _session: Session, _envelope: Envelope) -> str:  # noqa: N802
        if not self.says_goodbye:
            server.transport.abort()
        return "221 bye"

    async def handle_RCPT(  # noqa: N802 - as the server calls it
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        while not self.is_open.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(self.pause_s)
        if self.refusals:
            return self.refusals.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.mails.append((envelope.rcpt_tos, envelope.mail_from, message_from_bytes(envelope.content)))
        return "250 taken as 1"


@pytest.fixture
def mailbox(telling: Telling) -> Iterator[Mailbox]:
    """A mail server that the deployment sends through."""
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=free_port())
    controller.start()
    telling.mailer = Mailer(MailServer(controller.hostname, controller.port, SENDER), "")
    yield box
    controller.stop()
