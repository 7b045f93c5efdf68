"""Work that goes on after the answer: a target answers 202, and says later that it is done, failed, or still at it."""

from base64 import b64decode
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.testing.timers import URL
from wangtimer.client import Conflict, Refused
from wangtimer.client.firing_types import Firing
from wangtimer.core.flow.firing import Member
from wangtimer.core.secret_keys import new_secret_key, read_secret_keys
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.seals import Seals
from wangtimer.testing import Answer, MadeCall, WangTimer

HEADER = "X-WangTimer-Ack-Token"


def accepted(wangtimer: WangTimer, ack: str = "10m", attempts: int = 3, **more: Any) -> int:
    """Make a timer that fires once, whose target answers 202; let it fire, and return its id."""
    wangtimer.answer(202)
    target = {"url": URL, "ackTimeout": ack}
    retry = {"attempts": attempts, "backoff": "fixed", "pause": "5s"}
    fields: dict[str, Any] = {"schedule": {"delay": "1m"}, "target": target, "retry": retry} | more
    timer = int(wangtimer.client.create_timer(key="report", **fields)["id"])
    wangtimer.advance(minutes=2)
    return timer


def firing_of(wangtimer: WangTimer, timer: int) -> Firing:
    (firing,) = wangtimer.client.firings(timer=timer)
    return firing


def token_of(call: MadeCall) -> tuple[str, str]:
    return call.firing_id, call.headers[HEADER]


def attempts_of(wangtimer: WangTimer) -> list[int]:
    return [call.attempt for call in wangtimer.calls]


def test_202_of_a_timer_without_an_ack_timeout_is_a_success_and_its_call_has_no_token(
    wangtimer: WangTimer,
) -> None:
    timer = accepted(wangtimer, target={"url": URL})
    assert firing_of(wangtimer, timer)["status"] == "succeeded"
    assert HEADER not in wangtimer.calls[0].headers


def test_what_is_accepted_waits_for_the_word_and_is_done_with_it(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    firing = firing_of(wangtimer, timer)
    assert (firing["status"], firing["httpStatus"]) == ("accepted", 202)
    assert firing["acceptedAt"] < firing["ackBy"]
    assert "doneAt" not in firing
    assert wangtimer.client.count_firings(timer=timer)["accepted"] == 1
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    done = firing_of(wangtimer, timer)
    assert (done["status"], done["acceptedAt"], done["latenessMs"]) == (
        "succeeded",
        firing["acceptedAt"],
        firing["latenessMs"],
    )
    assert done["doneAt"] > done["acceptedAt"]
    assert "ackBy" not in done
    wangtimer.advance(hours=1)
    assert attempts_of(wangtimer) == [1]
    (attempt,) = wangtimer.client.get_firing(firing["id"])["attempts"]
    assert (attempt["status"], attempt["httpStatus"]) == ("succeeded", 202)


def test_a_plain_200_of_such_a_timer_is_its_outcome(wangtimer: WangTimer) -> None:
    wangtimer.answer(200)
    target = {"url": URL, "ackTimeout": "10m"}
    timer = wangtimer.client.create_timer(key="a", schedule={"delay": "1m"}, target=target)["id"]
    wangtimer.advance(minutes=2)
    assert firing_of(wangtimer, timer)["status"] == "succeeded"


def test_without_a_word_in_time_it_is_tried_again_as_often_as_its_policy_says_and_is_a_dead_letter(
    wangtimer: WangTimer,
) -> None:
    timer = accepted(wangtimer, ack="10m", attempts=3)
    wangtimer.advance(minutes=40)
    assert attempts_of(wangtimer) == [1, 2, 3]
    pauses = [(after.at - before.at).total_seconds() for before, after in pairwise(wangtimer.calls)]
    assert all(605 <= one <= 611 for one in pauses)
    firing = firing_of(wangtimer, timer)
    assert (firing["status"], firing["attempt"]) == ("failed", 3)
    assert "did not say in time that it is done" in firing["error"]
    history = wangtimer.client.get_firing(firing["id"])["attempts"]
    assert [(one["attempt"], one["status"], one["httpStatus"]) for one in history] == [
        (number, "failed", 202) for number in (1, 2, 3)
    ]
    assert all(one["sentAt"] for one in history)
    (letter,) = wangtimer.client.dead_letters()
    assert (letter["reason"], letter["attempt"]) == ("not_acked", 3)


@pytest.mark.parametrize("attempt", [1, 2])
def test_work_that_is_done_after_its_last_attempt_has_failed_is_no_dead_letter(
    wangtimer: WangTimer, attempt: int
) -> None:
    timer = accepted(wangtimer, ack="10m", attempts=2)
    wangtimer.advance(minutes=40)
    assert firing_of(wangtimer, timer)["status"] == "failed"
    with pytest.raises(Conflict):
        wangtimer.client.heartbeat_firing(*token_of(wangtimer.calls[attempt - 1]))
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[attempt - 1]))
    assert firing_of(wangtimer, timer)["status"] == "succeeded"
    assert list(wangtimer.client.dead_letters()) == []


def test_a_heartbeat_gives_it_its_whole_time_anew(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    told = token_of(wangtimer.calls[0])
    for _ in range(4):
        wangtimer.advance(minutes=8)
        assert wangtimer.client.heartbeat_firing(*told)["ackBy"] == firing_of(wangtimer, timer)["ackBy"]
    assert attempts_of(wangtimer) == [1]
    wangtimer.client.ack_firing(*told)
    assert firing_of(wangtimer, timer)["status"] == "succeeded"


def test_after_the_last_heartbeat_the_time_runs_out(wangtimer: WangTimer) -> None:
    accepted(wangtimer)
    wangtimer.advance(minutes=5)
    wangtimer.client.heartbeat_firing(*token_of(wangtimer.calls[0]))
    wangtimer.advance(minutes=9)
    assert attempts_of(wangtimer) == [1]
    wangtimer.advance(minutes=2)
    assert attempts_of(wangtimer) == [1, 2]


def test_a_nack_has_it_tried_again_at_once_by_its_policy(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    wangtimer.client.nack_firing(*token_of(wangtimer.calls[0]), error="no rows")
    waiting = firing_of(wangtimer, timer)
    assert (waiting["status"], waiting["error"]) == ("pending", "the target said that it failed: no rows")
    wangtimer.advance(seconds=10)
    assert attempts_of(wangtimer) == [1, 2]
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[1]))
    assert firing_of(wangtimer, timer)["status"] == "succeeded"


@pytest.mark.parametrize(("attempts", "final"), [(3, True), (1, False)])
def test_a_final_nack_and_that_of_the_last_attempt_fail_it_for_good(
    wangtimer: WangTimer, attempts: int, final: bool
) -> None:
    timer = accepted(wangtimer, attempts=attempts)
    wangtimer.client.nack_firing(*token_of(wangtimer.calls[0]), final=final)
    assert firing_of(wangtimer, timer)["status"] == "failed"
    (letter,) = wangtimer.client.dead_letters()
    assert letter["reason"] == "nacked"
    wangtimer.advance(hours=1)
    assert attempts_of(wangtimer) == [1]


def test_a_repeated_ack_changes_nothing_and_a_nack_after_it_is_refused(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    told = token_of(wangtimer.calls[0])
    wangtimer.client.ack_firing(*told)
    before = firing_of(wangtimer, timer)
    wangtimer.advance(minutes=1)
    wangtimer.client.ack_firing(*told)
    assert firing_of(wangtimer, timer) == before
    for refused in (wangtimer.client.nack_firing, wangtimer.client.heartbeat_firing):
        with pytest.raises(Conflict, match="has its outcome already"):
            refused(*told)


def test_work_that_is_done_after_its_time_counts_and_ends_the_next_attempt(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    wangtimer.advance(minutes=11)
    assert attempts_of(wangtimer) == [1, 2]
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))
    assert firing_of(wangtimer, timer)["status"] == "succeeded"
    wangtimer.advance(hours=1)
    assert attempts_of(wangtimer) == [1, 2]


@pytest.mark.parametrize("says", ["heartbeat_firing", "nack_firing"])
def test_the_token_of_an_attempt_that_others_follow_says_only_that_it_is_done(
    wangtimer: WangTimer, says: str
) -> None:
    accepted(wangtimer)
    wangtimer.advance(minutes=11)
    speak: Callable[..., object] = getattr(wangtimer.client, says)
    with pytest.raises(Conflict, match="is at a later one"):
        speak(*token_of(wangtimer.calls[0]))


def test_no_other_token_is_good(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    firing_id, token = token_of(wangtimer.calls[0])
    other = f"{timer}-{int(firing_id.partition('-')[2]) + 1}"
    for one, given in ((firing_id, token[:-1] + "!"), (firing_id, "2" + token[1:]), (other, token)):
        with pytest.raises(Refused, match="none of this firing"):
            wangtimer.client.ack_firing(one, given)
    assert firing_of(wangtimer, timer)["status"] == "accepted"


def test_a_named_target_may_have_it_and_its_timers_differ(wangtimer: WangTimer) -> None:
    wangtimer.client.put_target("reports", url=URL, ackTimeout="1h")
    timer = accepted(wangtimer, target={"name": "reports"})
    firing = firing_of(wangtimer, timer)
    assert firing["status"] == "accepted"
    assert firing["ackBy"][11:13] != firing["acceptedAt"][11:13]


HOURLY: dict[str, Any] = {"schedule": {"every": "1h"}, "target": {"url": URL, "ackTimeout": "10m"}}


def test_what_was_accepted_before_a_disable_may_still_say_that_it_is_done(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer, **HOURLY)
    wangtimer.advance(hours=1)
    wangtimer.client.disable_timer(timer)
    told = token_of(wangtimer.calls[0])
    wangtimer.advance(minutes=5)
    wangtimer.client.heartbeat_firing(*told)
    wangtimer.advance(minutes=9)
    wangtimer.client.ack_firing(*told)
    assert firing_of(wangtimer, timer)["status"] == "succeeded"


def test_once_its_time_is_over_it_is_skipped_as_disabled_and_no_word_of_it_counts(
    wangtimer: WangTimer,
) -> None:
    timer = accepted(wangtimer, **HOURLY)
    wangtimer.advance(hours=1)
    wangtimer.client.disable_timer(timer)
    wangtimer.advance(minutes=20)
    assert attempts_of(wangtimer) == [1]
    over = firing_of(wangtimer, timer)
    assert (over["status"], over["error"]) == ("skipped", "disabled")
    for word in ("ack_firing", "heartbeat_firing", "nack_firing"):
        with pytest.raises(Conflict, match="has its outcome already; see the firing's record"):
            getattr(wangtimer.client, word)(*token_of(wangtimer.calls[0]))
    assert firing_of(wangtimer, timer) == over


def test_no_word_of_a_target_leaves_the_process(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told to the Redis of this machine, if there was one."""
    accepted(wangtimer)
    monkeypatch.setattr(RedisConnection, "command", lambda *_: pytest.fail("Redis was asked"))
    wangtimer.client.heartbeat_firing(*token_of(wangtimer.calls[0]))
    wangtimer.client.ack_firing(*token_of(wangtimer.calls[0]))


def restart_with(wangtimer: WangTimer, *keys: str) -> None:
    """Let the service have these secret keys, as after a restart; the first one makes tokens."""
    parts = wangtimer._parts
    vars(parts)["seals"] = Seals(read_secret_keys("\n".join(keys)))
    for name in ("ack_tokens", "long_work"):
        vars(parts).pop(name, None)


def test_a_rotation_of_the_secret_key_leaves_the_tokens_of_accepted_work_good(wangtimer: WangTimer) -> None:
    """Heartbeats and the last word come at the end of the longest `ackTimeout`, behind each step of the page."""
    timer = accepted(wangtimer, ack="7d")
    old, new = wangtimer._parts.settings.secret_keys.get_secret_value(), new_secret_key("new")
    told = token_of(wangtimer.calls[0])
    for keys in ((old, new), (new, old)):
        restart_with(wangtimer, *keys)
        wangtimer.advance(days=6, hours=23)
        wangtimer.client.heartbeat_firing(*told)
    restart_with(wangtimer, new)
    for word in ("ack_firing", "heartbeat_firing"):
        with pytest.raises(Refused, match="none of this firing"):
            getattr(wangtimer.client, word)(*told)
    restart_with(wangtimer, new, old)
    wangtimer.advance(days=6, hours=23)
    wangtimer.client.ack_firing(*told)
    assert firing_of(wangtimer, timer)["status"] == "succeeded"


def test_a_repeated_nack_says_that_the_attempt_has_ended(wangtimer: WangTimer) -> None:
    accepted(wangtimer)
    told = token_of(wangtimer.calls[0])
    wangtimer.client.nack_firing(*told)
    for speak in (wangtimer.client.nack_firing, wangtimer.client.ack_firing):
        with pytest.raises(Conflict, match="this attempt has ended, and the firing is at a later one"):
            speak(*told)


def test_a_nack_right_after_a_heartbeat_counts(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    told = token_of(wangtimer.calls[0])
    wangtimer.client.heartbeat_firing(*told)
    wangtimer.client.nack_firing(*told, final=True)
    assert firing_of(wangtimer, timer)["status"] == "failed"


def test_a_long_error_is_cut(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    wangtimer.client.nack_firing(*token_of(wangtimer.calls[0]), error="Traceback " * 500)
    assert firing_of(wangtimer, timer)["error"].startswith("the target said that it failed: Traceback ")


def test_who_knows_the_apps_signing_secret_cannot_make_a_token(wangtimer: WangTimer) -> None:
    timer = accepted(wangtimer)
    firing_id, _ = token_of(wangtimer.calls[0])
    secret = wangtimer.client.rotate_secret(overlap="0s")["secret"]
    forged = AckTokens((b64decode(secret.removeprefix("whsec_")),))
    moment = int(firing_id.partition("-")[2])
    with pytest.raises(Refused, match="none of this firing"):
        wangtimer.client.ack_firing(firing_id, forged.token(Member(timer, moment, 1)))


def test_an_attempt_that_was_never_accepted_cannot_be_said_to_be_done_once_it_has_ended(
    wangtimer: WangTimer,
) -> None:
    timer = accepted(wangtimer)
    wangtimer.client.nack_firing(*token_of(wangtimer.calls[0]))
    wangtimer.answer(500)
    wangtimer.advance(seconds=6)
    assert attempts_of(wangtimer) == [1, 2]
    with pytest.raises(Conflict):
        wangtimer.client.ack_firing(*token_of(wangtimer.calls[1]))
    assert firing_of(wangtimer, timer)["status"] == "pending"


def test_no_record_shows_the_token_where_a_target_sends_it_back(wangtimer: WangTimer) -> None:
    wangtimer.answer(lambda call: Answer(202, body=f"you sent {call.headers[HEADER]}"))
    target = {"url": URL, "ackTimeout": "10m"}
    timer = int(wangtimer.client.create_timer(key="echo", schedule={"delay": "1m"}, target=target)["id"])
    wangtimer.advance(minutes=2)
    assert firing_of(wangtimer, timer)["output"] == "you sent ***"
