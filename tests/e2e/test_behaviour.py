"""What users see of a whole deployment: real processes, MariaDB, Redis, real targets."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from tests.callback.target import NO_CONTENT, Received, Target, answer_with
from tests.e2e.deployment import Deployment

LEAD_MS = 1_000

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("whole stack")]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    # With keys, as operators run it.
    with Deployment(tmp_path_factory.mktemp("deployment"), auth="keys") as running:
        yield running


@pytest.fixture
def make_target() -> Iterator[Callable[..., Target]]:
    targets: list[Target] = []

    def make(answer: Callable[[Received], None]) -> Target:
        targets.append(Target(answer))
        return targets[-1]

    yield make
    for target in targets:
        target.close()


def test_a_disable_earlier_than_the_lead_before_a_moment_always_counts(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    target = make_target(answer_with(NO_CONTENT))
    timers = [
        deployment.make_timer(f"until disabled {i}", cron="* * * * * *", url=target.url) for i in range(5)
    ]
    target.wait_for_requests(10)
    disabled_at = {}
    for timer_id in timers:
        deployment.post("/api/timer/v1/unable", app="e2e", id=timer_id)
        disabled_at[timer_id] = time.time() * 1_000
    deployment.tend_for(4)
    for call in target.requests:
        timer_id, fire_at = (int(call.values(f"x-wangtimer-{name}")[0]) for name in ("timer", "fire-at"))
        assert fire_at <= disabled_at[timer_id] + LEAD_MS
    for timer_id in timers:
        skipped = [row for row in deployment.records(timer_id) if row["statusName"] == "skipped"]
        assert skipped
        assert {row["error"] for row in skipped} == {"disabled"}


def test_a_slow_target_holds_up_neither_its_neighbours_nor_their_recording(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    slow = make_target(lambda received: time.sleep(6))
    at = int(time.time() * 1_000) + 4_000
    hanging = [deployment.make_timer(f"slow {i}", at=at, url=slow.url) for i in range(5)]
    quick = [deployment.make_timer(f"quick {i}", at=at) for i in range(5)]
    deployment.tend_for(at / 1_000 - time.time() + 2)
    done = [deployment.records(timer_id)[0] for timer_id in quick]
    assert {row["statusName"] for row in done} == {"succeeded"}
    assert max(row["latenessMs"] for row in done) < 1_000
    assert {deployment.records(timer_id)[0]["statusName"] for timer_id in hanging} == {"pending"}
    assert len(slow.requests) == 5


def test_a_failed_attempt_is_made_again_under_the_same_id(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    answers = iter([b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"] * 2 + [NO_CONTENT])
    target = make_target(lambda received: received.connection.sendall(next(answers)))
    timer_id = deployment.make_timer("twice in vain", delayMs=500, url=target.url)
    target.wait_for_requests(3, timeout_s=15)
    deployment.tend_for(1)
    (row,) = deployment.records(timer_id)
    assert (row["statusName"], row["attempt"], row["httpStatus"], row["latenessMs"] < 1_000) == (
        "succeeded",
        3,
        204,
        True,
    )
    assert len({call.values("webhook-id")[0] for call in target.requests}) == 1
    assert [call.values("x-wangtimer-attempt")[0] for call in target.requests] == ["1", "2", "3"]


def test_a_one_shot_that_is_due_at_once_is_called_at_once(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    target = make_target(answer_with(NO_CONTENT))
    deployment.make_timer("now", delayMs=0, url=target.url)
    asked_at = time.monotonic()
    target.wait_for_requests(1, timeout_s=10)
    assert time.monotonic() - asked_at < 5


@pytest.mark.timeout(180)
def test_a_firing_that_kills_its_executor_is_tried_five_times_at_most_and_its_neighbours_are_not_lost(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    def kill_executor(received: Received) -> None:
        os.kill(deployment.supervisor.children()["callback"].pid, signal.SIGKILL)

    poisonous = make_target(kill_executor)
    at = int(time.time() * 1_000) + 4_000
    poison = deployment.make_timer("poison", at=at, url=poisonous.url)
    neighbours = [deployment.make_timer(f"neighbour {i}", at=at + i) for i in range(20)]
    ends_at = time.monotonic() + 120
    deployment.supervisor.tend_until(
        lambda: (
            time.monotonic() > ends_at
            or (
                all(
                    deployment.records(one)[:1] != []
                    and deployment.records(one)[0]["statusName"] != "pending"
                    for one in (poison, *neighbours)
                )
            )
        )
    )
    (row,) = deployment.records(poison)
    assert (row["statusName"], row["error"]) == (
        "failed",
        "each executor that ran it died, the last of them while it ran alone",
    )
    assert 3 <= len(poisonous.requests) <= 5
    assert {deployment.records(one)[0]["statusName"] for one in neighbours} == {"succeeded"}
