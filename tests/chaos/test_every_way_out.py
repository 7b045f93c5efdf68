"""Every way out is tried with an executor that dies, a broker that dies, and a broker that hangs.

The broker is what takes a firing from an executor, or for calls over HTTP what brings it there: their targets that
hang, reset and refuse have a row of their own.
"""

from itertools import product
from pathlib import Path

import pytest

from tests.chaos.rows import ROWS

ROOT = Path(__file__).parents[2]
WAYS = ("HTTP", "RabbitMQ", "Redis Streams", "consumers", "Celery")
FAULTS = ("the executor dies", "the broker dies", "the broker hangs")
MESSAGES = (
    "tests/messaging/test_faults.py",
    "test_nothing_is_lost_or_early_while_executors_and_brokers_die_and_hang",
)
CONSUMERS = (
    "tests/stream/test_faults.py",
    "test_consumers_lose_nothing_and_get_nothing_early_while_processes_die_and_hang",
)
# Rows of `make chaos`; and tests, with their parameter, that strike all three faults in one deployment.
TRIED: dict[tuple[str, str], str | tuple[str, str, str]] = {
    ("HTTP", "the executor dies"): "kill executor",
    ("HTTP", "the broker dies"): "kill broker 10 s",
    ("HTTP", "the broker hangs"): "freeze broker 10 s",
    **{("RabbitMQ", fault): (*MESSAGES, "exchange") for fault in FAULTS},
    **{("Redis Streams", fault): (*MESSAGES, "stream") for fault in FAULTS},
    **{("Celery", fault): (*MESSAGES, "celery") for fault in FAULTS},
    # The Redis that holds their lists is the store itself.
    **{("consumers", fault): (*CONSUMERS, "") for fault in FAULTS},
}


@pytest.mark.parametrize(("way", "fault"), list(product(WAYS, FAULTS)))
def test_each_fault_is_tried_with_each_way_out(way: str, fault: str) -> None:
    where = TRIED[way, fault]
    if isinstance(where, str):
        assert where in {row.name for row in ROWS}
        return
    path, test, kind = where
    text = (ROOT / path).read_text()
    assert f"def {test}(" in text
    assert not kind or f'"{kind}"' in text
