"""Processes die or err at each fail point; where one takes a second fault to be reached, that comes too."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from celery import Celery
from sqlalchemy import create_engine, insert
from sqlalchemy.pool import NullPool

from tests.chaos.creates import Changes
from tests.chaos.holdings import flush_after_look
from tests.chaos.load import add_many_to_plan, add_soon_due
from tests.chaos.long_work import SaidOfWork
from tests.chaos.trial import Strike, Trial
from wangtimer.core.fail_points import Harm
from wangtimer.core.flow.firing import FiringKind, FiringStatus, Member
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.tables import firings

# A process and its fail point, as `WANGTIMER_FAIL_POINT` takes it.
Place = tuple[str, str]
# What must come before the process is started with its fail point, and what leads it there then. Both tell which
# members were met while they ran, and so may be called again.
Preparation = Callable[[Trial, str], Collection[Member]]
Provocation = Callable[[Trial], AbstractContextManager[Collection[Member]]]
# What must have come about once all were reached.
Conclusion = Callable[[Trial], None]

# From a fault to the next: what it delayed has been called by then, by leases of 6 and 8 s and a time-out of 3 s.
RECOVERY_S = 12
REACHED_WITHIN_S = 30
SETTLED_S = 1
FULL_WITHIN_S = 45
# Beat's slowest ticks come once a minute.
MINUTE_S = 75
# A message that a dead process had taken is another one's after two minutes. Then its webhook refuses it once, as
# it does what tells of the end; from one attempt to the next there are up to 30 s.
TOLD_WITHIN_S = 300


def fail_at_each(
    places: Sequence[Place], provoke: Provocation, prepare: Preparation, conclude: Conclusion
) -> Callable[[Trial], Strike]:
    """Return a fault that starts a process with one fail point after another, and sees each of them reached."""

    def strike(trial: Trial) -> Strike:
        may_repeat: list[Member] = []
        for process, point in places:
            may_repeat += prepare(trial, process)
            may_repeat += trial.restart_armed(process, point)
            with provoke(trial) as ran:
                may_repeat += ran
                pid = trial.pid(process)
                _await_reached(trial, [(process, point)], REACHED_WITHIN_S)
                if f":{Harm.KILL}:" in point:
                    # A dead executor's claims stand until their leases end.
                    may_repeat += trial.look().running_of(pid)
        conclude(trial)
        return Strike(len(places), may_repeat=may_repeat)

    return strike


def fail_at_all(places: Sequence[Place]) -> Callable[[Trial], Strike]:
    """Return a fault that starts several processes, each with a fail point of its own that comes once a minute."""

    def strike(trial: Trial) -> Strike:
        for process, point in places:
            trial.restart_armed(process, point)
        _await_reached(trial, places, MINUTE_S)
        return Strike(len(places))

    return strike


def _await_reached(trial: Trial, places: Sequence[Place], seconds: float) -> None:
    def all_reached() -> bool:
        return all(f"fail point {point} reached" in trial.log_of(process) for process, point in places)

    trial.tend_until(all_reached, seconds, f"reached {places}")


# preparations


def nothing_first(_trial: Trial, _process: str) -> Collection[Member]:
    return ()


def first_death(trial: Trial, process: str) -> Collection[Member]:
    """Kill the executor and wait until the next one runs what it ran: what that dies on too is tried apart.

    That should be what hangs: the rest has been called and settled a second after it was claimed again.
    """
    ran = trial.restart_armed(process, "")
    trial.tend_until(
        lambda: bool(ran & trial.look().running_of(trial.pid(process))),
        REACHED_WITHIN_S,
        "a firing runs a second time",
    )
    trial.tend_for(SETTLED_S)
    return ran


# conclusions


def nothing_else(_trial: Trial) -> None:
    """The firings tell."""


def all_told(trial: Trial) -> None:
    """Each trouble was told, and that it is over."""
    trial.await_told(TOLD_WITHIN_S)


# provocations


@contextmanager
def load_alone(_trial: Trial) -> Iterator[Collection[Member]]:
    """The load itself leads there."""
    yield ()


@contextmanager
def many_to_plan(trial: Trial) -> Iterator[Collection[Member]]:
    """Make more timers than one transaction plans."""
    add_many_to_plan(trial.deployment)
    yield ()


@contextmanager
def soon_due(trial: Trial) -> Iterator[Collection[Member]]:
    """Make timers that are planned into Redis at once."""
    add_soon_due(trial.deployment)
    yield ()


@contextmanager
def changes(trial: Trial) -> Iterator[Collection[Member]]:
    """Ask the API for changes of every kind."""
    with Changes(trial.deployment.api_url, trial.deployment.target.unlogged_url):
        yield ()


@contextmanager
def changes_between_recoveries(trial: Trial) -> Iterator[Collection[Member]]:
    """Ask the API for changes of every kind; what was delayed is called before the next fault."""
    with changes(trial) as ran:
        yield ran
    trial.tend_for(RECOVERY_S)


@contextmanager
def said_of_work(trial: Trial) -> Iterator[Collection[Member]]:
    """Let targets say of accepted firings that they are done, failed or go on; what was answered must stand."""
    # As if SQL had been there for long: sweeps end firings at once.
    trial.store.set("wt:ack-grace", f"{time.time_ns() // 1_000_000} 0")
    with SaidOfWork(trial.deployment.api_url, trial.deployment.database_url) as said:
        yield ()
    assert not said.unkept(), said.unkept()


@contextmanager
def loss_of_the_store(trial: Trial) -> Iterator[Collection[Member]]:
    """Empty the store, so that the horizon is loaded again."""
    yield flush_after_look(trial.store).running
    trial.tend_for(RECOVERY_S)


@contextmanager
def sql_away(trial: Trial) -> Iterator[Collection[Member]]:
    """Kill MariaDB until the point is reached: what a fresh executor claims cannot be verified."""
    trial.deployment.sql.process.kill()
    try:
        yield ()
    finally:
        trial.deployment.sql.process.start()
    trial.tend_for(RECOVERY_S)


@contextmanager
def sql_back(trial: Trial) -> Iterator[Collection[Member]]:
    """Kill MariaDB and start it again, so that outcomes wait in Redis to be written."""
    trial.deployment.sql.process.kill()
    trial.tend_until(lambda: trial.store.hlen("wt:outbox") > 0, REACHED_WITHIN_S, "outcomes wait in Redis")
    trial.deployment.sql.process.start()
    yield ()


@contextmanager
def time_to_recover(trial: Trial) -> Iterator[Collection[Member]]:
    """The load leads there; what was delayed is called before the next fault."""
    yield ()
    trial.tend_for(RECOVERY_S)


@contextmanager
def hung_targets_answer(trial: Trial) -> Iterator[Collection[Member]]:
    """Let targets answer that hung, so that their lane empties; then they hang again, and it fills."""
    assert trial.bad_targets is not None, "the row says that some targets misbehave"
    trial.tend_until(lambda: trial.store.hlen("wt:lanes") > 0, REACHED_WITHIN_S, "firings wait in a lane")
    with trial.bad_targets.answering():
        yield ()
    trial.tend_for(RECOVERY_S)


@contextmanager
def full_lanes_answer(trial: Trial) -> Iterator[Collection[Member]]:
    """Let targets answer that hung until a lane was full, so that the lane is fed; then they hang again."""
    assert trial.bad_targets is not None, "the row says that some targets misbehave"
    trial.tend_until(
        lambda: bool(trial.store.keys("wt:{lane:*}:rest")), FULL_WITHIN_S, "more waits than a lane may hold"
    )
    with trial.bad_targets.answering():
        yield ()
    trial.tend_for(RECOVERY_S)


@contextmanager
def trouble_to_tell(trial: Trial) -> Iterator[Collection[Member]]:
    """Let a target fail of which a rule tells, and answer once that was told; what was delayed is called meanwhile."""
    alerts = trial.told_alerts()
    alerts.fail(alerts.make())
    yield ()
    trial.tend_for(RECOVERY_S)


@contextmanager
def purge_asked_for(trial: Trial) -> Iterator[Collection[Member]]:
    """Send the task that beat sends once a minute, when there is a firing for it to delete."""
    _insert_old_firing(trial)
    _send_task(trial, "wangtimer.purge")
    yield ()


@contextmanager
def reconcile_asked_for(trial: Trial) -> Iterator[Collection[Member]]:
    """Send the task that beat sends once a minute."""
    _send_task(trial, "wangtimer.reconcile")
    yield ()


def _insert_old_firing(trial: Trial) -> None:
    """Insert a settled firing, of no timer of the load, that is past its retention."""
    fire_at = int(time.time() * 1_000) - 60 * DAY_MS
    row = {"fire_at": fire_at, "timer_id": 1, "bucket": 0, "due_at": fire_at, "attempt": 1}
    words = {"kind": FiringKind.SCHEDULED.value, "status": FiringStatus.SUCCEEDED.value}
    engine = create_engine(trial.deployment.database_url, poolclass=NullPool)
    with engine.begin() as sql:
        sql.execute(insert(firings).values(row | words))


def _send_task(trial: Trial, name: str) -> None:
    with Celery(broker=trial.deployment.broker.url(1)) as app:
        app.send_task(name, queue="migrate")
