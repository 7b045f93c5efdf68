"""What came due in an absence follows both policies of its timer, `misfire` and `overlap`: the table in docs/v1.md."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise, product

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.lots import a_twelfth
from tests.testing.operated import Operator
from tests.testing.timers import URL
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.testing import Answer, WangTimer

APP, REPORT = "test", "report"
OVERLAPS, MISFIRES = ("allow", "skip", "queueOne", "cancelOlder"), ("fire_all", "fire_latest", "skip")
# Firings are missed in the first two; in the others they wait.
MISSED, WAITED = ("pause", "outage"), ("limit", "failing host")
NO_CALLS = CallLimits({APP: CallLimit(at_once=0)})
S = timedelta(seconds=1)
CASES = list(product(OVERLAPS, MISFIRES, MISSED + WAITED))


def made_of(
    due: list[datetime], overlap: str, misfire: str, kind: str, grace: timedelta, ended: datetime
) -> list[datetime]:
    """Return which moments of an absence are made once it has ended, earliest first: the table."""
    if kind in MISSED and misfire != "fire_all":
        in_time = [moment for moment in due if ended - moment <= grace]
        due = due[-1:] if misfire == "fire_latest" and not in_time else in_time
    return {"allow": due, "skip": due[:1], "queueOne": due[:2], "cancelOlder": due[-1:]}[overlap]


def last_of_each_minute(moments: list[datetime]) -> list[datetime]:
    return list({moment.replace(second=0): moment for moment in moments}.values())


def be_absent(wangtimer: WangTimer, operator: Operator, kind: str, span: timedelta) -> None:
    """Let no call succeed for so long."""
    match kind:
        case "pause":
            operator.pause(f"app:{APP}")
            wangtimer.advance(span)
            operator.pause()
        case "limit":
            operator.limit(NO_CALLS)
            wangtimer.advance(span)
            operator.limit(CallLimits())
        case "failing host":
            wangtimer.answer(503)
            wangtimer.advance(span)
        case "outage":
            wangtimer.sleep(span)


def make(wangtimer: WangTimer, key: str, period: timedelta, **fields: object) -> None:
    wangtimer.client.create_timer(
        key=key,
        schedule={"every": f"{period // S}s"},
        target={"url": f"{URL}/{key}", "timeout": "10m"},
        retry={"backoff": "fixed", "pause": "1s", "attempts": 100},
        **fields,
    )


@pytest.mark.parametrize("case", a_twelfth(CASES), ids="-".join)
@settings(max_examples=3, phases=[Phase.generate])
@given(
    period=st.integers(4, 12).map(lambda number: number * S),
    periods=st.integers(2, 6),
    took=st.sampled_from([0.1, 0.4, 0.9, 1.6, 2.6]),
    graces=st.sampled_from([0, 1, 2, 99]),
    has_called=st.booleans(),
)
def test_what_came_due_in_an_absence_is_made_as_the_table_says(
    case: tuple[str, str, str],
    period: timedelta,
    periods: int,
    took: float,
    graces: int,
    has_called: bool,
) -> None:
    overlap, misfire, kind = case
    answer, grace = Answer(200, after=took * period), max(S, graces * period)
    with WangTimer() as wangtimer:
        operator = Operator(wangtimer)
        if kind == "failing host":  # this one's calls tell that it fails
            make(wangtimer, "other", S)
        wangtimer.answer(answer, f"{URL}/{REPORT}")
        make(
            wangtimer, REPORT, period, overlap=overlap, misfire={"policy": misfire, "grace": f"{grace // S}s"}
        )
        first = wangtimer.now + period
        # An absence begins and ends between two moments, when no call is under way.
        wangtimer.advance((2.5 if has_called and took < 0.5 else 0.5) * period)
        began = wangtimer.now
        be_absent(wangtimer, operator, kind, periods * period)
        ended, before = wangtimer.now, len(wangtimer.calls_of(REPORT))
        wangtimer.answer(200)
        wangtimer.answer(answer, f"{URL}/{REPORT}")
        wangtimer.advance(15 * S + 6 * period)
        calls = wangtimer.calls_of(REPORT)
        firings = wangtimer.client.firings(timer=f"key:{REPORT}", since=began, until=ended)
        outcomes = [one["status"] for one in firings][::-1]
    moments = [first + number * period for number in range(20)]
    due = [moment for moment in moments if began < moment < ended]
    later = [(call.fire_at, call.at) for call in calls[before:]]
    assert kind == "failing host" or not [call for call in calls[:before] if call.at > began]
    assert len(outcomes) == len(due)
    assert "pending" not in outcomes
    if (overlap, kind) == ("cancelOlder", "failing host"):
        # One that was handed on before, to try the host, may be called too: what it brings does not count.
        newest = max(moment for moment in moments if moment <= later[0][1])
        assert newest in dict(later)
        assert {*outcomes[:-1]} <= {"skipped"}
    else:
        made = Counter(made_of(due, overlap, misfire, kind, grace, ended))
        came = Counter(fire_at for fire_at, _ in later if fire_at < ended)
        if (overlap, kind) == ("cancelOlder", "outage"):
            # The firings of each minute come after those of the one before: the last of each may be called.
            assert made <= came <= made | Counter(last_of_each_minute(due))
            assert {*outcomes[:-1]} <= {"skipped", "missed"}
        else:
            assert came == made
    if overlap in ("skip", "queueOne"):
        assert all(at + took * period <= next_at for (_, at), (_, next_at) in pairwise(later))
