"""The rows: each fault with how long it takes and what it may cost at most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.chaos import faults
from tests.chaos.fail_points import fail_points_by_process
from tests.chaos.trial import BROKER, SQL, STORE, Strike, Trial


@dataclass(frozen=True, slots=True)
class Row:
    """A fault and its bounds: `most_late_s` for any firing, `others_p99_ms` for those it did not touch.

    None: not bounded. `may_repeat` tells whether second calls of what was being sent are allowed at all.
    `fault_s` is how long the fault takes at most.
    """

    name: str
    strike: Callable[[Trial], Strike]
    fault_s: float
    most_late_s: float | None
    others_p99_ms: float | None = None
    may_repeat: bool = False
    copies: Mapping[str, int] = field(default_factory=lambda: {"trigger": 2, "callback": 2})
    proxied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    doubles_messages: bool = False
    # Firings a second, and how many of them go to targets that misbehave, in ways of their own.
    rate: int = 500
    badly_met: int = 0
    settings: Mapping[str, int] = field(default_factory=dict)
    has_crons: bool = True
    is_armable: bool = False
    # Beside the load, timers of the misfire policies that leave firings out.
    has_policies: bool = False


_PUNCTUAL_MS = 100.0
# Slices of two seconds each, so that triggers open and close them all the time.
_SHORT_SLICES = {"firings_per_bucket": 200}
# Of all but the API: two cannot listen at one address.
_TWO_OF_ALL = dict.fromkeys(("beat", "scheduler", "migrate", "trigger", "callback"), 2)

ROWS = (
    Row("kill executor", faults.kill_executor, 10, 12, may_repeat=True),
    Row("kill trigger", faults.kill_trigger, 10, 12),
    Row("flush store", faults.flush_store, 5, 12, may_repeat=True),
    Row("kill MariaDB 10 s", faults.kill_sql_10s, 15, None, _PUNCTUAL_MS),
    Row("kill store 3 s", faults.kill_store_3s, 8, 3 + 12, may_repeat=True),
    Row("freeze MariaDB 20 s", faults.freeze_sql_20s, 25, None, _PUNCTUAL_MS),
    Row("freeze store 10 s", faults.freeze_store_10s, 15, 10 + 3, may_repeat=True),
    Row("kill beat 30 s", faults.kill_beat_30s, 95, 30 + 2),
    Row(
        "kill one beat of two",
        faults.kill_one_beat_of_two,
        20,
        None,
        _PUNCTUAL_MS,
        copies={"beat": 2, "trigger": 2, "callback": 2},
    ),
    Row("freeze executor 30 s", faults.freeze_executor_30s, 40, 12, _PUNCTUAL_MS, may_repeat=True),
    Row("freeze trigger 30 s", faults.freeze_trigger_30s, 40, 12, _PUNCTUAL_MS),
    Row("delete a tenth of due", faults.delete_a_tenth_of_due, 5, 16),
    Row("kill broker 10 s", faults.kill_broker_10s, 15, 10 + 8 + 2),
    Row("roll store back 5 s", faults.roll_store_back_5s, 10, 18, may_repeat=True),
    Row(
        "cut executor off Redis 15 s",
        faults.cut_executor_off_redis_15s,
        25,
        12,
        may_repeat=True,
        proxied={"callback": (STORE, BROKER)},
    ),
    Row(
        "cut executor off MariaDB 15 s",
        faults.cut_executor_off_sql_15s,
        25,
        None,
        _PUNCTUAL_MS,
        may_repeat=True,
        proxied={"callback": (SQL,)},
    ),
    Row("every message twice", faults.double_messages, 10, None, _PUNCTUAL_MS, doubles_messages=True),
    Row("kill API under 1,000 creates", faults.kill_api_under_creates, 50, 16),
    Row("rolling restart", faults.restart_each_in_turn, 110, 2, copies=_TWO_OF_ALL),
    Row("kill everything 60 s", faults.kill_everything_60s, 75, None, may_repeat=True, has_policies=True),
    Row(
        "a fifth of the targets misbehave",
        faults.nothing,
        20,
        None,
        _PUNCTUAL_MS,
        rate=1_000,
        badly_met=200,
        settings={"callback_timeout_ms": 2_000},
    ),
    *(
        Row(
            f"every fail point of {name}",
            faults.fail_at_each(name, points),
            12 * len(points) + 20,
            18,
            may_repeat=True,
            copies=_TWO_OF_ALL,
            rate=100,
            # Some targets hang, so that executors have leases to renew.
            badly_met=6 if name == "callback" else 0,
            settings=_SHORT_SLICES | {"callback_timeout_ms": 5_000},
            has_crons=False,
            is_armable=True,
        )
        for name, points in fail_points_by_process().items()
    ),
)
