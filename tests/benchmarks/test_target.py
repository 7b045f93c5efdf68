"""The target's log says which call came when, for peers and for us."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from benchmarks.load import Shot, dues_at
from benchmarks.target import Target
from tests.patience import wait_for


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    with Target(tmp_path / "target") as running:
        yield running


def await_arrivals(target: Target, number: int) -> None:
    arrived = target.watch()
    assert wait_for(lambda: arrived() >= number, seconds=5)


def test_a_call_is_known_by_its_url_or_else_by_our_headers(target: Target) -> None:
    (due,) = dues_at([1_000])
    requests.post(Shot(due, target.url).called_url, timeout=5)
    headers = {"X-WangTimer-Timer": "7", "X-WangTimer-Fire-At": "2000"}
    requests.post(target.url, headers=headers, timeout=5)
    await_arrivals(target, 2)
    assert [(one.due_ms, one.id) for one in target.arrivals()] == [(1_000, due.id), (2_000, 7)]


def test_what_came_before_is_forgotten(target: Target) -> None:
    requests.post(f"{target.url}?due=1&id=1", timeout=5)
    await_arrivals(target, 1)
    target.forget()
    requests.post(f"{target.url}?due=2&id=2", timeout=5)
    await_arrivals(target, 1)
    assert [one.id for one in target.arrivals()] == [2]


@pytest.mark.test_all
def test_every_host_answers_and_only_the_slow_ones_take_seconds(target: Target) -> None:
    hosts = target.hosts(slow_share=0.2)
    slow = [url for url in hosts if url.endswith("/slow")]
    assert (len(hosts), len(slow)) == (50, 10)
    prompt = [url for url in hosts if url not in slow]
    assert all(requests.post(f"{url}?due=1&id=1", timeout=1).status_code == 204 for url in prompt)
    answer = requests.post(f"{slow[-1]}?due=1&id=1", timeout=20)
    assert answer.elapsed.total_seconds() > 4 or len(answer.content) == 1_000
