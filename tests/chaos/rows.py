"""The rows: each fault with how long it takes and what it may cost at most."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.chaos import api_faults, built_in, clock_faults, faults, mid_transaction
from tests.chaos.fail_point_faults import MINUTE_S, fail_at_all, fail_at_each
from tests.chaos.fail_points import REACHED, STEPWISE_RATE, TWO_OF_ALL, minute_places
from tests.chaos.load import Shape
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
    # By how many seconds whose wall clock is off.
    shifted: Mapping[str, int] = field(default_factory=dict)
    # Firings that wait beside the load, due long after the row has ended.
    pending: int = 0
    # The store's wall clock can be put while it runs; then all moments are judged by it.
    is_store_clock_movable: bool = False
    # SQL can be moved to another server while it runs.
    has_standby: bool = False
    # Firings a second, and how many of them go to targets that misbehave, in ways of their own.
    rate: int = 500
    badly_met: int = 0
    settings: Mapping[str, int] = field(default_factory=dict)
    shape: Shape = Shape.MIXED
    is_armable: bool = False
    # Beside the load, timers of the misfire policies that leave firings out.
    has_policies: bool = False
    # How many firings may have failed as what killed its executors, called or not.
    may_blame: int = 0
    # How long what waited may take to be worked off, once the load has ended.
    backlog_s: float = 0


_PUNCTUAL_MS = 100.0
# A load without pause comes to so many slices that each is idle now and then.
_BUCKETS = {
    Shape.ONE_SHOTS: {"firings_per_bucket": 1, "most_buckets": 96},
    Shape.PULSES: {"firings_per_bucket": 1, "most_buckets": 8},
}
_HOUR_S = 3_600

ROWS = (
    Row("kill executor", faults.kill_executor, 10, 12, may_repeat=True),
    Row("kill trigger", faults.kill_trigger, 10, 12),
    Row("flush store", faults.flush_store, 5, 12, may_repeat=True, pending=1_000_000),
    Row("kill MariaDB 10 s", faults.kill_sql_10s, 15, None, _PUNCTUAL_MS),
    Row("kill store 3 s", faults.kill_store_3s, 8, 3 + 12, may_repeat=True),
    Row("freeze MariaDB 20 s", faults.freeze_sql_20s, 25, None, _PUNCTUAL_MS),
    Row(
        "switch SQL over, old connections kept",
        faults.switch_sql_over,
        30,
        None,
        _PUNCTUAL_MS,
        proxied=dict.fromkeys(
            ("web", "beat", "scheduler", "migrate", "trigger", "trigger2", "callback", "callback2"), (SQL,)
        ),
        has_standby=True,
        # All that goes to SQL goes through the relays of the process that runs this row.
        rate=100,
    ),
    # At the shipped 256 MB it would take 2,000/s of long answers to fill the outbox within ten minutes.
    Row(
        "freeze MariaDB 10 min, 20 MB for outcomes",
        faults.freeze_sql_10min_with_little_room,
        620,
        None,
        rate=2_000,
        settings={"outbox_mb": faults.SMALL_OUTBOX_MB},
        # What came due meanwhile is worked off at 2,000 a second, as shipped.
        backlog_s=1_200,
    ),
    Row(
        "freeze MariaDB 20 s, a target fails", faults.freeze_sql_while_a_target_fails, 150, None, _PUNCTUAL_MS
    ),
    Row("freeze store 10 s", faults.freeze_store_10s, 15, 10 + 3, may_repeat=True),
    Row(
        "kill both beats 30 s",
        faults.kill_both_beats_30s,
        110,
        30 + 2,
        _PUNCTUAL_MS,
        copies={"beat": 2, "trigger": 2, "callback": 2},
    ),
    Row(
        "kill one beat of two",
        faults.kill_one_beat_of_two,
        95,
        2,
        _PUNCTUAL_MS,
        copies={"beat": 2, "trigger": 2, "callback": 2},
    ),
    Row("freeze executor 30 s", faults.freeze_executor_30s, 40, 12, _PUNCTUAL_MS, may_repeat=True),
    Row("freeze trigger 30 s", faults.freeze_trigger_30s, 40, 12, _PUNCTUAL_MS),
    *(
        Row(
            f"freeze {role} 120 s in a transaction",
            strike,
            mid_transaction.FOUND_WITHIN_S + mid_transaction.FROZEN_S + 20,
            12,
            may_repeat=role == "callback",
            copies={"trigger": 2, "callback": 2, role: 2},
            rate=100,
        )
        for role, strike in (
            ("migrate", mid_transaction.freeze_migrate),
            ("web", mid_transaction.freeze_web),
            ("callback", mid_transaction.freeze_callback),
        )
    ),
    Row("delete a tenth of due", faults.delete_a_tenth_of_due, 5, 16),
    Row("kill broker 10 s", faults.kill_broker_10s, 15, 10 + 8 + 2),
    Row("freeze broker 10 s", faults.freeze_broker_10s, 25, 10 + 8 + 2),
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
    Row("every message twice", built_in.double_messages, 10, None, _PUNCTUAL_MS, doubles_messages=True),
    Row("kill API under 1,000 creates", api_faults.kill_api_under_creates, 50, 16),
    Row(
        "kill API between commit and Redis",
        api_faults.kill_api_between_commit_and_redis,
        40 * len(api_faults.UNTOLD),
        16,
        is_armable=True,
    ),
    Row("rolling restart", faults.restart_each_in_turn, 110, 2, copies=TWO_OF_ALL),
    Row(
        "kill everything 5 min",
        faults.kill_everything_5min,
        300 + faults.CATCHING_UP_S + 10,
        None,
        _PUNCTUAL_MS,
        may_repeat=True,
        has_policies=True,
    ),
    Row(
        "a fifth of the targets misbehave",
        built_in.nothing,
        20,
        None,
        _PUNCTUAL_MS,
        rate=1_000,
        badly_met=200,
        settings={"callback_timeout_ms": 2_000},
    ),
    *(
        Row(
            f"a clock an hour {word}",
            built_in.run_with_off_clocks,
            60,
            2,
            _PUNCTUAL_MS,
            copies=TWO_OF_ALL,
            shifted=dict.fromkeys(built_in.OFF, shift_s),
        )
        for word, shift_s in (("ahead", _HOUR_S), ("behind", -_HOUR_S))
    ),
    # By Redis' clock: back, nothing is late; ahead, what was skipped is late by the step and its catching up.
    Row(
        "store clock put back 10 s",
        clock_faults.put_store_clock_back_10s,
        35,
        2,
        is_store_clock_movable=True,
    ),
    Row(
        "store clock put ahead 20 s",
        clock_faults.put_store_clock_ahead_20s,
        35,
        20 + 12,
        is_store_clock_movable=True,
    ),
    Row(
        "two of everything",
        built_in.run_two_of_everything,
        60,
        None,
        _PUNCTUAL_MS,
        copies=TWO_OF_ALL | {"web": 2},
    ),
    *(
        Row(
            f"every fail point of {one.name}",
            fail_at_each(one.places(), one.provoke, one.prepare, one.conclude),
            one.each_s * len(one.places()) + one.ends_s + 20,
            one.most_late_s,
            one.others_p99_ms,
            may_repeat=True,
            copies=one.copies,
            rate=one.rate,
            badly_met=one.badly_met,
            may_blame=one.may_blame,
            settings=_BUCKETS[one.shape]
            | {"callback_timeout_ms": one.timeout_ms, "lanes_memory_mb": one.lanes_memory_mb},
            shape=one.shape,
            is_armable=True,
        )
        for one in REACHED
    ),
    Row(
        "every fail point of beat each minute",
        fail_at_all(minute_places()),
        MINUTE_S + 30,
        18,
        copies=TWO_OF_ALL | {"beat": len(minute_places())},
        rate=STEPWISE_RATE,
        is_armable=True,
    ),
)
