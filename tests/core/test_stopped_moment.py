"""Whether switching a timer off came in time for its next moment."""

import pytest

from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.stopped_moment import StopState, stopped_moment
from wangtimer.core.schedules.schedule import Once, Schedule

NOW = 1_795_198_620_000
REACH = 1_500
DAILY: Schedule = Cron.parse("0 0 * * *")
NEXT_DAY = DAILY.first_after(NOW)
SECONDLY: Schedule = Cron.parse("* * * * * *")
CANCELLED, IN_FLIGHT, FIRED = StopState.CANCELLED, StopState.IN_FLIGHT, StopState.ALREADY_FIRED


def row(ago_ms: int, status: str, attempt: int = 1, due_in_ms: int = 0) -> Firing:
    return Firing(7, NOW - ago_ms, 0, status=FiringStatus(status), due_at=NOW + due_in_ms, attempt=attempt)


@pytest.mark.parametrize(
    ("schedule", "latest", "was_sent", "expected"),
    [
        (Once(NOW + REACH + 1), None, False, (NOW + REACH + 1, CANCELLED)),
        (Once(NOW + REACH), None, False, (NOW + REACH, IN_FLIGHT)),
        (Once(NOW + 1), None, False, (NOW + 1, IN_FLIGHT)),
        (Once(NOW), row(0, "pending"), False, (NOW, IN_FLIGHT)),
        (Once(NOW - 9), row(9, "succeeded"), True, (NOW - 9, FIRED)),
        (Once(NOW - 9), row(9, "failed", 5), True, (NOW - 9, FIRED)),
        (Once(NOW - 9), row(9, "failed", 5), False, None),
        (Once(NOW - 9), row(9, "pending", 2), True, (NOW - 9, FIRED)),
        (Once(NOW - 9), row(9, "pending", 2, REACH + 1), False, (NOW - 9, CANCELLED)),
        (Once(NOW - 9), row(9, "pending", 2, REACH), False, (NOW - 9, IN_FLIGHT)),
        (Once(NOW - 9), row(9, "skipped"), False, (NOW - 9, CANCELLED)),
        (Once(NOW - 9), row(9, "skipped", 2), True, (NOW - 9, FIRED)),
        (Once(NOW - 9), None, False, None),
        (DAILY, None, False, (NEXT_DAY, CANCELLED)),
        (DAILY, row(200, "pending"), False, (NOW - 200, IN_FLIGHT)),
        (DAILY, row(200, "pending", 2), False, (NEXT_DAY, CANCELLED)),
        (DAILY, row(200, "succeeded"), True, (NEXT_DAY, CANCELLED)),
        (SECONDLY, row(0, "succeeded"), True, (NOW + 1_000, IN_FLIGHT)),
    ],
    ids=str,
)
def test_what_becomes_of_the_next_moment(
    schedule: Schedule, latest: Firing | None, was_sent: bool, expected: tuple[int, StopState] | None
) -> None:
    found = stopped_moment(7, schedule, latest, was_sent, NOW, NOW + REACH)
    assert (found and found[1:]) == expected


def test_a_moment_behind_the_reach_of_an_earlier_stop_was_cancelled_though_it_has_no_outcome_yet() -> None:
    found = stopped_moment(7, DAILY, row(200, "pending"), False, NOW, NOW - 201)
    assert found == (7, NOW - 200, CANCELLED)
