"""What came due before a change, and waits, is made as it was planned; what comes due after it is not."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from tests.api.test_rules_follower import HOUR_LATER, NEW, SAME, ZONE, Install, follow, install
from tests.lots import a_twelfth
from tests.testing.operated import Operator
from tests.testing.timers import URL, Make
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.testing import Answer, WangTimer

__all__ = ["install"]

APP, KEY = "test", "key:nightly"
AT_NINE = {"cron": "*/10 * 9 * * *", "timezone": ZONE}
ON_THE_FIRST = AT_NINE | {"cron": "*/10 * 9 1 3 *"}
NEVER = AT_NINE | {"cron": "0 0 0 1 1 *"}
TODAY, OTHER_DAYS = "2027-03-01", ("2001-01-01", "2001-01-02")


def upload(wangtimer: WangTimer, *days: str) -> None:
    wangtimer.client.put_calendar("plant", days=list(days))


def close(wangtimer: WangTimer, _install: Install) -> None:
    upload(wangtimer, TODAY)


def close_and_go_on(wangtimer: WangTimer, _install: Install) -> None:
    upload(wangtimer, TODAY)
    wangtimer.advance(seconds=2)
    upload(wangtimer, TODAY, *OTHER_DAYS)


def edit(wangtimer: WangTimer, _install: Install) -> None:
    wangtimer.client.patch_timer(KEY, schedule=NEVER)


def edit_twice(wangtimer: WangTimer, _install: Install) -> None:
    edit(wangtimer, _install)
    wangtimer.advance(seconds=2)
    wangtimer.client.patch_timer(KEY, schedule=NEVER | {"cron": "0 0 0 2 1 *"})


def learn_rules(wangtimer: WangTimer, install: Install) -> None:
    """Let nine o'clock come an hour later, from now on."""
    install(HOUR_LATER, NEW)
    follow(wangtimer._parts.rules_follower)


def put_off(_wangtimer: WangTimer, _install: Install) -> None:
    """Do nothing: the answer to the first call comes now, and asks for it."""


CHANGES: dict[str, Callable[[WangTimer, Install], None]] = {
    "upload": close,
    "two uploads": close_and_go_on,
    "edit": edit,
    "two edits": edit_twice,
    "answer": put_off,
    "zone rules": learn_rules,
}
# The moments that come due while it waits, before it is changed.
DUE = ("00:20", "00:30", "00:40", "00:50")
WAITS = ("pause", "limit", "failing host")
NO_CALL = CallLimits({APP: CallLimit(at_once=0)})


def begin_waiting(wangtimer: WangTimer, operator: Operator, for_what: str) -> None:
    match for_what:
        case "pause":
            operator.pause(f"app:{APP}")
        case "limit":
            operator.limit(NO_CALL)
        case "failing host":  # the calls of this one tell that it fails
            wangtimer.answer(503)
            wangtimer.client.create_timer(
                key="other", schedule={"every": "1s"}, target={"url": f"{URL}/other"}
            )


def end_waiting(wangtimer: WangTimer, operator: Operator) -> None:
    operator.pause()
    operator.limit(CallLimits())
    wangtimer.answer(200)


@pytest.mark.parametrize("case", a_twelfth(list(product(CHANGES, WAITS))), ids="-".join)
def test_what_waits_is_made_though_its_timer_was_changed(
    make_wangtimer: Make, install: Install, case: tuple[str, str]
) -> None:
    change, for_what = case
    install(SAME, "2026.1")
    wangtimer = make_wangtimer(start="2027-03-01T08:00:00Z")
    wangtimer._parts.rules_follower.sweep()
    operator = Operator(wangtimer)
    upload(wangtimer, *OTHER_DAYS)
    if change == "answer":
        wangtimer.answer(Answer(200, after=timedelta(seconds=45), control="delay=1d"))
    target: dict[str, Any] = {"url": URL, "timeout": "10m", "allowControl": True}
    wangtimer.client.create_timer(
        key="nightly", schedule=AT_NINE | {"excludeCalendar": "plant"}, target=target
    )
    wangtimer.advance(seconds=15)
    begin_waiting(wangtimer, operator, for_what)
    wangtimer.advance(seconds=41)
    CHANGES[change](wangtimer, install)
    wangtimer.advance(seconds=19)
    end_waiting(wangtimer, operator)
    before = len(wangtimer.calls_of("nightly"))
    wangtimer.advance(seconds=90)
    made = Counter(f"{call.fire_at:%M:%S}" for call in wangtimer.calls_of("nightly")[before:])
    assert made == Counter(DUE)
    later = wangtimer.client.firings(timer=KEY, since="2027-03-01T08:00:59Z", until=wangtimer.now)
    assert {one["error"] for one in later} <= {"superseded"}


@pytest.mark.parametrize("for_what", a_twelfth([*WAITS, "outage"]))
@pytest.mark.parametrize("was_edited", [False, True])
def test_what_waits_is_made_before_new_zone_rules_are_followed(
    make_wangtimer: Make, install: Install, was_edited: bool, for_what: str
) -> None:
    """Processes start with the new rules, and no timer was planned anew yet. Its edit was over two days ago."""
    install(SAME, "2026.1")
    wangtimer = make_wangtimer(start="2027-02-26T07:00:00Z")
    wangtimer._parts.rules_follower.sweep()
    operator = Operator(wangtimer)
    wangtimer.client.create_timer(
        key="nightly", schedule=NEVER if was_edited else ON_THE_FIRST, target={"url": URL}
    )
    if was_edited:
        wangtimer.client.patch_timer(KEY, schedule=ON_THE_FIRST)
    wangtimer.advance_to("2027-03-01T08:00:15Z")
    begin_waiting(wangtimer, operator, for_what)
    (wangtimer.sleep if for_what == "outage" else wangtimer.advance)(seconds=40)
    install(HOUR_LATER, NEW)
    before = len(wangtimer.calls_of("nightly"))
    end_waiting(wangtimer, operator)
    wangtimer.advance(seconds=30)
    made = Counter(f"{call.fire_at:%M:%S}" for call in wangtimer.calls_of("nightly")[before:])
    assert {moment: made[moment] for moment in DUE} == dict.fromkeys(DUE, 1)
