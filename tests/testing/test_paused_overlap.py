"""What came due during a pause or an outage follows both policies of its timer: `misfire` and `overlap`."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.testing.timers import URL
from wangtimer.core.flow.pauses import Pauses
from wangtimer.testing import Answer, WangTimer

APP = "test"
STEP = timedelta(milliseconds=500)


def pause(wangtimer: WangTimer, *names: str) -> None:
    """Let these be paused, and nothing else."""
    wangtimer._parts.pauses_replica.write(Pauses(frozenset(names)))
    wangtimer._parts.throttle.read_rules()


def go_on(wangtimer: WangTimer, seconds: float) -> None:
    """Let time pass, with looks at what waits in lanes, as a callback process does."""
    parts = wangtimer._parts
    parts.puller.fire_by(parts.executor.fire_pulled)
    for _ in range(int(seconds / STEP.total_seconds())):
        wangtimer.advance(STEP)
        parts.mover.move_all()
        parts.puller.look()
        while parts.puller.has_lanes_to_pull:
            parts.puller.pull_next()


def make_report(wangtimer: WangTimer, overlap: str, misfire: str) -> None:
    wangtimer.answer(Answer(200, after=timedelta(milliseconds=50)))
    wangtimer.client.create_timer(
        key="report",
        schedule={"every": "2s"},
        target={"url": URL},
        overlap=overlap,
        misfire={"policy": misfire, "grace": "1s"},
    )


def called_since(wangtimer: WangTimer, began: datetime, ended: datetime) -> list[str]:
    """Return the moments between these that were called, by their seconds."""
    return sorted({f"{call.fire_at:%S}" for call in wangtimer.calls if began < call.fire_at < ended})


ALL, FIRST, FIRST_TWO, LAST = [f"{at:02}" for at in range(6, 16, 2)], ["06"], ["06", "08"], ["14"]
# A firing within its grace was not missed, so `skip` leaves the last one.
WANTED = [
    ("allow", "fire_all", ALL),
    ("skip", "fire_all", FIRST),
    ("queueOne", "fire_all", FIRST_TWO),
    ("cancelOlder", "fire_all", LAST),
    *((overlap, "fire_latest", LAST) for overlap in ("allow", "skip", "queueOne", "cancelOlder")),
    *((overlap, "skip", LAST) for overlap in ("allow", "skip", "queueOne", "cancelOlder")),
]


def pause_for_10_s(wangtimer: WangTimer) -> None:
    pause(wangtimer, f"app:{APP}")
    began = wangtimer.now
    go_on(wangtimer, 10)
    assert not [call for call in wangtimer.calls if call.at > began]
    pause(wangtimer)


@pytest.mark.parametrize(
    "be_away", [pause_for_10_s, lambda wangtimer: wangtimer.sleep(seconds=10)], ids=["pause", "outage"]
)
@pytest.mark.parametrize(("overlap", "misfire", "made"), WANTED)
def test_what_came_due_meanwhile_follows_both_policies(
    wangtimer: WangTimer, be_away: Callable[[WangTimer], None], overlap: str, misfire: str, made: list[str]
) -> None:
    make_report(wangtimer, overlap, misfire)
    go_on(wangtimer, 4.5)
    began = wangtimer.now
    be_away(wangtimer)
    ended = wangtimer.now
    go_on(wangtimer, 5)
    assert called_since(wangtimer, began, ended) == made
