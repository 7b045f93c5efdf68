"""A target that answers 410 is gone for good: its timer is disabled, unless its policy or its owner says otherwise."""

from datetime import timedelta
from typing import Any

import pytest

from tests.testing.timers import URL
from wangtimer.testing import WangTimer


def each_minute(wangtimer: WangTimer, key: str = "minutely", **more: Any) -> int:
    """Make a timer that fires each minute; return its id."""
    fields: dict[str, Any] = {"schedule": {"every": "1m"}, "target": {"url": URL}} | more
    return wangtimer.client.create_timer(key=key, **fields)["id"]


def is_enabled(wangtimer: WangTimer, timer: int) -> bool:
    return wangtimer.client.get_timer(timer)["enabled"]


def test_the_timer_is_disabled_and_the_record_and_the_audit_say_so(wangtimer: WangTimer) -> None:
    wangtimer.answer(410)
    timer = each_minute(wangtimer)
    wangtimer.advance(minutes=5)
    assert len(wangtimer.calls) == 1
    assert not is_enabled(wangtimer, timer)
    (firing,) = [one for one in wangtimer.client.firings(timer=timer) if one["status"] == "failed"]
    assert firing["error"].startswith("HTTP 410: gone for good")
    (entry,) = [one for one in wangtimer.client.audit(kind="timer") if one["action"] == "disable"]
    assert (entry["key"]["name"], entry["subject"]) == ("the target answered 410", str(timer))


def test_others_go_on(wangtimer: WangTimer) -> None:
    gone, other = each_minute(wangtimer, "gone"), each_minute(wangtimer, "other")
    wangtimer.answer(lambda call: 410 if call.timer_id == gone else 200)
    wangtimer.advance(minutes=5)
    assert [is_enabled(wangtimer, one) for one in (gone, other)] == [False, True]
    assert len([call for call in wangtimer.calls if call.timer_id == other]) == 5


@pytest.mark.parametrize("words", ["410", "4xx"])
def test_who_tries_410_again_is_not_disabled(wangtimer: WangTimer, words: str) -> None:
    back_at = wangtimer.now + timedelta(minutes=2)
    wangtimer.answer(lambda call: 200 if call.at >= back_at else 410)
    timer = each_minute(wangtimer, retry={"retriedStatuses": [words]})
    wangtimer.advance(minutes=5)
    assert is_enabled(wangtimer, timer)
    assert {one["status"] for one in wangtimer.client.firings(timer=timer)} <= {"succeeded", "pending"}


def test_one_that_fails_for_good_by_410_though_it_is_tried_again_is_not_disabled(
    wangtimer: WangTimer,
) -> None:
    wangtimer.answer(410)
    timer = each_minute(wangtimer, retry={"attempts": 2, "retriedStatuses": ["410"]})
    wangtimer.advance(minutes=3)
    assert is_enabled(wangtimer, timer)


def test_enabled_again_it_is_called_again(wangtimer: WangTimer) -> None:
    wangtimer.answer(410)
    timer = each_minute(wangtimer)
    wangtimer.advance(minutes=3)
    wangtimer.answer(200)
    wangtimer.client.enable_timer(timer)
    wangtimer.advance(minutes=3)
    assert is_enabled(wangtimer, timer)
    assert len(wangtimer.calls) >= 3


@pytest.mark.parametrize("words", ["410", "4xx"])
def test_who_names_410_final_loses_the_firing_only(wangtimer: WangTimer, words: str) -> None:
    wangtimer.answer(410)
    timer = each_minute(wangtimer, retry={"finalStatuses": [words]})
    wangtimer.advance(minutes=3)
    assert is_enabled(wangtimer, timer)
    assert [call.attempt for call in wangtimer.calls] == [1, 1, 1]


@pytest.mark.parametrize("status", [404, 410])
def test_a_timer_of_one_moment_ends_as_after_any_failure(wangtimer: WangTimer, status: int) -> None:
    wangtimer.answer(status)
    retry = {"finalStatuses": ["404"]}
    fields: dict[str, Any] = {"schedule": {"delay": "1m"}, "target": {"url": URL}, "retry": retry}
    timer = wangtimer.client.create_timer(key="order", **fields)["id"]
    wangtimer.advance(minutes=3)
    assert is_enabled(wangtimer, timer)
    assert [one["status"] for one in wangtimer.client.firings(timer=timer)] == ["failed"]
