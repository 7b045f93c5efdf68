"""A target repeats what it was sent: each kind of secret, of a timer and a named target, in each part of an answer.

Definitions are those that an executor reads from Redis.
"""

from base64 import b64encode
from typing import Any

import pytest

from tests.callback.calls import MachineClock
from tests.callback.target import Received
from tests.callback.test_sent_by_an_executor import MEMBER, Records, calling, sender_of
from tests.made_requests import ready
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify, SecretMarks
from wangtimer.executor.claim import Claim, Held
from wangtimer.store.redis.definitions import _from_text, definition_text
from wangtimer.store.seals import Seals

SEALS = Seals({"k1": b"k" * 32})
CANARY = "canary-5f3a9c1e7b"
BASIC = b64encode(f"me:{CANARY}".encode()).decode()
KINDS: dict[str, tuple[Notify, CallForm]] = {
    "a header by its name": (Notify("", headers=(("X-Api-Key", CANARY),)), UNTOUCHED),
    "Basic credentials": (Notify("", headers=(("Authorization", f"Basic {BASIC}"),)), UNTOUCHED),
    "a query value by its name": (Notify(f"?token={CANARY}"), UNTOUCHED),
    "a marked header": (
        Notify("", headers=(("X-Tenant", CANARY),), marks=SecretMarks(("x-tenant",))),
        UNTOUCHED,
    ),
    "a marked query": (Notify(f"?plain={CANARY}", marks=SecretMarks(query=True)), UNTOUCHED),
    "a marked body": (Notify("", body=CANARY, marks=SecretMarks(body=True)), UNTOUCHED),
    "a marked body that is filled in": (
        Notify("", body=f"{{{{fireAt}}}} {CANARY}", marks=SecretMarks(body=True)),
        CallForm(templates=True),
    ),
    "a marked body in Base64": (
        Notify("", body=b64encode(CANARY.encode()).decode(), marks=SecretMarks(body=True)),
        CallForm(body_is_base64=True),
    ),
}
ANSWERS = ("200 OK", "500 No", "302 Found", "200 control")


def repeat(status: str) -> Any:
    """Return what answers with all that came, in a header where that one goes on record."""

    def answer(received: Received) -> None:
        sent = [
            value for name, value in received.headers if name in ("authorization", "x-api-key", "x-tenant")
        ]
        decoded = [CANARY] if any(BASIC in value for value in sent) else []
        came = "|".join((*sent, *decoded, received.body.decode(), received.path.replace("?", "+")))
        header = {"302 Found": "Location: /", "200 control": "X-WangTimer-Control: "}.get(status, "X-A: ")
        head = f"HTTP/1.1 {status}\r\n{header}{came}\r\nContent-Length: {len(came)}\r\n\r\n"
        received.connection.sendall(f"{head}{came}".encode())

    return answer


# Of calendars: none is named here.
NO_DAYS: Any = {}


def as_read_from_redis(definition: Definition) -> Definition:
    text = definition_text(definition).encode()
    return _from_text(definition.timer_id, text, NO_DAYS)


def recorded(engine: Any, definition: Definition, target: NamedTarget | None = None) -> tuple[str, str]:
    """Send one firing; return the output and the error on record."""
    records, clock = Records(), MachineClock()
    sender = sender_of(engine, records, clock, SEALS)
    now = clock.monotonic()
    held = Held(Claim(Slice(0, 0), "claim", [MEMBER], now, now + 60), MEMBER)
    signing = AppSigning("shop", 1, False, ())
    done = sender.send([ready(held, 0, definition, 0, signing, target)], {})
    assert (done.unmade, done.unopened) == ({}, {})
    outcome = records.get(timeout=8).recorded
    return outcome.output, outcome.error


@pytest.fixture
def tls() -> None:
    """Without: nothing here depends on it."""


@pytest.mark.parametrize("status", ANSWERS)
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_timer_nothing_is_on_record(engine, new_target, kind: str, status: str) -> None:
    target = new_target(repeat(status))
    call, form = KINDS[kind]
    whole = call._replace(url=target.url + call.url)
    form = form._replace(allow_control=True)
    one = calling(target.url)._replace(notify=SEALS.seal(whole, "shop", 1), form=form)
    output, error = recorded(engine, as_read_from_redis(one))
    assert any(secret in str(target.requests) for secret in (CANARY, BASIC))
    assert "***" in output
    assert CANARY not in output + error
    assert BASIC not in output + error


@pytest.mark.parametrize("status", ANSWERS)
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_named_target_nothing_is_on_record(engine, new_target, kind: str, status: str) -> None:
    target = new_target(repeat(status))
    call, form = KINDS[kind]
    whole = call._replace(url=target.url + call.url)
    named = NamedTarget("shop", "erp", 1, whole, form=form._replace(allow_control=True))
    one = calling("")._replace(notify=Notify("", "", target="erp"))
    output, error = recorded(engine, as_read_from_redis(one), named)
    assert "***" in output
    assert CANARY not in output + error
    assert BASIC not in output + error


def test_a_timers_mark_counts_for_what_its_target_gives(engine, new_target) -> None:
    target = new_target(repeat("200 OK"))
    named = NamedTarget(
        "shop", "erp", 1, Notify(f"{target.url}?plain={CANARY}", headers=(("X-Tenant", CANARY),), body=CANARY)
    )
    marks = SecretMarks(("x-tenant",), query=True, body=True)
    one = calling("")._replace(notify=Notify("", "", marks=marks, target="erp"))
    assert CANARY not in "".join(recorded(engine, as_read_from_redis(one), named))
