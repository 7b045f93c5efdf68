"""An answer may stop its timer, put it off, or set its next moment, where the timer allows that."""

from datetime import timedelta
from typing import Any

import pytest

from tests.testing.timers import URL
from wangtimer.testing import Answer, WangTimer
from wangtimer.testing.targets import MadeCall

EVERY_MINUTE = {"every": "1m"}
ALLOWED = {"url": URL, "allowControl": True}


def made(wangtimer: WangTimer, schedule: dict[str, Any], **target: Any) -> int:
    return wangtimer.client.create_timer(key="paced", schedule=schedule, target=ALLOWED | target)["id"]


def moments(wangtimer: WangTimer) -> list[str]:
    return [call.fire_at.strftime("%H:%M:%S") for call in wangtimer.calls]


def say_once(wangtimer: WangTimer, control: str, **more: Any) -> None:
    """Let the first answer control the timer."""
    wangtimer.answer(lambda call: Answer(200, control=control, **more) if len(wangtimer.calls) == 1 else 200)


def test_a_timer_is_stopped_and_the_audit_says_by_whom(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(200, control="stop"))
    timer = made(wangtimer, EVERY_MINUTE)
    wangtimer.advance(minutes=5)
    assert len(wangtimer.calls) == 1
    assert not wangtimer.client.get_timer(timer)["enabled"]
    (entry,) = [one for one in wangtimer.client.audit(kind="timer") if one["action"] == "disable"]
    assert (entry["key"]["name"], entry["subject"]) == ("the target's answer", str(timer))
    (firing,) = wangtimer.client.firings(status="succeeded")
    assert firing["error"] == ""


@pytest.mark.parametrize(
    ("schedule", "control", "expected"),
    [
        # The span counts from the moment, although the answer came 10 ms later.
        (EVERY_MINUTE, "delay=1m", ["00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00"]),
        (EVERY_MINUTE, "delay=3m", ["00:01:00", "00:04:00", "00:05:00", "00:06:00"]),
        ({"cron": "* * * * *"}, "delay=150s", ["00:01:00", "00:04:00", "00:05:00", "00:06:00"]),
        (EVERY_MINUTE, "next=2027-01-04T00:03:20Z", ["00:01:00", "00:03:20", "00:04:20", "00:05:20"]),
        (
            {"cron": "* * * * *"},
            "next=2027-01-04T01:03:20+01:00",
            ["00:01:00", "00:04:00", "00:05:00", "00:06:00"],
        ),
        ({"delay": "1m"}, "next=2027-01-04T00:04:30Z", ["00:01:00", "00:04:30"]),
        ({"delay": "1m"}, "delay = 2m", ["00:01:00", "00:03:00"]),
        # What is just past is a second away: a timer that paces itself fires once a second at most.
        ({"delay": "1m"}, "next=2027-01-04T00:00:30Z", ["00:01:00", "00:01:01"]),
    ],
)
def test_a_timer_is_put_off_or_has_another_next_moment(
    wangtimer: WangTimer, schedule: dict[str, Any], control: str, expected: list[str]
) -> None:
    say_once(wangtimer, control, after=timedelta(milliseconds=10))
    made(wangtimer, schedule)
    wangtimer.advance_to("2027-01-04T00:06:00Z")
    assert [one[:8] for one in moments(wangtimer)] == expected


def test_a_timer_of_one_moment_sets_the_next_one_again_and_again(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(200, control="delay=1h"))
    timer = made(wangtimer, {"delay": "1m"})
    wangtimer.advance(hours=5)
    assert len(wangtimer.calls) == 5
    assert len(list(wangtimer.client.firings(timer=timer, status="succeeded"))) == 5


def test_a_last_moment_by_number_stays_the_last(wangtimer: WangTimer) -> None:
    """Moments that pass while it is put off count, as those do that pass while it is disabled."""
    say_once(wangtimer, "delay=150s")
    made(wangtimer, EVERY_MINUTE | {"maxFirings": 5})
    wangtimer.advance(minutes=30)
    assert moments(wangtimer) == ["00:01:00", "00:04:00", "00:05:00"]


def test_a_timer_that_is_put_off_beyond_its_end_has_no_moment_left(wangtimer: WangTimer) -> None:
    say_once(wangtimer, "delay=1h")
    timer = made(wangtimer, EVERY_MINUTE | {"endAt": "2027-01-04T00:10:00Z"})
    wangtimer.advance(hours=3)
    assert moments(wangtimer) == ["00:01:00"]
    assert wangtimer.client.get_timer(timer)["nextFireAt"] is None


@pytest.mark.parametrize("target", [{"allowControl": False}, {"allowControl": None}])
def test_who_does_not_allow_it_is_left_alone(wangtimer: WangTimer, target: dict[str, Any]) -> None:
    wangtimer.answer(Answer(200, control="stop"))
    made(wangtimer, EVERY_MINUTE, **target)
    wangtimer.advance(minutes=3)
    assert len(wangtimer.calls) == 3
    assert {firing["error"] for firing in wangtimer.client.firings()} == {""}


def test_a_named_target_may_allow_it(wangtimer: WangTimer) -> None:
    wangtimer.client.put_target("till", url=URL, allowControl=True)
    wangtimer.answer(Answer(204, control="stop"))
    wangtimer.client.create_timer(schedule=EVERY_MINUTE, target={"name": "till"})
    wangtimer.advance(minutes=3)
    assert len(wangtimer.calls) == 1


def test_a_failed_call_controls_nothing(wangtimer: WangTimer) -> None:
    wangtimer.answer(Answer(400, control="stop", retry_after="stop"))
    made(wangtimer, EVERY_MINUTE)
    wangtimer.advance(minutes=2)
    assert {call.fire_at.minute for call in wangtimer.calls} == {1, 2}


@pytest.mark.parametrize(
    "control",
    [
        "",
        "halt",
        "stop=1",
        "delay",
        "delay=soon",
        "delay=11000d",
        "next=tomorrow",
        "next=3000-01-01T00:00:00Z",
        "next=2027-01-03T23:59:59Z",
    ],
)
def test_what_cannot_be_read_changes_nothing_and_the_record_says_what_to_write(
    wangtimer: WangTimer, control: str
) -> None:
    wangtimer.answer(Answer(200, control=control))
    timer = made(wangtimer, EVERY_MINUTE)
    wangtimer.advance(minutes=2)
    assert len(wangtimer.calls) == 2
    assert wangtimer.client.get_timer(timer)["version"] == 1
    for firing in wangtimer.client.firings(status="succeeded"):
        why = {"next=3000": "it is more than ten years ahead", "next=2027": "the moment is past"}
        said = f"the answer's X-WangTimer-Control {control!r} changes nothing: "
        said += why.get(
            control[:9], why["next=3000"] if control == "delay=11000d" else "write stop, delay=SPAN"
        )
        assert firing["error"].startswith(said) == bool(control)


def test_a_timer_that_was_changed_since_its_call_is_left_alone(wangtimer: WangTimer) -> None:
    timer = made(wangtimer, EVERY_MINUTE)

    def change(_call: MadeCall) -> Answer:
        wangtimer.client.patch_timer(timer, tags=[f"changed-{len(wangtimer.calls)}"])
        return Answer(200, control="stop")

    wangtimer.answer(change)
    wangtimer.advance(minutes=3)
    assert len(wangtimer.calls) == 3


def test_of_two_answers_the_first_counts(wangtimer: WangTimer) -> None:
    """The second call was of the version before."""
    wangtimer.answer(
        lambda call: (
            Answer(200, control="delay=10m", after=timedelta(seconds=3))
            if len(wangtimer.calls) == 1
            else Answer(200, control="stop", after=timedelta(seconds=5))
        )
    )
    timer = made(wangtimer, {"every": "1s"})
    wangtimer.advance(minutes=2)
    assert wangtimer.client.get_timer(timer)["enabled"]
