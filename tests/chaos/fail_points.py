"""Which fail points a process comes to, and what leads it there: the load, or a second fault."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tests.chaos import fail_point_faults as faults
from tests.chaos.fail_point_faults import Conclusion, Place, Preparation, Provocation
from tests.chaos.load import Shape
from wangtimer.core.fail_points import ArmedFailPoint, FailPoint, Harm, Side

# Firings a second to targets that misbehave: a sixth of them hang, and use up the places of their host in seconds.
FILLING_LANES = 60
# Firings a second, as the rows go from fail point to fail point.
STEPWISE_RATE = 100
# Of all but the API: two cannot listen at one address.
TWO_OF_ALL = dict.fromkeys(("beat", "scheduler", "migrate", "trigger", "callback"), 2)


@dataclass(frozen=True, slots=True)
class Reached:
    """Steps that processes come to when provoked; each point takes `each_s` at most.

    The `nth` time counts. Under load that is the second, for the first may come while the process still starts.
    `conclude` sees, within `ends_s` after the last of them, that what it provoked has come about.
    `badly_met` firings a second go to targets that misbehave, some of which hang for `timeout_ms`; Redis holds
    `lanes_memory_mb` of what waits for them, 0: a hundred firings a lane. `may_blame` firings may have failed as what
    killed its executors.
    """

    name: str
    steps: Mapping[str, tuple[FailPoint, ...]]
    provoke: Provocation = faults.load_alone
    prepare: Preparation = faults.nothing_first
    conclude: Conclusion = faults.nothing_else
    ends_s: float = 0
    nth: int = 2
    each_s: float = 12
    most_late_s: float | None = 18
    others_p99_ms: float | None = None
    copies: Mapping[str, int] = field(default_factory=lambda: TWO_OF_ALL)
    badly_met: int = 0
    timeout_ms: int = 5_000
    lanes_memory_mb: int = 100
    may_blame: int = 0
    rate: int = STEPWISE_RATE
    shape: Shape = Shape.ONE_SHOTS

    def places(self) -> list[Place]:
        """Return each process and fail point of it."""
        return [
            (process, point)
            for process, steps in self.steps.items()
            for point in _points(process, steps, self.nth)
        ]


WAITING_IN_LANES = Reached(
    "waiting in lanes",
    {"callback": (FailPoint.SQL_NOTE_LANE, FailPoint.LANE_ADD)},
    faults.time_to_recover,
    nth=1,
    each_s=30,
    badly_met=FILLING_LANES,
    # What waits in a lane is late for as long as its target hangs; the others by a start and a lease.
    most_late_s=None,
    others_p99_ms=12_000,
    timeout_ms=3_000,
)

REACHED = (
    Reached(
        "callback",
        {
            "callback": (
                FailPoint.CLAIM,
                FailPoint.RENEW,
                FailPoint.RELEASE,
                FailPoint.SQL_SETTLE,
                FailPoint.SEND,
            )
        },
        # Without it one firing may be met by two deaths in a row; then it is tried apart, behind others that hang.
        faults.time_to_recover,
        each_s=25,
        # What is for a target that hangs waits in its lane for as long as that lasts.
        most_late_s=None,
        others_p99_ms=12_000,
        timeout_ms=3_000,
        # Some targets hang, so that executors have leases to renew.
        badly_met=6,
    ),
    Reached("reading definitions", {"callback": (FailPoint.DEFINE_READ,)}, faults.time_to_recover, each_s=25),
    Reached(
        "trigger",
        {
            "trigger": (
                FailPoint.TURN,
                FailPoint.PUBLISH_CALLBACK,
                FailPoint.AGENDA_RAISE,
                FailPoint.LOOK,
                FailPoint.AGENDA_CLOSE,
                FailPoint.UNLOCK,
            )
        },
        # Slices close after each pulse; then the trigger that was started last gets its share of them.
        each_s=22,
        shape=Shape.PULSES,
    ),
    # One, so that every slice that opens is its.
    Reached(
        "scheduler",
        {"scheduler": (FailPoint.PUBLISH_TRIGGER,)},
        each_s=22,
        copies=TWO_OF_ALL | {"scheduler": 1},
        shape=Shape.PULSES,
    ),
    # One, so that what it plans is the armed one's.
    Reached(
        "migrate",
        {"migrate": (FailPoint.SQL_PLAN, FailPoint.DEFINE, FailPoint.ADD, FailPoint.AGENDA_ADD)},
        faults.soon_due,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    Reached(
        "planning many",
        {"migrate": (FailPoint.FEED_NARROW,)},
        faults.many_to_plan,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    Reached(
        "beat",
        {
            "beat": (
                FailPoint.PUBLISH_SCHEDULE,
                FailPoint.PUBLISH_MIGRATE,
                FailPoint.PUBLISH_SWEEP,
                FailPoint.PUBLISH_JUDGE_ALERTS,
                FailPoint.PUBLISH_FEED,
            )
        },
    ),
    Reached(
        "web",
        {
            "web": (
                FailPoint.SQL_CREATE,
                FailPoint.SQL_CREATE_MANY,
                FailPoint.SQL_ENABLE,
                FailPoint.SQL_ENABLE_MANY,
                FailPoint.SQL_EDIT,
                FailPoint.SQL_PUT_CALENDAR,
                FailPoint.SQL_REMOVE_CALENDAR,
                FailPoint.SQL_CHANGE_TARGET,
                FailPoint.SQL_REMOVE_TARGET,
                FailPoint.SQL_SIGNING,
                FailPoint.SIGNING_PUT,
                FailPoint.SQL_DISABLE,
                FailPoint.SQL_DELETE,
                FailPoint.SQL_DISABLE_MANY,
                FailPoint.SQL_DELETE_MANY,
                FailPoint.SQL_CLAIM_KEY,
                FailPoint.SQL_END_CLAIM,
                FailPoint.SQL_FIRE_NOW,
                FailPoint.SQL_BACKFILL,
                FailPoint.SQL_CANCEL,
                FailPoint.SQL_REPLAY,
                FailPoint.DEFINE,
                FailPoint.ADD,
                FailPoint.AGENDA_ADD,
                FailPoint.ARM_NOW,
                FailPoint.PUBLISH_CALLBACK,
                FailPoint.PUBLISH_FOLLOW,
            )
        },
        faults.changes,
    ),
    Reached(
        "following a calendar",
        {"migrate": (FailPoint.SQL_FOLLOW_CALENDAR,)},
        faults.changes,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    Reached(
        "what is said of long work",
        {"web": (FailPoint.SQL_ACKNOWLEDGE, FailPoint.SQL_PROLONG, FailPoint.SQL_END_ACCEPTED)},
        faults.said_of_work,
    ),
    # One, so that what its sweeps end is the armed one's.
    Reached(
        "ending long work",
        {"migrate": (FailPoint.SQL_END_ACCEPTED,)},
        faults.said_of_work,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    Reached(
        "firings that are not to overlap",
        {"callback": (FailPoint.SQL_JUDGE_OVERLAP, FailPoint.SQL_END_OVERLAP)},
        # As with the row of callback: one firing may be met by two deaths in a row, and is then tried apart.
        faults.changes_between_recoveries,
        nth=1,
        each_s=25,
        most_late_s=None,
        others_p99_ms=12_000,
    ),
    Reached("permits", {"callback": (FailPoint.PERMITS,)}, faults.changes, nth=1),
    Reached(
        "telling of what answers control", {"callback": (FailPoint.PUBLISH_CONTROLS,)}, faults.changes, nth=1
    ),
    Reached(
        "doing what answers control",
        {"migrate": (FailPoint.SQL_FORGET_CONTROLS,)},
        faults.changes,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    # One, so that what is judged is the armed one's.
    Reached(
        "judging alerts",
        {"migrate": (FailPoint.SQL_JUDGE_ALERTS, FailPoint.SQL_END_TROUBLES)},
        faults.trouble_to_tell,
        conclude=faults.all_told,
        ends_s=faults.TOLD_WITHIN_S,
        nth=1,
        each_s=45,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    # One, so that what is told is the armed one's. As it dies every few seconds, what it held has died twice, and is
    # tried apart, one after another: so few come due that this takes seconds.
    Reached(
        "telling alerts",
        {"callback": (FailPoint.SQL_TAKE_ALERTS, FailPoint.SQL_END_ALERT, FailPoint.SQL_PUT_OFF_ALERT)},
        faults.trouble_to_tell,
        conclude=faults.all_told,
        ends_s=faults.TOLD_WITHIN_S,
        nth=1,
        each_s=45,
        most_late_s=90,
        rate=10,
        may_blame=1,
        copies=TWO_OF_ALL | {"callback": 1},
    ),
    # Only one process of the kind, so that the work that the second fault makes is the armed one's.
    Reached(
        "loading again",
        {"migrate": (FailPoint.FEED_NEXT, FailPoint.FEED_KEEP, FailPoint.FEED_DONE)},
        faults.loss_of_the_store,
        nth=1,
        each_s=25,
        copies=TWO_OF_ALL | {"migrate": 1, "scheduler": 1},
    ),
    Reached(
        "writing parked outcomes",
        {"migrate": (FailPoint.FORGET_PARKED,)},
        faults.sql_back,
        nth=1,
        each_s=30,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    WAITING_IN_LANES,
    # One, so that what its lanes are emptied by is the armed one.
    replace(
        WAITING_IN_LANES,
        name="leaving lanes",
        steps={"callback": (FailPoint.LANE_PULL, FailPoint.LANE_FORGET)},
        provoke=faults.hung_targets_answer,
        copies=TWO_OF_ALL | {"callback": 1},
    ),
    # One, so that what its lanes are fed by is the armed one.
    replace(
        WAITING_IN_LANES,
        name="feeding lanes",
        steps={
            "migrate": (FailPoint.LANE_FEED, FailPoint.LANE_FED),
            "callback": (FailPoint.PUBLISH_FEED_LANES,),
        },
        provoke=faults.full_lanes_answer,
        each_s=60,
        copies=TWO_OF_ALL | {"migrate": 1},
        lanes_memory_mb=0,
    ),
    Reached("putting back", {"callback": (FailPoint.PUT_BACK,)}, faults.sql_away, nth=1, each_s=30),
    Reached(
        "trying apart",
        {"callback": (FailPoint.TRY_APART,)},
        faults.time_to_recover,
        faults.first_death,
        nth=1,
        each_s=45,
        # One, so that it meets again what it died on; targets that hang keep that running until it dies.
        # They are tried one after another, each until its time-out: what waits its turn is that much later.
        most_late_s=90,
        copies=TWO_OF_ALL | {"callback": 1},
        badly_met=6,
        timeout_ms=2_000,
        # The executor is killed just when it tries one that two have died on: that one has failed.
        may_blame=1,
    ),
    Reached(
        "purging",
        {
            "migrate": (
                FailPoint.SQL_PURGE,
                FailPoint.SQL_PURGE_TIMERS,
                FailPoint.SQL_PURGE_ANSWERS,
                FailPoint.SQL_PURGE_AUDIT,
                FailPoint.SQL_PURGE_FINISHED,
                FailPoint.SQL_PURGE_DEAD_LETTERS,
            )
        },
        faults.purge_asked_for,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
    Reached(
        "reconciling",
        {"migrate": (FailPoint.TALLY,)},
        faults.reconcile_asked_for,
        nth=1,
        copies=TWO_OF_ALL | {"migrate": 1},
    ),
)

# Beat comes to these once a minute, so four of them do at once.
_MINUTE_STEPS = (FailPoint.PUBLISH_RECONCILE, FailPoint.PUBLISH_PURGE)


def steps_of_rows() -> set[FailPoint]:
    """Return every step that some row harms a process at."""
    return {step for one in REACHED for steps in one.steps.values() for step in steps} | set(_MINUTE_STEPS)


def minute_places() -> list[Place]:
    """Return beats, each with one of the fail points that beat comes to once a minute."""
    points = _points("beat", _MINUTE_STEPS, nth=1)
    return [("beat" if i == 1 else f"beat{i}", point) for i, point in enumerate(points, start=1)]


def _points(process: str, steps: Iterable[FailPoint], nth: int) -> list[str]:
    """Return the fail points of these steps as `WANGTIMER_FAIL_POINT` takes them."""
    return [
        str(ArmedFailPoint(step, side, harm, nth))
        for step in steps
        for side in Side
        for harm in Harm
        if harm is Harm.KILL or _may_err(process, step)
    ]


def _may_err(process: str, step: FailPoint) -> bool:
    """Tell whether an error of the step is a thing that happens to the process.

    A callback's error is its answer, which targets that reset connections give; beside it nothing leaves the process.
    Beat publishes through Celery, which keeps what a receiver of its signals raises to itself; a tick that is not
    published is lost, as it is where beat dies before it.
    """
    return step is not FailPoint.SEND and process != "beat"
