"""What the workloads of messages, consumers and Celery tasks make of what came."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import cast

import pytest

from benchmarks.celery_clock import began
from benchmarks.connected_consumers import shares
from benchmarks.target import Target
from benchmarks.workload import Bench, Measurement, Workload
from benchmarks.workloads import celery_beside, consumer_crowd, message_burst
from benchmarks.workloads.celery_beside import CELERY
from benchmarks.workloads.consumer_crowd import CONSUMERS
from benchmarks.workloads.message_burst import MESSAGES

DUE_AT = 1_000_020
ROUND = {
    "rabbitmq_engine": 6_000.0,
    "rabbitmq_py_amqp_pipelined": 10_000.0,
    "rabbitmq_py_amqp_one_by_one": 2_000.0,
    "redis_engine": 20_000.0,
    "redis_pipelines": 90_000.0,
    "lost": 0,
    "early": 0,
    "failed": 0,
}
CROWD = dict.fromkeys(("peak_mb", "connected_mb", "alone_mb", "idle_cpu_percent"), 1.0)


@contextmanager
def no_servers(_home: Path) -> Iterator[tuple[None, None]]:
    yield None, None


@pytest.fixture(autouse=True)
def of_nothing_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_burst, "servers", no_servers)
    monkeypatch.setattr(message_burst, "one_round", lambda *_: ROUND)
    monkeypatch.setattr(consumer_crowd, "crowded", lambda *_: CROWD | shares({b"1": 3.0}, 1))
    monkeypatch.setattr(celery_beside, "Shop", no_servers)
    monkeypatch.setattr(celery_beside, "of_way", lambda *_, is_killed: began({0: [DUE_AT + 0.1]}, DUE_AT, 1))


def measured(workload: Workload, directory: Path) -> list[Measurement]:
    return list(workload.measure(Bench(directory, cast(Target, None), 1.0), 2))


@pytest.mark.parametrize("workload", [MESSAGES, CONSUMERS, CELERY], ids=lambda one: one.name)
def test_each_run_has_every_figure_of_the_table(workload: Workload, tmp_path: Path) -> None:
    runs = measured(workload, tmp_path)
    assert len(runs) == 2
    for figure in workload.figures:
        values = [run[figure.name] for run in runs]
        assert not any(map(isnan, values))
        assert figure.is_kept(values)


def test_an_engine_is_judged_by_the_bare_publisher_of_the_same_run(tmp_path: Path) -> None:
    assert measured(MESSAGES, tmp_path)[0]["of_bare_publisher"] == pytest.approx(0.6)


def test_a_task_counts_by_when_it_first_began() -> None:
    came = {0: [DUE_AT + 5.0, DUE_AT + 0.1], 1: [DUE_AT + 0.2], 2: [DUE_AT - 0.3], 3: [DUE_AT + 61.0]}
    figures = began(came, DUE_AT, 5)
    assert figures["late_p50_ms"] == 200
    assert figures["early"] == 1
    assert figures["twice"] == 1
    assert figures["not_within_a_minute"] == 2


def test_where_no_task_began_no_lateness_is_told() -> None:
    figures = began({}, DUE_AT, 3)
    assert isnan(figures["late_p99_ms"])
    assert figures["not_within_a_minute"] == 3


def test_firings_that_never_came_are_lost_and_late_without_end() -> None:
    figures = shares({b"a": 5.2, b"b": 1.4, b"c": 9.0}, 4)
    assert figures["half_ms"] == 9
    assert isnan(figures["all_ms"])
    assert figures["lost"] == 1
