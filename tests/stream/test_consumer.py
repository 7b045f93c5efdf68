"""The client's consumer against real stream processes.

What docs/how-to/consumers-behind-a-firewall.md shows is tried here.
"""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.patience import wait_for
from tests.stream.ground import SOON_S, Ground, StreamProcess, stays_so
from wangtimer.client import Consumer, GivenUp, ReceivedCall, Refused
from wangtimer.client.consumer_words import Speaker, Word
from wangtimer.core.flow.firing import FiringStatus

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
Start = Callable[..., Consumer]


class Running:
    """A consumer in a thread; the error of its end, if any."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.consumer.stop()
        self.thread.join(SOON_S)
        assert not self.thread.is_alive()

    def _run(self) -> None:
        try:
            self.consumer.run()
        except Exception as error:
            self.error = error


@pytest.fixture
def run(ground: Ground) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start(process: StreamProcess, act: Callable[[ReceivedCall], None], **more: int) -> Running:
        one = Running(Consumer(process.url, "work", act, key=ground.keys["shop"], **more))
        running.append(one)
        return one

    yield start
    for one in running:
        one.consumer.stop()


def test_each_firing_is_acted_on_once_and_acknowledged(ground: Ground, run: Callable[..., Running]) -> None:
    process, came = ground.start(), []
    one = run(process, came.append)
    members = ground.give(30, body=b'{"order":7}')
    assert wait_for(lambda: all(ground.status(one) is FiringStatus.SUCCEEDED for one in members), SOON_S)
    assert sorted(call.id for call in came) == sorted(member.firing_id for member in members)
    assert came[0].body == b'{"order":7}'
    one.stop()


def test_what_raises_is_told_and_what_is_given_up_is_final(
    ground: Ground, run: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    process = ground.start()

    def act(call: ReceivedCall) -> None:
        raise GivenUp("no such order") if call.body == b"final" else RuntimeError("no paper")

    run(process, act)
    (first,), (second,) = ground.give(body=b"{}"), ground.give(body=b"final")
    for member, error in ((first, "RuntimeError: no paper"), (second, "no such order")):
        assert wait_for(lambda member=member: ground.status(member) is FiringStatus.FAILED, SOON_S)
        row = ground.wiring.attempts.history(member.timer_id, member.fire_at)
        assert error in str(row)
    assert f"acting on firing {first.firing_id} failed, attempt 1" in caplog.text


def test_a_consumer_connects_again_after_its_process_died(
    ground: Ground, run: Callable[..., Running]
) -> None:
    process, came = ground.start(), []
    run(process, came.append)
    ground.give()
    assert wait_for(lambda: len(came) == 1, SOON_S)
    process.kill()
    process.start()
    ground.give()
    assert wait_for(lambda: len(came) == 2, SOON_S)


def test_who_stops_ends_what_is_under_way_and_leaves_the_rest_to_others(
    ground: Ground, run: Callable[..., Running]
) -> None:
    process, begun, may_end, others = ground.start(), [], threading.Event(), []

    def act(call: ReceivedCall) -> None:
        begun.append(call.id)
        may_end.wait(SOON_S)

    first = run(process, act, workers=1, window=3)
    members = ground.give(3)
    assert wait_for(lambda: len(begun) == 1, SOON_S)
    first.consumer.stop()
    run(process, lambda call: others.append(call.id))
    assert stays_so(lambda: not others, 1)
    may_end.set()
    first.stop()
    assert wait_for(lambda: len(others) == 2, SOON_S)
    assert sorted([*begun, *others]) == sorted(member.firing_id for member in members)
    assert wait_for(lambda: all(ground.status(one) is FiringStatus.SUCCEEDED for one in members), SOON_S)


def test_a_key_that_counts_no_more_ends_the_consumer(ground: Ground, run: Callable[..., Running]) -> None:
    process = ground.start()
    one = run(process, lambda _call: None)
    time.sleep(1)
    ground.wiring.api_keys.revoke("shop", ground.keys["shop"].split("_")[1], int(time.time() * 1_000))
    one.thread.join(SOON_S)
    assert isinstance(one.error, Refused)
    assert "revoked" in str(one.error)


def test_more_workers_than_the_window_are_refused() -> None:
    with pytest.raises(ValueError, match="at most the window"):
        Consumer("http://127.0.0.1:5001", "work", lambda _call: None, workers=11, key="")


def test_only_what_a_worker_has_begun_is_prolonged_and_what_waited_too_long_is_left_to_others(
    ground: Ground, run: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that hangs would keep all of its consumer's window otherwise."""
    said: list[tuple[str, str]] = []
    say = Speaker.say

    def noted(speaker: Speaker, word: Word) -> None:
        said.append((word.verb, word.id))
        say(speaker, word)

    monkeypatch.setattr(Speaker, "say", noted)
    process, begun, goes_on = ground.start(), [], threading.Event()

    def act(call: ReceivedCall) -> None:
        begun.append(call.id)
        goes_on.wait(SOON_S)

    one = run(process, act, workers=1, window=3)
    ground.give(3, ack_ms=1_500)
    assert wait_for(lambda: len([verb for verb, _ in said if verb == "heartbeat"]) >= 3, SOON_S)
    assert {firing_id for _, firing_id in said} == set(begun)
    assert len(begun) == 1
    goes_on.set()
    assert wait_for(lambda: ("ack", begun[0]) in said, SOON_S)
    assert stays_so(lambda: len(begun) == 1, 1)
    one.stop()


@pytest.mark.parametrize("error", [SystemExit(1), ValueError("no such customer: M\udcfcller")])
def test_whatever_acting_on_a_firing_raises_the_next_ones_are_done_and_told(
    ground: Ground, run: Callable[..., Running], error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    # What is captured goes to another process when tests run side by side, and a lone surrogate cannot.
    caplog.set_level("CRITICAL", "wangtimer.client.consumer")
    process = ground.start()

    def act(call: ReceivedCall) -> None:
        if call.body == b"bad":
            raise error

    one = run(process, act, workers=1)
    (bad,), good = ground.give(body=b"bad"), ground.give(3)
    assert wait_for(lambda: ground.status(bad) is FiringStatus.FAILED, SOON_S)
    assert wait_for(lambda: all(ground.status(one) is FiringStatus.SUCCEEDED for one in good), SOON_S)
    one.stop()
