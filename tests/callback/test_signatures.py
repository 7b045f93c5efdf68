"""Signatures of what an executor really sends: the package of Standard Webhooks verifies them, and nothing forged."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from tests.callback.calls import MachineClock
from tests.callback.target import Received
from tests.callback.test_sent_by_an_executor import Records, sender_of
from tests.made_requests import made_request, ready
from wangtimer.client import BadSignature, Verification
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.sender import Sent

OLD, NEW = SigningSecret(1, b"o" * 24, 0, 2**53, True), SigningSecret(2, b"n" * 64, 0, None, True)
SIGNING = AppSigning("shop", 2, True, (OLD, NEW))
OFF = AppSigning("shop", 3, False, (OLD, NEW))
MEMBER = Member(7, 1_795_207_483_123, 2)
_NAMES = st.from_regex(r"[A-Za-z][A-Za-z-]{0,20}", fullmatch=True).filter(
    lambda name: (
        name.lower() not in ("content-length", "transfer-encoding", "host", "connection")
        and not name.lower().startswith(("webhook", "x-wangtimer"))
    )
)
_VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=40)
_BODIES = st.text(st.characters(codec="utf-8"), max_size=3_000)


class SetClock(MachineClock):
    """A clock that a test puts."""

    ahead_ms = 0.0

    def now_ms(self) -> float:
        return super().now_ms() + self.ahead_ms


def sent(
    engine: Any, notify: Notify, signing: AppSigning, clock: MachineClock, due_at: int = 0
) -> tuple[Sent, Records]:
    """Send one firing; return what came of it, and what is recorded."""
    records = Records()
    sender = sender_of(engine, records, clock)
    definition = Definition(7, "shop", 1, TimerStatus.ENABLED, Once(0), notify)
    now = clock.monotonic()
    held = Held(Claim(Slice(0, 0), "claim", [MEMBER], now, now + 60), MEMBER)
    return sender.send([ready(held, due_at, definition, 0, signing)], {}), records


def send(engine: Any, notify: Notify, signing: AppSigning, clock: MachineClock, due_at: int = 0) -> None:
    sent(engine, notify, signing, clock, due_at)


def headers_of(received: Received) -> dict[str, str]:
    assert len(received.values("webhook-signature")) == 1
    return dict(received.headers)


@given(_BODIES, st.lists(st.tuples(_NAMES, _VALUES), max_size=5), st.sampled_from(["POST", "GET", "DELETE"]))
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_arrives_is_verified_by_both_secrets(engine, target, body, headers, method) -> None:
    seen = len(target.requests)
    send(engine, Notify(target.url, method, tuple(headers), body), SIGNING, MachineClock())
    target.wait_for_requests(seen + 1)
    received = target.requests[-1]
    sent = headers_of(received)
    for secret in (OLD, NEW):
        # Its own `verify` reads the body as JSON, which a body need not be; what it compares is this.
        oracle = Webhook(secret.text)
        if received.body and sent.get("content-type") == "application/json":
            oracle.verify(received.body, sent)
        Verification([secret.text]).check(sent, received.body)
    with pytest.raises(BadSignature):
        Verification([SigningSecret(3, b"x" * 32, 0).text]).check(sent, received.body)


def test_the_oracle_refuses_what_was_changed_on_the_way(engine, target) -> None:
    send(engine, Notify(target.url, body='{"order":42}'), SIGNING, MachineClock())
    target.wait_for_requests(1)
    (received,) = target.requests
    sent, oracle = headers_of(received), Webhook(NEW.text)
    assert oracle.verify(received.body, sent) == {"order": 42}
    for changed in (
        {"webhook-id": "8-1795207483123"},
        {"webhook-timestamp": str(int(sent["webhook-timestamp"]) + 1)},
        {"webhook-signature": sent["webhook-signature"].replace("v1,", "v1,A")},
    ):
        with pytest.raises(WebhookVerificationError):
            oracle.verify(received.body, sent | changed)
        with pytest.raises(BadSignature):
            Verification([NEW.text]).check(sent | changed, received.body)
    with pytest.raises(WebhookVerificationError):
        oracle.verify(b'{"order":43}', sent)


def test_an_app_that_switched_it_off_is_not_signed_for(engine, target) -> None:
    send(engine, Notify(target.url, body="{}"), OFF, MachineClock())
    target.wait_for_requests(1)
    (received,) = target.requests
    assert received.values("webhook-id") == [MEMBER.firing_id]
    assert not received.values("webhook-timestamp") + received.values("webhook-signature")


def test_without_a_secret_nothing_is_sent(engine, target) -> None:
    done, records = sent(engine, Notify(target.url), AppSigning.unmade("shop"), MachineClock())
    assert "no secret of its app signs" in done.unmade[MEMBER]
    assert records.empty()
    assert not target.requests


def test_the_timestamp_is_the_moment_of_a_call_that_is_prepared_ahead(engine, target) -> None:
    clock = MachineClock()
    due_at = int(clock.now_ms()) + 700
    send(engine, Notify(target.url), SIGNING, clock, due_at)
    target.wait_for_requests(1)
    assert target.requests[0].values("webhook-timestamp") == [str(due_at // 1_000)]


def test_a_call_that_waited_here_is_signed_anew(engine, target) -> None:
    clock = SetClock()
    due_at = int(clock.now_ms()) + 300
    send(engine, Notify(target.url, body="{}"), SIGNING, clock, due_at)
    clock.ahead_ms = 40_000
    target.wait_for_requests(1)
    sent = headers_of(target.requests[0])
    assert int(sent["webhook-timestamp"]) >= due_at // 1_000 + 39
    Webhook(NEW.text).verify(b"{}", sent)


def test_a_call_that_waited_here_for_seconds_is_not_signed_twice(engine, target) -> None:
    clock = SetClock()
    due_at = int(clock.now_ms()) + 300
    send(engine, Notify(target.url, body="{}"), SIGNING, clock, due_at)
    clock.ahead_ms = 20_000
    target.wait_for_requests(1)
    assert headers_of(target.requests[0])["webhook-timestamp"] == str(due_at // 1_000)


def test_an_old_secret_signs_no_call_whose_moment_is_after_its_end() -> None:
    ends_at = MEMBER.fire_at
    signing = AppSigning("shop", 2, True, (SigningSecret(1, OLD.key, 0, ends_at, True), NEW))
    notify = Notify("http://a/", body="{}")
    lines = [
        dict(made_request(notify, "shop", MEMBER, signing.keys_at(at), at // 1_000).headers)[
            "webhook-signature"
        ]
        for at in (ends_at - 1, ends_at)
    ]
    assert [line.count("v1,") for line in lines] == [2, 1]
    assert lines[1] == lines[0].split(" ")[0]
