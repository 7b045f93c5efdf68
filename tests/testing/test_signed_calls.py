"""A receiver that checks signatures, in a user's test: the clock of 2027 is that of the test, for it too."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from wangtimer.client import ReceivedCall, Receiver, Verification, verification
from wangtimer.testing import MadeCall, WangTimer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def receiving(wangtimer: WangTimer, receiver: Receiver) -> list[int]:
    """Let the receiver answer every call of an hourly timer for three hours; return its answers."""
    answered: list[int] = []

    def answer(call: MadeCall) -> int:
        answered.append(receiver.answer(call.headers, call.body.encode())[0])
        return answered[-1]

    wangtimer.answer(answer)
    wangtimer.client.create_timer(schedule={"every": "1h"}, target={"url": "http://shop.example/"})
    wangtimer.advance(hours=3)
    return answered


def secret_of(wangtimer: WangTimer) -> str:
    secret: str = wangtimer.client.rotate_secret()["secret"]
    wangtimer.client.switch_signing(enabled=True)
    return secret


def test_a_signed_call_is_taken_by_the_secrets_alone(wangtimer: WangTimer) -> None:
    acted: list[ReceivedCall] = []
    receiver = Receiver(acted.append, secrets=[secret_of(wangtimer)])
    assert receiving(wangtimer, receiver) == [204] * 3
    assert len(acted) == 3


def test_a_call_that_is_signed_with_another_secret_is_refused(wangtimer: WangTimer) -> None:
    secret_of(wangtimer)
    assert set(receiving(wangtimer, Receiver(lambda _: None, secrets=[SECRET]))) == {401}


def test_a_clock_that_a_verification_is_given_counts(wangtimer: WangTimer) -> None:
    strict = Verification([secret_of(wangtimer)], now=lambda: wangtimer.now.timestamp() + 301)
    assert set(receiving(wangtimer, Receiver(lambda _: None, secrets=strict))) == {401}


def test_outside_of_a_call_the_real_time_counts(wangtimer: WangTimer) -> None:
    receiver = Receiver(lambda _: None, secrets=[secret_of(wangtimer)])
    receiving(wangtimer, receiver)
    (call, *_) = wangtimer.calls
    assert receiver.answer(call.headers, call.body.encode())[0] == 401


def test_the_client_s_own_distribution_has_the_clock_too(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = ModuleType("wangtimer_client.verification")
    exec(compile(Path(str(verification.__file__)).read_text(), "copy", "exec"), vars(copy))
    monkeypatch.setitem(sys.modules, copy.__name__, copy)
    check = copy.Verification([secret_of(wangtimer)]).check
    wangtimer.answer(lambda call: check(call.headers, call.body.encode()))
    wangtimer.client.create_timer(key="a", schedule={"every": "1h"}, target={"url": "http://shop.example/"})
    assert len(wangtimer.advance(hours=3)) == 3
