"""What users see of a whole deployment: real processes, MariaDB, Redis, real targets."""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest
import requests
from standardwebhooks import Webhook

from tests.callback.target import NO_CONTENT, Received, Target, answer_with
from tests.e2e.deployment import Deployment

LEAD_MS = 1_000

pytestmark = pytest.mark.processes


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


def test_calls_are_signed_from_the_start_and_with_both_secrets_during_a_rotation(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    target = make_target(answer_with(NO_CONTENT))
    deployment.make_timer("signed", cron="* * * * * *", url=target.url)
    target.wait_for_requests(2)
    assert all(_signatures(call) == 1 for call in target.requests)
    first = _rotated(deployment)
    deployment.tend_for(LEAD_MS / 1_000 + 1)
    second = _rotated(deployment)
    deployment.tend_for(LEAD_MS / 1_000 + 1)
    seen = len(target.requests)
    target.wait_for_requests(seen + 2)
    for call in target.requests[seen:]:
        assert _signatures(call) == 2
        for secret in (first, second):
            Webhook(secret).verify(call.body, dict(call.headers))
    address, headers = f"{deployment.api_url}/v1/signing-secrets", deployment.operator | OF_APP
    oldest = requests.get(address, headers=headers, timeout=20).json()["secrets"][0]["id"]
    assert requests.delete(f"{address}/{oldest}", headers=headers, timeout=20).status_code == 200
    deployment.tend_for(LEAD_MS / 1_000 + 1)
    seen = len(target.requests)
    target.wait_for_requests(seen + 1)
    assert _signatures(target.requests[-1]) == 1
    Webhook(second).verify(target.requests[-1].body, dict(target.requests[-1].headers))


OF_APP = {"WangTimer-App": "e2e"}


def _signatures(call: Received) -> int:
    return len(call.values("webhook-signature")[0].split(" "))


def _rotated(deployment: Deployment) -> str:
    address = f"{deployment.api_url}/v1/signing-secrets"
    headers = deployment.operator | OF_APP
    answer = requests.post(address, json={"overlap": "1h"}, headers=headers, timeout=20)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


def test_a_timer_whose_target_answers_410_is_disabled(
    deployment: Deployment, make_target: Callable[..., Target]
) -> None:
    target = make_target(answer_with(b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"))
    timer_id = deployment.make_timer("gone", cron="* * * * * *", url=target.url)
    target.wait_for_requests(1, timeout_s=15)
    deployment.tend_for(5)
    calls = len(target.requests)
    deployment.tend_for(3)
    assert len(target.requests) == calls <= 3
    rows = deployment.records(timer_id)
    failed = [row for row in rows if row["statusName"] == "failed"]
    assert len(failed) == calls
    assert all(row["error"].startswith("HTTP 410: gone for good") for row in failed)
    assert {row["error"] for row in rows if row["statusName"] == "skipped"} <= {"disabled"}
