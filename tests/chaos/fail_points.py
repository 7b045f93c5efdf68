"""Which fail points a process comes to under load."""

from wangtimer.core.fail_points import FailPoint, Harm, Side, Step

# Steps that need another fault to be reached (a lost Redis, SQL away, a poison firing) are the simulation's.
REACHED = {
    "callback": (Step.CLAIM, Step.RENEW, Step.RELEASE, Step.SQL_SETTLE, Step.SEND),
    "trigger": (
        Step.TURN,
        Step.PUBLISH_CALLBACK,
        Step.AGENDA_RAISE,
        Step.LOOK,
        Step.AGENDA_CLOSE,
        Step.UNLOCK,
    ),
    "scheduler": (Step.PUBLISH_TRIGGER,),
    "migrate": (Step.SQL_PLAN, Step.DEFINE, Step.ADD, Step.AGENDA_ADD),
    "beat": (Step.PUBLISH_SCHEDULE, Step.PUBLISH_MIGRATE, Step.PUBLISH_SWEEP),
    "web": (
        Step.SQL_CREATE,
        Step.SQL_ENABLE,
        Step.SQL_DISABLE,
        Step.SQL_DELETE,
        Step.DEFINE,
        Step.ADD,
        Step.AGENDA_ADD,
        Step.ARM_NOW,
        Step.PUBLISH_CALLBACK,
    ),
}
# The second time: the first may come while the process still starts.
NTH = 2


def fail_points_by_process() -> dict[str, list[str]]:
    """Return each process's fail points as `WANGTIMER_FAIL_POINT` takes them."""
    return {
        process: [
            str(FailPoint(step, side, harm, NTH))
            for step in steps
            for side in Side
            for harm in Harm
            if harm is Harm.KILL or _may_err(process, step)
        ]
        for process, steps in REACHED.items()
    }


def _may_err(process: str, step: Step) -> bool:
    """Tell whether an error of the step is a thing that happens: a callback's is an answer, beat's is Celery's own."""
    return step is not Step.SEND and process != "beat"
