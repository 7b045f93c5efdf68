"""Why a firing failed for good, in a word, and what it called: as its dead letter will say."""

import time

import pytest

from tests.callback.target import answer_with, hold
from tests.callback.test_sent_by_an_executor import calling, recorded
from wangtimer.callback import Reply
from wangtimer.core.flow.dead_letter import REASONS, Failure
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.core.timers.timer import Notify
from wangtimer.executor.readings.failure import failure_of
from wangtimer.store.sql.tables import dead_letters

REASON_CHARACTERS: int = dead_letters.c.reason.type.length
FAILURE = b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(0, 1, 503, "", ""), "http_503"),
        (Reply(0, 1, 302, "", ""), "http_302"),
        (Reply(0, 1, 200, "", "the target closed the connection before its answer was whole"), "broken_off"),
        (Reply(0, 1, None, "", "timed out after 10000 ms"), "timed_out"),
        (Reply(0, 1, 200, "", "timed out after 10000 ms"), "timed_out"),
        (Reply(0, 1, None, "", "not sent: could not connect", was_sent=False), "not_connected"),
        (Reply(0, 1, None, "", "not sent: timed out after 3000 ms", was_sent=False), "not_connected"),
        (Reply(0, 1, None, "", "not sent: refused", was_sent=False, is_refused=True), "refused"),
    ],
)
def test_it_follows_from_the_last_reply(reply: Reply, reason: str) -> None:
    assert failure_of(reply) == reason
    assert len(reason) <= REASON_CHARACTERS


def test_the_words_are_short_enough_to_be_stored() -> None:
    assert max(map(len, REASONS)) <= REASON_CHARACTERS


def test_the_last_attempt_says_what_was_called_and_why_it_failed(engine, new_target) -> None:
    target = new_target(answer_with(FAILURE))
    outcome = recorded(engine, calling(target.url))
    assert (outcome.status, Failure.of(outcome).reason) == (FiringStatus.FAILED, "http_503")
    assert Failure.of(outcome).host == target.url.split("/")[2]
    target.answer = hold
    outcome = recorded(engine, calling(target.url)._replace(timeouts=Timeouts(200)))
    assert Failure.of(outcome).reason == "timed_out"


def test_an_attempt_that_another_follows_says_nothing_of_it(engine, new_target) -> None:
    outcome = recorded(engine, calling(new_target(answer_with(FAILURE)).url), most_attempts=2)
    assert (outcome.status, outcome.notes) == (FiringStatus.PENDING, ())


def test_a_call_that_cannot_be_made_has_a_word_too(engine) -> None:
    """Its bytes could not be written."""
    broken = Notify("http://127.0.0.1:1/", headers=(("X-A", "a\nb"),))
    outcome = recorded(engine, calling("")._replace(notify=broken))
    assert (outcome.status, *Failure.of(outcome)[:2]) == (FiringStatus.FAILED, "not_made", "")
    assert (outcome.first_sent_at, outcome.made_at) == (None, Failure.of(outcome).failed_at)


def test_an_outcome_says_when_it_failed(engine) -> None:
    """Its moment was in 1970, as after a long pause, and nothing listens there."""
    before = time.time() * 1_000 - 1
    outcome = recorded(engine, calling("http://127.0.0.1:1/"))
    assert Failure.of(outcome).reason == "not_connected"
    assert Failure.of(outcome).failed_at is not None
    assert before <= Failure.of(outcome).failed_at <= time.time() * 1_000 + 1


def test_an_outcome_of_which_nothing_was_sent_says_when_its_call_began(engine) -> None:
    began_at = int(time.time() * 1_000) - 1
    outcome = recorded(engine, calling("http://127.0.0.1:1/"))
    assert outcome.first_sent_at is None
    assert began_at <= outcome.made_at <= Failure.of(outcome).failed_at
    assert outcome.to_wire()["made_at"] == outcome.made_at
