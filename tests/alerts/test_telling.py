"""Alerts come as each protocol wants them, are tried again, and end with the rule, never with another alert."""

import email.header
import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread, Timer

import pytest
import trustme
from sqlalchemy import select, text
from standardwebhooks import Webhook

from tests.alerts import robots
from tests.alerts.conftest import DEADLINE_S, SENDER, SIGNING_KEY, Mailbox, Telling
from tests.alerts.robots import SECRET, TOKEN, Check, Got, Said
from tests.callback.calls import egress_of
from tests.certificates import pem_of
from tests.docs.blocks import ROOT, blocks
from tests.store.alert_worlds import FAILED, HOST, NOW, SUCCEEDED, Statements, rule
from wangtimer.callback import Limits
from wangtimer.callback.egress import REFUSED
from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.alerts.alert_rule import AlertEvent, Destination, DestinationKind
from wangtimer.core.alerts.mail_server import MailServer
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.signing.signing_secret import SigningSecret
from wangtimer.features.alerts.alert_teller import (
    HELD_MS,
    LONGEST_WAIT_MS,
    MOST_AT_ONCE,
    MOST_MAILS,
    MOST_OF_APP,
    NOT_TRIED_PAUSE_MS,
    PAUSES_S,
)
from wangtimer.features.alerts.mailer import Mailer, MailNotTaken
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.tables import alert_messages, alert_notes, alert_rules
from wangtimer.testing.doubles import NoLimits

FIRST, FOR_GOOD, RECOVERED = AlertEvent.FIRST_FAILURE, AlertEvent.FAILED_FOR_GOOD, AlertEvent.RECOVERED
KINDS = DestinationKind

# Where each robot is called, and what it checks.
ROBOTS: dict[DestinationKind, tuple[str, str, Check]] = {
    KINDS.DINGTALK: (f"/robot/send?access_token={TOKEN}", SECRET, robots.dingtalk),
    KINDS.WECOM: (f"/cgi-bin/webhook/send?key={TOKEN}", "", robots.wecom),
    KINDS.FEISHU: (f"/open-apis/bot/v2/hook/{TOKEN}", SECRET, robots.feishu),
    KINDS.SLACK: (f"/services/T0/B0/{TOKEN}", "", robots.slack),
}


def alerted(telling: Telling, destination: Destination, name: str = "bill", *events: AlertEvent) -> int:
    """Make a rule, let a timer's firing fail for good, and judge it; return the timer."""
    telling.put(rule("ops", "shop", *(events or (FOR_GOOD,)), destination=destination))
    timer_id = telling.timer(name)
    telling.fire(timer_id, 0, FAILED, error="HTTP 503: <gone> & away", http_status=503)
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    return timer_id


def webhook_of(telling: Telling, check: Check = robots.webhook) -> tuple[robots.Robot, Destination]:
    robot = telling.robot(check)
    return robot, Destination(KINDS.WEBHOOK, f"{robot.url}/alerts")


# formats


@pytest.mark.parametrize("kind", ROBOTS)
def test_each_robot_takes_what_is_told_by_the_rules_of_its_vendor(
    telling: Telling, kind: DestinationKind
) -> None:
    path, secret, check = ROBOTS[kind]
    robot = telling.robot(check)
    alerted(telling, Destination(kind, robot.url + path, secret), "bill <1> & co")
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    (got,) = robot.taken
    said = json.dumps(got.fields, ensure_ascii=False)
    assert "a firing failed for good" in said
    assert "ops of shop" in said
    assert telling.shown().error == ""


@pytest.mark.parametrize("kind", [KINDS.DINGTALK, KINDS.FEISHU])
def test_a_wrong_secret_of_a_robot_is_seen_although_it_answers_200(
    telling: Telling, kind: DestinationKind
) -> None:
    path, _, check = ROBOTS[kind]
    robot = telling.robot(check)
    alerted(telling, Destination(kind, robot.url + path, "another"))
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert "sign" in telling.shown().error
    assert telling.shown().told_at is None
    assert robot.taken == []


@pytest.mark.parametrize("kind", ROBOTS)
def test_a_message_of_very_many_alerts_still_has_room_in_each_robot(
    telling: Telling, kind: DestinationKind
) -> None:
    path, secret, check = ROBOTS[kind]
    robot = telling.robot(check)
    telling.put(rule("ops", "shop", FOR_GOOD, destination=Destination(kind, robot.url + path, secret)))
    for number in range(50):
        telling.fire(telling.timer(f"{number}" + "账单" * 60), 0, FAILED, error="错" * 200)
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert len(robot.taken) == 1


def test_a_webhook_is_signed_as_callbacks_are_and_says_all_there_is(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    timer_id = alerted(telling, to)
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    (got,) = robot.got
    secret = SigningSecret(1, SIGNING_KEY, 0).text
    Webhook(secret).verify(got.body, dict(got.headers))
    assert got.headers["x-wangtimer-app"] == "shop"
    assert got.fields["type"] == "wangtimer.alert"
    data = got.fields["data"]
    assert (data["app"], data["rule"], data["more"]) == ("shop", "ops", 0)
    (alert,) = data["alerts"]
    assert alert["event"] == "failed_for_good"
    assert (alert["timerId"], alert["timer"]) == (str(timer_id), "bill")
    assert (alert["times"], alert["httpStatus"]) == (1, 503)
    assert (alert["host"], alert["target"]) == (HOST, None)
    assert alert["firingId"] == f"{timer_id}-{NOW}"
    assert (alert["timers"], alert["lastFiringIds"]) == (1, [alert["firingId"]])
    assert alert["error"] == "HTTP 503: <gone> & away"


@pytest.mark.parametrize(
    "page", ["docs/how-to/be-told-of-failures.md", "docs/zh/how-to/be-told-of-failures.md"]
)
def test_the_page_shows_a_webhook_as_it_comes(telling: Telling, page: str) -> None:
    robot, to = webhook_of(telling)
    alerted(telling, to)
    telling.tell_until(telling.teller(), lambda: len(robot.got) == 1)
    (shown,) = [json.loads(one.text) for one in blocks(ROOT / page) if '"wangtimer.alert"' in one.text]
    assert _shape(shown) == _shape(robot.got[0].fields)


def _shape(value: object) -> object:
    """Return the names of all fields, in their order, without their values."""
    if isinstance(value, dict):
        return {name: _shape(one) for name, one in value.items()}
    return [_shape(one) for one in value] if isinstance(value, list) else None


def test_mail_comes_through_a_real_server_to_all_its_addresses(telling: Telling, mailbox: Mailbox) -> None:
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example", "boss@shop.example")), "账单")
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    ((to, sender, mail),) = mailbox.mails
    assert to == ["ops@shop.example", "boss@shop.example"]
    assert sender == SENDER
    assert (
        str(email.header.make_header(email.header.decode_header(mail["Subject"]))) == "WangTimer: ops of shop"
    )
    assert mail["Auto-Submitted"] == "auto-generated"
    content = mail.get_payload(decode=True).decode()
    assert "账单: a firing failed for good" in content


def test_mail_that_waited_too_long_is_left_to_others(
    telling: Telling, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time its turn comes another process may have sent it."""
    monkeypatch.setattr("wangtimer.features.alerts.alert_teller.SENT_WITHIN_S", 0.0)
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example",)))
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert telling.shown().error == "it waited too long for other mail"
    assert mailbox.mails == []


def test_mail_that_the_server_refuses_is_tried_again_under_the_same_id(
    telling: Telling, mailbox: Mailbox
) -> None:
    mailbox.refusals.append("450 try later")
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example",)))
    teller = telling.teller()
    telling.tell_until(teller, lambda: telling.shown().error != "")
    assert telling.shown().error == "the mail server refused ops@shop.example: 450 try later"
    telling.clock.ahead_s += PAUSES_S[0]
    telling.tell_until(teller, lambda: telling.shown().told_at is not None)
    assert len(mailbox.mails) == 1
    assert telling.shown().error == ""


def test_a_process_without_a_mail_server_leaves_mail_to_one_that_has_one(
    telling: Telling, mailbox: Mailbox
) -> None:
    mailer, telling.mailer = telling.mailer, None
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example",)))
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert telling.shown().error == "this process has no mail server (WANGTIMER_SMTP_URL)"
    telling.mailer = mailer
    telling.clock.ahead_s += NOT_TRIED_PAUSE_MS / 1_000
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert len(mailbox.mails) == 1


def test_a_mail_that_was_taken_is_not_sent_again_whatever_the_server_says_then(
    telling: Telling, mailbox: Mailbox
) -> None:
    mailbox.says_goodbye = False
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example",)))
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert len(mailbox.mails) == 1
    assert left(telling) == 0


def test_a_mail_that_some_addresses_refuse_is_told_and_the_rule_shows_who_did_not_get_it(
    telling: Telling, mailbox: Mailbox
) -> None:
    mailbox.refusals.append("550 no such user")
    alerted(telling, Destination(KINDS.MAIL, to=("gone@shop.example", "ops@shop.example")))
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert [to for to, _, _ in mailbox.mails] == [["ops@shop.example"]]
    assert telling.shown().error == "taken, but not for gone@shop.example: 550 no such user"
    assert left(telling) == 0


def test_a_mail_server_that_is_slow_at_each_step_is_left_after_a_minute_in_all(
    telling: Telling, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.features.alerts.mailer.LONGEST_S", 0.5)
    mailbox.pause_s = 0.3
    addresses = tuple(f"ops{number}@shop.example" for number in range(10))
    alerted(telling, Destination(KINDS.MAIL, to=addresses))
    began_at = time.monotonic()
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert time.monotonic() - began_at < 3
    assert telling.shown().error.startswith("the mail server took longer than")
    assert mailbox.mails == []


def test_a_mail_server_whose_greeting_has_no_end_is_left_after_a_minute_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wangtimer.features.alerts.mailer.LONGEST_S", 0.5)
    done = Event()

    def greet(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while not done.wait(0.1):
                connection.sendall(b"220-please wait\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        greeting = Thread(target=lambda: greet(server.accept()[0]))
        greeting.start()
        halting = Timer(DEADLINE_S, done.set)
        halting.start()
        mailer = Mailer(MailServer("127.0.0.1", server.getsockname()[1], SENDER), "")
        with pytest.raises(MailNotTaken, match="took longer than"):
            mailer.send(["ops@shop.example"], "subject", "text", "id", 0)
        assert not done.is_set()
        done.set()
        halting.cancel()
        greeting.join()


@pytest.mark.parametrize("name", ["localhost", "other.example"])
def test_a_mail_server_over_tls_is_to_have_the_certificate_of_its_name(name: str) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = Thread(target=_answer_over_tls, args=(server, context))
        answering.start()
        place = MailServer("localhost", server.getsockname()[1], SENDER, is_tls=True)
        word = "443 so far" if name == "localhost" else "certificate verify failed"
        with pytest.raises(MailNotTaken, match=word):
            Mailer(place, pem_of(authority)).log_in()
        answering.join()


def _answer_over_tls(server: socket.socket, context: ssl.SSLContext) -> None:
    with suppress(OSError), context.wrap_socket(server.accept()[0], server_side=True) as connection:
        connection.sendall(b"443 so far\r\n")


def test_a_mail_server_that_hangs_holds_up_no_webhook(
    telling: Telling, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.features.alerts.mailer.TIMEOUT_S", 60.0)
    mailbox.is_open.clear()
    for number in range(MOST_AT_ONCE):
        to = Destination(KINDS.MAIL, to=("ops@shop.example",))
        telling.put(rule("ops", f"app{number}", FOR_GOOD, destination=to))
        telling.fire(telling.timer("bill", f"app{number}"), 0, FAILED, app=f"app{number}")
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    robot, to = webhook_of(telling)
    teller = telling.teller()
    teller.tell()
    alerted(telling, to)
    telling.tell_until(teller, lambda: len(robot.got) == 1)
    assert mailbox.mails == []
    mailbox.is_open.set()


def test_an_app_whose_mail_hangs_leaves_room_for_the_mail_of_others(
    telling: Telling, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.features.alerts.alert_teller.MAIL_THREADS", MOST_MAILS)
    to = Destination(KINDS.MAIL, to=("ops@shop.example",))
    for number in range(MOST_OF_APP):
        telling.put(rule(f"r{number}", "big", FOR_GOOD, destination=to))
        assert telling.messages.ask_test("big", f"r{number}", telling.now) is not None
    mailbox.is_open.clear()
    teller = telling.teller()
    teller.tell()
    mailbox.is_open.set()
    telling.put(rule("ops", "shop", FOR_GOOD, destination=to))
    number = telling.messages.ask_test("shop", "ops", telling.now)
    telling.tell_until(teller, lambda: telling.messages.answer_of(number) is not None)
    assert json.loads(telling.messages.answer_of(number) or "")["is_taken"] is True
    telling.tell_until(teller, lambda: len(mailbox.mails) == 1 + MOST_MAILS // 2)


@pytest.mark.parametrize("kind", [KINDS.DINGTALK, KINDS.FEISHU, KINDS.SLACK])
def test_what_a_robot_repeats_of_its_url_is_shown_to_nobody(telling: Telling, kind: DestinationKind) -> None:
    path, secret, check = ROBOTS[kind]
    robot = telling.robot(check)
    robot.refusals.append(Said(400, f"no such robot: {path} {secret}"))
    alerted(telling, Destination(kind, f"{robot.url}{path}", secret))
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert TOKEN not in telling.shown().error
    assert SECRET not in telling.shown().error


def test_without_a_mail_server_the_rule_says_so(telling: Telling) -> None:
    alerted(telling, Destination(KINDS.MAIL, to=("ops@shop.example",)))
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert "WANGTIMER_SMTP_URL" in telling.shown().error
    assert left(telling) == 1
    telling.clock.ahead_s += (LONGEST_WAIT_MS + NOT_TRIED_PAUSE_MS) / 1_000
    telling.tell_until(telling.teller(), lambda: left(telling) == 0)
    assert telling.shown().error.startswith("given up: ")


@pytest.mark.parametrize("kind", ROBOTS)
def test_what_a_robot_answers_is_read_however_little_is_kept_of_targets_answers(
    telling: Telling, kind: DestinationKind
) -> None:
    telling.limits = Limits(excerpt_bytes=10)
    path, secret, check = ROBOTS[kind]
    robot = telling.robot(check)
    alerted(telling, Destination(kind, robot.url + path, secret))
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert (len(robot.got), telling.shown().error) == (1, "")


# shares of apps


def test_an_app_with_many_messages_leaves_room_for_others(telling: Telling) -> None:
    """All of its destinations hang; the other app's message is due after all of its."""
    is_open = Event()

    def hanging(_got: Got) -> Said:
        is_open.wait(30)
        return Said(200, "")

    slow, (quick, to) = telling.robot(hanging), webhook_of(telling)
    for number in range(20):
        hook = Destination(KINDS.WEBHOOK, f"{slow.url}/{number}")
        telling.put(rule(f"r{number}", "big", FOR_GOOD, destination=hook))
    telling.fire(telling.timer("bill", "big"), 0, FAILED, app="big")
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    telling.put(rule("ops", "shop", FOR_GOOD, destination=to))
    telling.fire(telling.timer(), 0, FAILED)
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    now = int(telling.clock.now_ms())
    (one,) = telling.messages.take(1, now, now, lambda app: 0 if app == "big" else MOST_OF_APP)
    assert one.message.app == "shop"
    taken = telling.messages.take(10, now, now + 1, lambda _app: MOST_OF_APP)
    assert sorted(one.message.app for one in taken) == ["big"] * MOST_OF_APP + ["shop"]
    telling.clock.ahead_s += 1
    telling.tell_until(telling.teller(), lambda: len(quick.got) == 1)
    assert len(slow.got) <= MOST_OF_APP
    is_open.set()


class Full(NoLimits):
    """A limit that leaves no call; it may be paused, too."""

    is_paused = False

    def may_begin(self, *_: object) -> bool:
        return False

    def is_open(self, _app: str, _host: str) -> bool:
        return not self.is_paused

    def ask(
        self,
        app: str,
        _host: str,
        _has_waited: bool,
        _held: tuple[Permit, ...],
        _longest_ms: int,
        answer: Callable[[PermitAnswer], None],
    ) -> None:
        answer(SharedLane.of_limit(app))


def test_firings_that_wait_for_the_apps_limit_hold_up_no_alert(telling: Telling) -> None:
    telling.permits = Full()
    robot, to = webhook_of(telling)
    alerted(telling, to)
    telling.tell_until(telling.teller(), lambda: telling.shown().told_at is not None)
    assert len(robot.taken) == 1


def test_alerts_of_a_paused_app_wait(telling: Telling) -> None:
    telling.permits = full = Full()
    full.is_paused = True
    robot, to = webhook_of(telling)
    alerted(telling, to)
    teller = telling.teller()
    telling.tell_until(teller, lambda: "have to wait" in telling.shown().error)
    assert robot.got == []
    full.is_paused = False
    telling.clock.ahead_s += NOT_TRIED_PAUSE_MS / 1_000
    telling.tell_until(teller, lambda: len(robot.taken) == 1)


def test_where_sql_goes_away_amid_messages_none_of_them_is_lost_for_its_lease(
    telling: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, to = webhook_of(telling)
    for number in range(5):
        telling.put(rule(f"r{number}", "shop", FOR_GOOD, destination=to))
    telling.fire(telling.timer(), 0, FAILED)
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    teller = telling.teller()
    with monkeypatch.context() as patched:
        patched.setattr(telling.rules, "get", _away)
        with pytest.raises(StoreAway):
            teller.tell()
    telling.tell_until(teller, lambda: not _is_taken(telling))
    telling.clock.ahead_s += 15
    telling.tell_until(teller, lambda: len(robot.got) == 5)


def _away(*_: object) -> None:
    raise StoreAway("SQL", "it does not answer")


# repeats, deaths and ends


def test_who_held_a_message_for_too_long_ends_nothing(telling: Telling) -> None:
    _, to = webhook_of(telling)
    alerted(telling, to)
    now = int(telling.clock.now_ms())
    (slow,) = telling.messages.take(1, now, now + HELD_MS)
    (other,) = telling.messages.take(1, now + HELD_MS, now + 2 * HELD_MS)
    telling.messages.end(slow, now, "given up: HTTP 500")
    assert (left(telling), telling.shown().error) == (1, "")
    telling.messages.end(other, now)
    assert (left(telling), telling.shown().told_at) == (0, now)


def test_how_a_message_ended_is_written_once_no_judge_is_at_its_rule(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    alerted(telling, to)
    telling.clock.ahead_s += 10
    teller = telling.teller()
    with telling.database.engine.connect() as judge, judge.begin():
        judge.execute(select(alert_rules).with_for_update()).all()
        telling.tell_until(teller, lambda: len(robot.taken) == 1)
        ends_at = time.monotonic() + 1
        while time.monotonic() < ends_at:
            teller.tell()
        assert telling.shown().told_at is None
    telling.tell_until(teller, lambda: telling.shown().told_at is not None)
    assert len(robot.taken) == 1


def test_what_is_open_is_told_again_where_the_rule_has_another_destination(telling: Telling) -> None:
    wrong, to = webhook_of(telling)
    timer_id = alerted(telling, to)
    teller = telling.teller()
    telling.tell_until(teller, lambda: telling.shown().told_at is not None)
    right, mended = webhook_of(telling)
    telling.put(rule("ops", "shop", FOR_GOOD, destination=mended))
    telling.clock.ahead_s += 20
    telling.tell_until(teller, lambda: len(right.got) == 1)
    (alert,) = right.got[0].fields["data"]["alerts"]
    assert (alert["event"], alert["timerId"]) == ("failed_for_good", str(timer_id))
    telling.put(rule("ops", "shop", FOR_GOOD, FIRST, destination=mended))
    telling.clock.ahead_s += 20
    teller.tell()
    assert (len(wrong.got), len(right.got), left(telling)) == (1, 1, 0)


def test_what_a_wrong_url_never_took_goes_to_the_new_one_at_once_and_once(telling: Telling) -> None:
    wrong, to = webhook_of(telling)
    wrong.refusals += [Said(404, "")] * 20
    alerted(telling, to)
    teller = telling.teller()
    for number, pause_s in enumerate(PAUSES_S[:3], 1):
        telling.tell_until(teller, lambda number=number: len(wrong.got) == number)
        telling.tell_until(teller, lambda: not _is_taken(telling))
        telling.clock.ahead_s += pause_s if number < 3 else 0
    right, mended = webhook_of(telling)
    telling.now = int(telling.clock.now_ms())
    telling.put(rule("ops", "shop", FOR_GOOD, destination=mended))
    telling.tell_until(teller, lambda: len(right.got) == 1)
    telling.tell_until(teller, lambda: left(telling) == 0)
    assert (len(wrong.got), len(right.got)) == (3, 1)


def test_the_new_destination_of_a_rule_has_all_attempts_before_it(telling: Telling) -> None:
    wrong, to = webhook_of(telling)
    wrong.refusals += [Said(404, "")] * 20
    alerted(telling, to)
    teller = telling.teller()
    telling.tell_until(teller, lambda: len(wrong.got) == 1)
    telling.tell_until(teller, lambda: not _is_taken(telling))
    right, mended = webhook_of(telling)
    right.refusals += [Said(500, "")] * 20
    telling.now = int(telling.clock.now_ms())
    telling.put(rule("ops", "shop", FOR_GOOD, destination=mended))
    for number in range(1, len(PAUSES_S) + 2):
        telling.tell_until(teller, lambda number=number: len(right.got) == number)
        telling.tell_until(teller, lambda: not _is_taken(telling))
        telling.clock.ahead_s += 7_200
    assert left(telling) == 0


def left(telling: Telling) -> int:
    query = select(alert_messages.c.id)
    return len(telling.database.read(lambda sql: sql.execute(query).all()))


def test_what_is_not_taken_is_tried_again_as_the_same_message(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    robot.refusals += [Said(500, ""), Said(503, "")]
    alerted(telling, to)
    teller = telling.teller()
    for number, pause_s in enumerate(PAUSES_S[:2], 1):
        telling.tell_until(teller, lambda number=number: len(robot.got) == number)
        telling.tell_until(teller, lambda: telling.shown().error != "")
        teller.tell()
        assert len(robot.got) == number
        telling.clock.ahead_s += pause_s
    telling.tell_until(teller, lambda: telling.shown().told_at is not None)
    assert len({(one.headers["webhook-id"], one.body) for one in robot.got}) == 1
    assert len(robot.got) == 3


def test_it_is_given_up_after_its_attempts_and_no_alert_comes_of_it(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    robot.refusals += [Said(500, "")] * 20
    alerted(telling, to)
    teller = telling.teller()
    for number in range(1, len(PAUSES_S) + 2):
        telling.tell_until(teller, lambda number=number: len(robot.got) == number)
        telling.tell_until(teller, lambda number=number: not _is_taken(telling))
        telling.clock.ahead_s += 7_200
    assert telling.shown().error == "given up: HTTP 500"
    assert left(telling) == 0
    query = select(alert_notes)
    assert telling.database.read(lambda sql: sql.execute(query).all()) == []


def _is_taken(telling: Telling) -> bool:
    query = select(alert_messages.c.taken_until).where(alert_messages.c.taken_until > 0)
    return bool(telling.database.read(lambda sql: sql.execute(query).all()))


def test_a_process_that_dies_between_judging_and_sending_costs_one_more_send_at_most(
    telling: Telling,
) -> None:
    robot, to = webhook_of(telling)
    alerted(telling, to)
    # This process took it, and died before it could send; the next one sent it, and died before it could say so.
    now = int(telling.clock.now_ms())
    assert len(telling.messages.take(10, now, now + HELD_MS)) == 1
    telling.clock.ahead_s += HELD_MS / 1_000 + 1
    dying = telling.teller()
    dying.tell()
    ends = telling.teller()
    telling.tell_until(ends, lambda: len(robot.got) == 1)
    telling.clock.ahead_s += HELD_MS / 1_000 + 1
    telling.tell_until(ends, lambda: telling.shown().told_at is not None)
    assert len(robot.got) == 2
    assert len({(one.headers["webhook-id"], one.body) for one in robot.got}) == 1


def test_many_tellers_send_each_message_once(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    for number in range(10):
        telling.put(rule(f"r{number}", "shop", FOR_GOOD, destination=to))
    telling.fire(telling.timer(), 0, FAILED)
    telling.now = int(telling.clock.now_ms())
    telling.judge()
    tellers = [telling.teller() for _ in range(3)]

    def all_are_told() -> bool:
        for one in tellers[1:]:
            one.tell()
        return left(telling) == 0

    telling.tell_until(tellers[0], all_are_told)
    assert len(robot.got) == 10


def test_trouble_and_its_end_are_two_messages(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    timer_id = alerted(telling, to, "bill", FIRST, RECOVERED)
    teller = telling.teller()
    # Not only sent: after its end is written the next one of the rule waits.
    telling.tell_until(teller, lambda: telling.shown().told_at is not None)
    telling.fire(timer_id, 1, SUCCEEDED)
    telling.now = max(telling.now, int(telling.clock.now_ms()))
    telling.judge()
    telling.clock.ahead_s += 3_600 * 24 * 400
    telling.tell_until(teller, lambda: len(robot.got) == 2)
    (alert,) = robot.got[1].fields["data"]["alerts"]
    assert (alert["event"], alert["about"]) == ("recovered", "first_failure")


# where it may go, and who reads it


def test_where_callbacks_may_not_go_alerts_may_not_either(telling: Telling) -> None:
    robot, to = webhook_of(telling)
    telling.egress = egress_of("public")
    alerted(telling, to)
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert telling.shown().error == f"given up: not sent: {REFUSED}"
    assert robot.got == []
    assert left(telling) == 0


@pytest.mark.parametrize("kind", ROBOTS)
def test_neither_url_nor_secret_stands_in_sql(telling: Telling, kind: DestinationKind) -> None:
    path, _, _ = ROBOTS[kind]
    alerted(telling, Destination(kind, f"http://127.0.0.1:9{path}", SECRET))
    (content,) = telling.database.read(lambda sql: sql.execute(text("SELECT content FROM alert_rule")).one())
    assert TOKEN not in content
    assert SECRET not in content
    (message,) = telling.database.read(
        lambda sql: sql.execute(text("SELECT content FROM alert_message")).one()
    )
    assert TOKEN not in message


def test_while_no_app_has_a_rule_a_teller_asks_sql_nothing(telling: Telling) -> None:
    telling.has_rules = False
    with Statements(telling.database) as asked:
        telling.teller().tell()
    assert asked.seen == []


def test_a_test_gets_what_its_destination_answered(telling: Telling) -> None:
    path, _, check = ROBOTS[KINDS.DINGTALK]
    robot = telling.robot(check)
    telling.put(
        rule("ops", "shop", FIRST, destination=Destination(KINDS.DINGTALK, robot.url + path, "wrong"))
    )
    number = telling.messages.ask_test("shop", "ops", int(telling.clock.now_ms()))
    telling.tell_until(telling.teller(), lambda: telling.messages.answer_of(number) is not None)
    answer = json.loads(telling.messages.answer_of(number) or "")
    assert (answer["is_taken"], answer["http_status"]) == (False, 200)
    assert "sign not match" in answer["answer"]


def test_a_rule_whose_secrets_cannot_be_opened_here_says_so_and_waits(telling: Telling) -> None:
    _, to = webhook_of(telling)
    alerted(telling, to)
    telling.rules._seals = NO_KEYS
    telling.tell_until(telling.teller(), lambda: telling.shown().error != "")
    assert "WANGTIMER_SECRET_KEYS_FILE" in telling.shown().error
    assert left(telling) == 1
