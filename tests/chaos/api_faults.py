"""The API dies: while a thousand timers are made, and between what it commits and what it tells Redis."""

from tests.chaos.creates import SOON_MS, Creates, all_done
from tests.chaos.trial import Strike, Trial
from wangtimer.core.fail_points import ArmedFailPoint, FailPoint, Harm, Side
from wangtimer.core.flow.firing import Member

# Each API process dies when it comes here for the third time, and so does the one that follows it.
_THIRD = 3
UNTOLD = tuple(
    str(ArmedFailPoint(step, side, Harm.KILL, _THIRD))
    for step, side in (
        (FailPoint.SQL_ENABLE, Side.AFTER),
        (FailPoint.ADD, Side.BEFORE),
        (FailPoint.AGENDA_ADD, Side.BEFORE),
        (FailPoint.ARM_NOW, Side.BEFORE),
        (FailPoint.PUBLISH_CALLBACK, Side.BEFORE),
    )
)
CREATES_A_POINT = 60


def kill_api_under_creates(trial: Trial) -> Strike:
    deployment = trial.deployment
    creates = Creates(deployment.api_url, deployment.target.url)
    futures = creates.begin(1_000)
    trial.tend_until(lambda: len(creates.enabled) >= 300, 30, "300 timers made and enabled")
    trial.kill("web")
    trial.tend_until(lambda: all_done(futures), 60, "the rest of 1,000 creates is answered or has failed")
    unkept = creates.unkept(deployment.database_url)
    assert not unkept, (
        f"{len(unkept)} creates were answered with success and are not there: {sorted(unkept)[:3]}"
    )
    return Strike(
        creates.failed,
        touched=frozenset(Member(timer_id, at, 1) for timer_id, at in creates.created),
        promised=frozenset(creates.enabled),
        maybe=frozenset(creates.created - creates.enabled),
        note=f"{len(creates.enabled)} of 1,000 answered, {creates.failed} requests cut off",
    )


def kill_api_between_commit_and_redis(trial: Trial) -> Strike:
    deployment = trial.deployment
    rounds = [_create_under(trial, point) for point in UNTOLD]
    # It comes back without a fail point.
    trial.kill("web")
    created = frozenset().union(*(one.created for one in rounds))
    answered = frozenset().union(*(one.enabled for one in rounds))
    committed = frozenset().union(*(one.planned(deployment.database_url) for one in rounds))
    untold = committed - answered
    return Strike(
        len(untold),
        touched=frozenset(Member(timer_id, at, 1) for timer_id, at in untold),
        promised=answered | committed,
        maybe=created,
        note=f"{len(committed)} firings committed, {len(untold)} of them by an API that died before it answered",
    )


def _create_under(trial: Trial, point: str) -> Creates:
    """Make timers that are due soon while API processes die at this point, one after another."""
    trial.restart_armed("web", point)
    creates = Creates(trial.deployment.api_url, trial.deployment.target.url, SOON_MS)
    futures = creates.begin(CREATES_A_POINT)
    trial.tend_until(lambda: all_done(futures), 60, f"all creates under {point} are answered or have failed")
    assert f"fail point {point} reached" in trial.log_of("web")
    return creates
