"""An executor's sender with the real engine and a real target: what is recorded of a call that takes too long."""

from queue import SimpleQueue
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.callback.calls import MachineClock, egress_of
from tests.callback.target import NO_CONTENT, answer_with, hold
from tests.made_requests import ready
from wangtimer.callback import DeliveryEngine
from wangtimer.callback.egress import REFUSED
from wangtimer.callback.reply import SENT_AGAIN, BrokerAnswer, Reply
from wangtimer.core.alerts.alert_place import AlertedApps
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.call_options import CallForm, KeepOutput, Timeouts
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.fire_rule import FireRule
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.quarantine import Quarantine
from wangtimer.executor.readings.acceptance import AcceptanceReading
from wangtimer.executor.readings.failure import DeadLetterReading, RetryReading
from wangtimer.executor.reply_reader import ReplyReader, _hidden
from wangtimer.executor.request_maker import RequestMaker
from wangtimer.executor.sender import Sender, Sent
from wangtimer.executor.settler import Finished
from wangtimer.executor.waits import Waits
from wangtimer.features.controls.control_reading import ControlReading
from wangtimer.store.seals import NO_KEYS, Seals

MEMBER = Member(1, 0, 1)


class Records(SimpleQueue[Finished]):
    """Stands for the settler: keeps what is to be recorded."""

    take = SimpleQueue.put


class NobodyWaits:
    """Stands for the puller, where no lane has anything."""

    known = ()


def knows(value: object) -> Any:
    """Return a replica."""
    return SimpleNamespace(known=value)


def reader_of(clock: MachineClock, usual: RetryPolicy) -> ReplyReader:
    """Return a reader of replies that asks what production does."""
    return ReplyReader(
        (AcceptanceReading(clock), ControlReading(clock)),
        (RetryReading(knows({}), usual, Random(1), clock), DeadLetterReading(clock)),
        AlertMarks(AlertedApps, clock),
        clock,
    )


def sender_of(
    engine: Any, records: Records, clock: MachineClock, seals: Seals = NO_KEYS, most_attempts: int = 1
) -> Sender:
    """Return a sender of calls that end with their answers."""
    nothing: Any = lambda *_: None  # noqa: E731
    rule, nobody = FireRule(10_000, 60_000, RetryPolicy()), NobodyWaits()
    keeper, usual = Keeper(nothing, nothing, clock, 1.0, rule), RetryPolicy(attempts=most_attempts)
    return Sender(
        engine,
        keeper,
        records,  # type: ignore[arg-type]
        Quarantine(nothing, engine, clock, keeper.may_send, 20.0),
        Waits(knows(Pauses()), nobody, nothing, engine, lambda _app: 0),  # type: ignore[arg-type]
        RequestMaker(seals, nothing, nothing, (), clock),
        reader_of(clock, usual),
        DisabledHosts(knows(frozenset()), nothing, clock),
    )


def sent(
    engine: DeliveryEngine, definition: Definition, seals: Seals = NO_KEYS, most_attempts: int = 1
) -> tuple[Sent, Records]:
    """Send one firing as the definition says; return what came of it, and what is recorded."""
    records, clock = Records(), MachineClock()
    return sent_by(sender_of(engine, records, clock, seals, most_attempts), definition), records


def sent_by(sender: Sender, definition: Definition) -> Sent:
    """Send one firing as the definition says; return what came of it."""
    now = MachineClock().monotonic()
    held = Held(Claim(Slice(0, 0), "claim", [MEMBER], now, now + 60), MEMBER)
    return sender.send([ready(held, 0, definition, 0, AppSigning("shop", 1, False, ()))], {})


def recorded(engine: DeliveryEngine, definition: Definition, most_attempts: int = 1) -> Outcome:
    """Send one firing as the definition says; return what is recorded of it."""
    done, records = sent(engine, definition, most_attempts=most_attempts)
    assert (done.unmade, done.unopened) == ({}, {})
    return records.get(timeout=8).recorded


def calling(url: str) -> Definition:
    return Definition(1, "shop", 1, TimerStatus.ENABLED, Once(0), Notify(url))


@pytest.mark.parametrize(
    ("answer", "timeout_ms", "status"),
    [
        (hold, 200, FiringStatus.FAILED),
        (answer_with(NO_CONTENT), 5_000, FiringStatus.SUCCEEDED),
        (answer_with(NO_CONTENT), None, FiringStatus.SUCCEEDED),
    ],
)
def test_a_call_has_the_time_that_its_timer_gives_it(
    engine, new_target, answer: Any, timeout_ms: int | None, status: FiringStatus
) -> None:
    outcome = recorded(engine, calling(new_target(answer).url)._replace(timeouts=Timeouts(timeout_ms)))
    assert (outcome.status, outcome.http_status) == (
        status,
        None if status is FiringStatus.FAILED else 204,
    )
    assert ("timed out" in outcome.error) is (status is FiringStatus.FAILED)


def test_a_call_that_the_rules_of_egress_refuse_has_failed_without_another_attempt(
    new_engine, target
) -> None:
    outcome = recorded(new_engine(egress=egress_of("public")), calling(target.url), 5)
    assert (outcome.status, outcome.error) == (FiringStatus.FAILED, f"not sent: {REFUSED}")
    assert (outcome.http_status, outcome.first_sent_at, outcome.output) == (None, None, "")
    assert not target.connections


def test_a_call_that_could_not_connect_has_another_attempt(new_engine, target) -> None:
    target.stop_listening()
    outcome = recorded(new_engine(), calling(target.url), 5)
    assert outcome.status is FiringStatus.PENDING


@pytest.mark.parametrize(
    ("keep_output", "of_success", "of_failure"),
    [(KeepOutput.ALWAYS, "said", "said"), (KeepOutput.ON_FAILURE, "", "said"), (KeepOutput.NEVER, "", "")],
)
def test_an_answer_is_kept_where_its_timer_says_so(
    engine, new_target, keep_output: KeepOutput, of_success: str, of_failure: str
) -> None:
    for status, kept in (("200 OK", of_success), ("500 No", of_failure)):
        answer = answer_with(f"HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\nsaid".encode())
        outcome = recorded(engine, calling(new_target(answer).url)._replace(keep_output=keep_output))
        assert (outcome.output, outcome.http_status) == (kept, int(status[:3]))


def test_a_sealed_secret_is_opened_for_the_call_and_one_without_its_key_is_not_sent(
    engine, new_target
) -> None:
    target, seals = new_target(answer_with(NO_CONTENT)), Seals({"k1": b"k" * 32})
    call = Notify(f"{target.url}?token=sesame", headers=(("Authorization", "sesame"),))
    sealed = calling(target.url)._replace(notify=seals.seal(call, "shop", 1))
    done, records = sent(engine, sealed)
    assert "no key 'k1'" in done.unopened[MEMBER]
    done, records = sent(engine, sealed, seals)
    assert (done.unopened, records.get(timeout=8).outcome.http_status) == ({}, 204)
    (received,) = target.requests
    assert (received.path, received.values("authorization")) == ("/?token=sesame", ["sesame"])


def test_a_target_that_repeats_a_secret_puts_none_on_record(engine, new_target) -> None:
    answer = answer_with(b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\nyou said: Bearer sesame-1")
    target, seals = new_target(answer), Seals({"k1": b"k" * 32})
    call = Notify(target.url, headers=(("Authorization", "Bearer sesame-1"),))
    sealed = calling(target.url)._replace(notify=seals.seal(call, "shop", 1))
    _, records = sent(engine, sealed, seals)
    assert records.get(timeout=8).recorded.output == "you said: ***"


def test_a_redirect_that_repeats_a_secret_puts_none_on_record(engine, new_target) -> None:
    answer = answer_with(
        b"HTTP/1.1 302 Found\r\nLocation: https://new.example/sesame-1\r\nContent-Length: 0\r\n\r\n"
    )
    target, seals = new_target(answer), Seals({"k1": b"k" * 32})
    call = Notify(target.url, headers=(("Authorization", "Bearer sesame-1"),))
    sealed = calling(target.url)._replace(notify=seals.seal(call, "shop", 1))
    _, records = sent(engine, sealed, seals)
    assert records.get(timeout=8).recorded.error.startswith(
        "HTTP 302: it points to https://new.example/***, "
    )


@pytest.mark.parametrize("broker", [None, BrokerAnswer.REJECTED])
def test_what_a_broker_says_is_recorded_without_secrets_and_our_own_errors_as_they_are(
    broker: BrokerAnswer | None,
) -> None:
    outcome = Outcome(MEMBER, 0, FiringStatus.FAILED, 0, error="args beginning with: sesame-1")
    reply = Reply(0.0, 0.0, None, "", outcome.error, broker=broker)
    shown = "args beginning with: sesame-1" if broker is None else "args beginning with: ***"
    assert _hidden(("sesame-1",), reply, outcome).error == shown


@pytest.mark.parametrize(
    ("status", "header", "said"),
    [
        (302, "Location: /", "HTTP 302: it points to /***…, and redirects are not followed"),
        (200, "X-WangTimer-Control: ", "the answer's X-WangTimer-Control '***…' changes nothing"),
    ],
)
def test_of_a_secret_that_is_too_long_to_be_shown_nothing_is_on_record(
    engine, new_target, status: int, header: str, said: str
) -> None:
    secret = "sesame-" * 40
    answer = answer_with(f"HTTP/1.1 {status} So\r\n{header}{secret}\r\nContent-Length: 0\r\n\r\n".encode())
    target, seals = new_target(answer), Seals({"k1": b"k" * 32})
    call = Notify(target.url, headers=(("Authorization", secret),))
    sealed = calling(target.url)._replace(
        notify=seals.seal(call, "shop", 1), form=CallForm(allow_control=True)
    )
    _, records = sent(engine, sealed, seals)
    assert records.get(timeout=8).recorded.error.startswith(said)


@pytest.mark.parametrize(
    ("told", "said"), [("", SENT_AGAIN), ("stop", SENT_AGAIN), ("halt", f"{SENT_AGAIN}; the answer's ")]
)
def test_a_call_that_was_sent_again_says_so_though_its_answer_controls_its_timer(
    told: str, said: str
) -> None:
    clock = MachineClock()
    reader = reader_of(clock, RetryPolicy())
    order = CallOrder(calling("http://a/")._replace(form=CallForm(allow_control=True)), None)
    attempt: Any = SimpleNamespace(
        order=order,
        timeouts=order.timeouts,
        due_at_ms=0,
        bucket=0,
        held=SimpleNamespace(member=MEMBER),
        made=SimpleNamespace(secrets=()),
    )
    reply = Reply(0.0, 1.0, 200, "", "", told=told, is_again=True)
    assert reader.finished(attempt, reply).outcome.error.startswith(said)
