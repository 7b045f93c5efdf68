"""The teller of alerts: sends the messages of rules, through the same engine as calls, or as mail."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import NamedTuple

import orjson
import structlog

from wangtimer.base.loop import Loop
from wangtimer.callback import Call, Delivery, EngineStopped, Reply, Request
from wangtimer.callback.permits import Permit
from wangtimer.core.alerts.alert_rule import AlertRule, Destination, DestinationKind
from wangtimer.core.alerts.robots import posting, refusal
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.origin import read_url
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.signing.signature import signature_lines
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.core.timers.secret_parts import without
from wangtimer.features.alerts.mailer import Mailer, MailNotTaken
from wangtimer.store.sql.alert_messages import NOT_TRIED_PAUSE_MS, AlertMessages, TakenMessage
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.signing_store import SigningStore

log = structlog.get_logger()

# While some app has a rule, each process looks so often for messages that are due.
LOOK_EVERY_S = 1.0
# Messages that a process has under way at once; how many of them may be mail, and the threads that send it. A mail
# server may take half a minute for each, and whatever else is told does not wait for that.
MOST_AT_ONCE, MOST_MAILS, MAIL_THREADS = 32, 4, 2
# Of these, of one app: its webhooks may all hang.
MOST_OF_APP = 8
# Of all mail, of one app: half.
MOST_MAILS_OF_APP = MOST_MAILS // 2
# How long a message is a process's: its wait for a place or a thread, the call or the steps of a mail, and the writing
# of what came of it. Another process may take it then.
HELD_MS, SENT_WITHIN_S = 120_000, 30.0
TIMEOUTS = Timeouts(total_ms=10_000, connect_ms=5_000)
# s, between the attempts of a message.
PAUSES_S = (5, 30, 300, 1_800, 7_200)
# A message that could not even be tried is given up after a day in which it gathered nothing.
LONGEST_WAIT_MS = 86_400_000
# Of an answer's body, whatever a deployment keeps of those of its targets: robots say in it whether they took it.
ANSWER_BYTES, ANSWER_CHARACTERS = 4_096, 1_000
MAIL_BYTES = 20_000


class MessageEnd(NamedTuple):
    """What came of a message. `error` "": taken, but not for `refused`. `is_final`: another attempt is no use."""

    taken: TakenMessage
    error: str = ""
    http_status: int | None = None
    answer: str = ""
    is_final: bool = False
    was_tried: bool = True
    refused: str = ""


class AlertCall:
    """A message on its way through the engine; nothing is ever told of how it ends but the rule."""

    has_waited = False
    # Else it would stand behind the firings whose backlog it may tell of. Messages of a rule are 10 s apart.
    is_counted = False
    timeouts = TIMEOUTS

    def __init__(
        self,
        taken: TakenMessage,
        kind: DestinationKind,
        request: Request,
        may_send: Callable[[], bool],
        end: Callable[[MessageEnd], None],
        secrets: Sequence[str],
    ) -> None:
        self._secrets = secrets
        self.permits: tuple[Permit, ...] = ()
        self.request = request
        self.due_at_ms: float = taken.created_at
        self.may_send = may_send
        self._taken, self._kind, self._end = taken, kind, end

    def on_written(self) -> None:
        """Do nothing: its body is small."""

    def on_held_back(self, _call: Call) -> None:
        """It waited for too long: another process may have it by now."""
        self._end(MessageEnd(self._taken, "it waited too long for a place", was_tried=False))

    def on_no_room(self, _call: Call, lane: SharedLane) -> None:
        """It waits outside."""
        self._end(MessageEnd(self._taken, f"calls there have to wait ({lane.key})", was_tried=False))

    def on_reply(self, _call: Call, reply: Reply) -> None:
        """Learn what its destination said."""
        error = reply.shown_error or refusal(self._kind, reply.output)
        is_final = reply.is_refused or bool(self.request.fault)
        # What a robot repeats, or where it points to, may have the key that its URL is.
        error, answer = without(self._secrets, error), without(self._secrets, reply.output)
        self._end(MessageEnd(self._taken, error, reply.http_status, answer, is_final))


class AlertTeller:
    """One thread a process. It asks SQL nothing while no app has a rule.

    A message that was taken is sent at most once more for each process that dies with it. Its failures end with the
    rule's `error`: no alert comes of them.
    """

    def __init__(
        self,
        alert_rules: AlertRuleStore,
        alert_messages: AlertMessages,
        signing_store: SigningStore,
        engine: Delivery,
        mailer: Mailer | None,
        clock: Clock,
        has_rules: Callable[[], bool],
        tls_fault_of: Callable[[str], str],
    ) -> None:
        self._rules = alert_rules
        self._messages = alert_messages
        self._signings = signing_store
        self._engine = engine
        self._mailer = mailer
        self._clock = clock
        self._has_rules = has_rules
        self._tls_fault_of = tls_fault_of
        self._mails = ThreadPoolExecutor(MAIL_THREADS, "alert-mail")
        self._ended: deque[MessageEnd] = deque()
        # By app.
        self._under_way: Counter[str] = Counter()
        # Those that are mail.
        self._mails_under_way: Counter[str] = Counter()
        self._counting = Lock()
        self.loop = Loop("alert-teller", self.tell, LOOK_EVERY_S)

    def tell(self) -> None:
        """Write what came of messages, then send those that are due. Raises `StoreAway`."""
        self._write_ended()
        room = MOST_AT_ONCE - self._under_way.total()
        if not self._has_rules() or room <= 0:
            return
        now = int(self._clock.now_ms())
        sends_by = self._clock.monotonic() + SENT_WITHIN_S
        away: StoreAway | None = None
        for taken in self._messages.take(room, now, now + HELD_MS, self._room_of):
            self._under_way[taken.message.app] += 1
            try:
                if away is None:
                    self._send(taken, now, sends_by)
            except StoreAway as error:
                away = error
            except EngineStopped:
                self._end(MessageEnd(taken, "the process stops", was_tried=False))
            except Exception as error:
                log.exception("alert_not_made", app=taken.message.app, rule=taken.message.rule)
                self._end(MessageEnd(taken, f"no message could be made: {type(error).__name__}"))
            if away is not None:  # nor could any of the others be sent
                self._end(MessageEnd(taken, "SQL was away", was_tried=False))
        if away is not None:
            raise away

    def _write_ended(self) -> None:
        """Write what came of messages; those of rules that a judge is at stay for the next look."""
        for _ in range(len(self._ended)):
            try:
                is_written = self._write(self._ended[0])
            except StoreAway:
                raise
            except Exception:
                # Another process takes it once the time is over for which it is held.
                log.exception("alert_end_not_written", message=self._ended[0].taken.id)
                is_written = True
            ended = self._ended.popleft()
            if is_written:
                self._under_way[ended.taken.message.app] -= 1
                self._under_way += Counter()  # those at 0 go
            else:
                self._ended.append(ended)

    def _room_of(self, app: str) -> int:
        return MOST_OF_APP - self._under_way[app]

    def _send(self, taken: TakenMessage, now: int, sends_by: float) -> None:
        rule = self._rules.get(taken.message.app, taken.message.rule)
        if rule is None:
            reason = "the rule is gone, or its secrets cannot be opened (WANGTIMER_SECRET_KEYS_FILE)"
            self._end(MessageEnd(taken, reason))
        elif rule.destination.kind is DestinationKind.MAIL:
            self._mail(taken, rule, now, sends_by)
        else:
            self._call(taken, rule.destination, now, sends_by)

    def _mail(self, taken: TakenMessage, rule: AlertRule, now: int, sends_by: float) -> None:
        if self._mailer is None:
            # Another process may have one.
            reason = "this process has no mail server (WANGTIMER_SMTP_URL)"
            self._end(MessageEnd(taken, reason, was_tried=False))
            return
        if not self._begin_mail(taken.message.app):
            self._end(MessageEnd(taken, "it waits for other mail to be sent", was_tried=False))
            return
        self._mails.submit(partial(self._send_mail, self._mailer, taken, rule.destination.to, now, sends_by))

    def _send_mail(
        self, mailer: Mailer, taken: TakenMessage, to: Sequence[str], now: int, sends_by: float
    ) -> None:
        message = taken.message
        if self._clock.monotonic() >= sends_by:
            self._end_mail(MessageEnd(taken, "it waited too long for other mail", was_tried=False))
            return
        try:
            sent = mailer.send(to, message.title, message.text(MAIL_BYTES), _id_of(taken), now / 1_000)
        except MailNotTaken as error:
            self._end_mail(MessageEnd(taken, str(error), answer=str(error)))
        except Exception as error:
            log.exception("mail_stumbled", app=message.app, rule=message.rule)
            self._end_mail(MessageEnd(taken, f"no mail could be made: {type(error).__name__}"))
        else:
            self._end_mail(MessageEnd(taken, answer=sent.said, refused=sent.refused))

    def _begin_mail(self, app: str) -> bool:
        with self._counting:
            if self._mails_under_way.total() >= MOST_MAILS or self._mails_under_way[app] >= MOST_MAILS_OF_APP:
                return False
            self._mails_under_way[app] += 1
            return True

    def _end_mail(self, ended: MessageEnd) -> None:
        with self._counting:
            self._mails_under_way[ended.taken.message.app] -= 1
            self._mails_under_way += Counter()  # those at 0 go
        self._end(ended)

    def _call(self, taken: TakenMessage, to: Destination, now: int, sends_by: float) -> None:
        app = taken.message.app
        fault = self._tls_fault_of(app)
        if fault and read_url(to.url)[0].is_tls:
            self._end(MessageEnd(taken, f"the app's certificate cannot be used: {fault}"))
            return
        make = self._webhook if to.kind is DestinationKind.WEBHOOK else _robots
        request = make(taken, to, now)
        self._engine.submit(
            [
                AlertCall(
                    taken,
                    to.kind,
                    request,
                    lambda: self._clock.monotonic() < sends_by,
                    self._end,
                    to.secret_texts,
                )
            ]
        )

    def _webhook(self, taken: TakenMessage, to: Destination, now: int) -> Request:
        body, message_id = taken.message.body(taken.created_at), _id_of(taken).encode()
        stamps = b"webhook-id: %b\r\n" % message_id
        if keys := self._signings.present(taken.message.app, now).keys_at(now):
            stamps += signature_lines(keys, message_id, now // 1_000, body)
        headers = (("Content-Type", "application/json"), ("X-WangTimer-App", taken.message.app))
        return Request(to.url, "POST", headers, body, stamps, taken.message.app, ANSWER_BYTES)

    def _end(self, ended: MessageEnd) -> None:
        """Note what came of a message; quick, from any thread."""
        self._ended.append(ended)
        self.loop.wake()

    def _write(self, ended: MessageEnd) -> bool:
        """Write what came of a message; False: not now."""
        taken, now = ended.taken, int(self._clock.now_ms())
        if taken.is_test:
            self._messages.answer(taken, _shown(ended))
            return True
        if not ended.error:
            return self._messages.end(taken, now, ended.refused, is_taken=True)
        if (due_at := again_at(ended, now)) is not None:
            return self._messages.put_off(taken, due_at, ended.error, was_tried=ended.was_tried)
        return self._messages.end(taken, now, f"given up: {ended.error}")


def _robots(taken: TakenMessage, to: Destination, now: int) -> Request:
    url, body = posting(taken.message, to, now)
    headers = (("Content-Type", "application/json; charset=utf-8"),)
    return Request(url, "POST", headers, body, b"", taken.message.app, ANSWER_BYTES)


def _id_of(taken: TakenMessage) -> str:
    """Return the id of a message, the same on every attempt: of ids that SQL gives again, the moments differ."""
    return f"alert-{taken.id}-{taken.created_at}"


def again_at(ended: MessageEnd, now: int) -> int | None:
    """Return when a message that was not taken is tried again, ms UTC; None: no more."""
    if ended.is_final:
        return None
    if not ended.was_tried:
        newest_at = max(ended.taken.created_at, ended.taken.message.gathered_at)
        return now + NOT_TRIED_PAUSE_MS if now - newest_at < LONGEST_WAIT_MS else None
    if ended.taken.attempt > len(PAUSES_S):
        return None
    return now + 1_000 * PAUSES_S[ended.taken.attempt - 1]


def _shown(ended: MessageEnd) -> str:
    """Return what whoever asked for a test is shown."""
    return orjson.dumps(
        {
            "is_taken": not ended.error,
            "http_status": ended.http_status,
            "answer": ended.answer[:ANSWER_CHARACTERS],
            "error": ended.error,
        }
    ).decode()
