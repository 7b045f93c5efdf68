"""Failed calls are tried again as their timer, its target or the deployment says, in the real stages."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.testing.timers import URL, times
from wangtimer.client import ClientError
from wangtimer.testing import Answer, MadeCall, WangTimer


def once(wangtimer: WangTimer, key: str = "order", **more: Any) -> int:
    """Make a timer of one moment, in a minute; return its id."""
    fields: dict[str, Any] = {"schedule": {"delay": "1m"}, "target": {"url": URL}} | more
    return wangtimer.client.create_timer(key=key, **fields)["id"]


def firing_of(wangtimer: WangTimer, timer: int) -> Any:
    """Return a timer's only firing, with its attempts."""
    (found,) = wangtimer.client.firings(timer=timer)
    return wangtimer.client.get_firing(found["id"])


def pauses(calls: list[MadeCall]) -> list[float]:
    """Return the seconds between calls."""
    return [(b.at - a.at) / timedelta(seconds=1) for a, b in pairwise(calls)]


def test_by_default_a_target_may_be_away_for_ten_minutes(wangtimer: WangTimer) -> None:
    back_at = wangtimer.now + timedelta(minutes=11)
    wangtimer.answer(lambda call: 200 if call.at >= back_at else 500)
    timer = once(wangtimer)
    wangtimer.advance(minutes=20)
    assert firing_of(wangtimer, timer)["status"] == "succeeded"
    assert len(wangtimer.calls) <= 11


def test_a_timer_has_pauses_of_its_own_days_ahead_too(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    timer = once(wangtimer, retry={"pauses": ["30s", "10m", "60h"]})
    wangtimer.advance(days=4)
    assert pauses(wangtimer.calls) == pytest.approx([30, 600, 60 * 3_600], abs=0.1)
    firing = firing_of(wangtimer, timer)
    assert (firing["status"], [one["attempt"] for one in firing["attempts"]]) == ("failed", [1, 2, 3, 4])


def test_fixed_pauses(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    once(wangtimer, retry={"backoff": "fixed", "pause": "5s", "attempts": 4})
    wangtimer.advance(minutes=5)
    assert pauses(wangtimer.calls) == pytest.approx([5, 5, 5], abs=0.1)


@pytest.mark.parametrize(("status", "calls"), [(404, 1), (409, 3), (500, 3)])
def test_an_answer_may_be_final(wangtimer: WangTimer, status: int, calls: int) -> None:
    wangtimer.answer(status)
    once(wangtimer, retry={"attempts": 3, "finalStatuses": ["4xx"], "retriedStatuses": ["409"]})
    wangtimer.advance(minutes=5)
    assert len(wangtimer.calls) == calls


@pytest.mark.parametrize("status", [429, 503])
def test_a_target_says_when_to_come_again(wangtimer: WangTimer, status: int) -> None:
    answers = iter([Answer(status, retry_after="90"), Answer(200)])
    wangtimer.answer(lambda _: next(answers))
    once(wangtimer)
    wangtimer.advance(minutes=10)
    assert pauses(wangtimer.calls) == pytest.approx([90], abs=0.1)


def test_it_may_say_so_with_a_date(wangtimer: WangTimer) -> None:
    at = wangtimer.now.astimezone(UTC).replace(microsecond=0) + timedelta(minutes=7)
    answers = iter([Answer(503, retry_after=f"{at:%a, %d %b %Y %H:%M:%S} GMT"), Answer(200)])
    wangtimer.answer(lambda _: next(answers))
    once(wangtimer)
    wangtimer.advance(minutes=10)
    assert [call.at.astimezone(UTC).replace(microsecond=0) for call in wangtimer.calls][1:] == [at]


def test_the_record_of_a_redirect_says_where_it_pointed(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(302, location="https://user:pw@new.example/due?token=secret#x"))
    timer = once(wangtimer, retry={"attempts": 1})
    wangtimer.advance(minutes=2)
    error = firing_of(wangtimer, timer)["error"]
    assert error == "HTTP 302: it points to https://new.example/due, and redirects are not followed"


def test_the_policy_of_a_target_counts_where_its_timer_has_none(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    wangtimer.client.put_target("shop", url=URL, retry={"attempts": 2})
    through = {"name": "shop"}
    once(wangtimer, "its target's", target=through)
    once(wangtimer, "its own", target=through, retry={"attempts": 3})
    wangtimer.advance(minutes=5)
    assert len(wangtimer.calls_of("its target's")) == 2
    assert len(wangtimer.calls_of("its own")) == 3
    wangtimer.client.patch_target("shop", retry=None)
    once(wangtimer, "the deployment's", target=through)
    wangtimer.advance(minutes=30)
    assert len(wangtimer.calls_of("the deployment's")) == 11


def test_a_change_counts_for_the_attempts_that_follow(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    timer = once(wangtimer, retry={"backoff": "fixed", "pause": "1m", "attempts": 9})
    wangtimer.advance(minutes=3, seconds=30)
    assert len(wangtimer.calls) == 3
    changed = wangtimer.client.patch_timer(timer, retry={"attempts": 5})
    assert changed["retry"] == {"attempts": 5, "backoff": "fixed", "pause": "1m"}
    wangtimer.advance(minutes=30)
    assert len(wangtimer.calls) == 5
    usual = wangtimer.client.patch_timer(
        timer, retry={"attempts": None, "finalStatuses": None, "backoff": None}
    )
    assert usual["retry"] == {"attempts": 11, "backoff": "exponential", "pause": "1m", "longestPause": "5m"}
    assert "retry" not in wangtimer.client.patch_timer(timer, retry=None)


def test_a_replay_begins_a_row_of_its_own(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    timer = once(wangtimer, retry={"attempts": 2})
    wangtimer.advance(minutes=5)
    for _ in range(2):
        wangtimer.client.replay_firing(firing_of(wangtimer, timer)["id"])
        wangtimer.advance(minutes=5)
    assert [call.attempt for call in wangtimer.calls] == [1, 2, 101, 102, 201, 202]
    assert len({call.firing_id for call in wangtimer.calls}) == 1


def test_a_firing_may_be_replayed_as_often_as_its_attempts_can_be_numbered(
    wangtimer: WangTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.core.retry._LAST_ROW_BEGINS", 101)
    wangtimer.answer(500)
    timer = once(wangtimer, retry={"attempts": 1})
    wangtimer.advance(minutes=2)
    firing = firing_of(wangtimer, timer)["id"]
    assert wangtimer.client.replay_firing(firing)["replayed"] == 1
    wangtimer.advance(minutes=2)
    refused = wangtimer.client.replay_firing(firing)
    assert refused["replayed"] == 0
    assert refused["notReplayed"][0]["detail"] == "it was replayed as often as can be"
    assert firing_of(wangtimer, timer)["status"] == "failed"


@pytest.mark.parametrize(
    ("retry", "said"),
    [
        ({"attempts": 0}, "retry.attempts"),
        ({"attempts": 101}, "retry.attempts"),
        ({"pauses": []}, "retry.pauses"),
        ({"pauses": ["1s", "soon"]}, "retry.pauses.1"),
        ({"pauses": ["10ms"]}, "retry.pauses.0"),
        ({"pauses": ["1s"], "attempts": 3}, "give one of them"),
        ({"pauses": ["70h", "6h"]}, "75 h"),
        ({"finalStatuses": ["200"]}, "finalStatuses: .*not a status"),
        ({"finalStatuses": ["404"] * 31}, "finalStatuses"),
        ({"within": "x"}, "retry.within"),
        ({"backoff": "random"}, "retry.backoff"),
        ({"tries": 3}, "retry"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(
    wangtimer: WangTimer, retry: dict[str, Any], said: str
) -> None:
    with pytest.raises(ClientError, match=said):
        once(wangtimer, retry=retry)
    with pytest.raises(ClientError, match=said):
        wangtimer.client.put_target("shop", url=URL, retry=retry)  # type: ignore[arg-type]
    assert list(wangtimer.client.timers()) == []
    assert list(wangtimer.client.targets()) == []


@pytest.mark.test_all
def test_calls_come_at_their_moments_beside_a_target_that_fails(wangtimer: WangTimer) -> None:
    wangtimer.answer(500)
    wangtimer.answer(200, url="http://good.example/")
    once(wangtimer, "bad", schedule={"every": "1s"})
    once(wangtimer, "good", schedule={"cron": "0 * * * *"}, target={"url": "http://good.example/"})
    wangtimer.advance(hours=1)
    assert times(wangtimer.calls_of("good")) == ["01-04 01:00:00.000"]
    assert isinstance(wangtimer.now, datetime)
