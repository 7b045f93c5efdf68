"""At shipped settings a target may be away for ten minutes, refusing or answering 503, and each firing succeeds."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.callback.target import NO_CONTENT, Target, answer_with
from tests.e2e.deployment import Deployment
from wangtimer.stack.ports import HOST

AWAY_S, ENDS_WITHIN_S = 600, 420
# One-shots due as the target goes away, and timers that go on meanwhile.
ONE_SHOTS, DUE_WITHIN_S = 300, 30
STEADY = 5
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.e2e
@pytest.mark.timeout(AWAY_S + ENDS_WITHIN_S + 300)
@pytest.mark.parametrize("is_listening", [False, True], ids=["refuses", "answers-503"])
def test_a_target_may_be_away_for_ten_minutes(is_listening: bool, tmp_path: Path) -> None:
    target = Target(answer_with(UNAVAILABLE))
    with Deployment(tmp_path) as deployment:
        if not is_listening:
            target.close()
        make_timers(deployment, target.url)
        deployment.tend_for(AWAY_S)
        if is_listening:
            target.answer = answer_with(NO_CONTENT)
        else:
            target = Target(address=(HOST, target.port))
        ended, most_attempts = ends_of(deployment)
        target.close()
    print(f"\n{dict(ended)}, at most {most_attempts} attempts")
    assert ended["succeeded"] == ended.total() > ONE_SHOTS + STEADY * AWAY_S / 10 * 0.9


def make_timers(deployment: Deployment, url: str) -> None:
    """Make one-shots that are due soon, and timers that fire every ten seconds."""
    now = datetime.now(UTC)
    timers: list[dict[str, Any]] = [
        {
            "key": f"once-{number}",
            "schedule": {"at": (now + timedelta(seconds=5 + DUE_WITHIN_S * number / ONE_SHOTS)).isoformat()},
            "target": {"url": url},
        }
        for number in range(ONE_SHOTS)
    ]
    timers += [
        {"key": f"steady-{number}", "schedule": {"every": "10s"}, "target": {"url": url}}
        for number in range(STEADY)
    ]
    ask(deployment, "POST", "/v1/timers:batchCreate", {"timers": timers})


def ends_of(deployment: Deployment) -> tuple[Counter[str], int]:
    """Return how many firings that are due by now ended how, and the most attempts."""
    due_before = int(time.time() * 1_000)
    counted = text("SELECT status, COUNT(*), MAX(attempt) FROM firing WHERE fire_at < :due GROUP BY status")
    sql = create_engine(deployment.database_url, poolclass=NullPool)
    ends_at = time.monotonic() + ENDS_WITHIN_S
    while True:
        deployment.tend_for(2)
        with sql.connect() as connection:
            rows = connection.execute(counted, {"due": due_before}).all()
        ended = Counter({status: number for status, number, _ in rows})
        if ended.keys() <= {"succeeded", "failed", "skipped"}:
            return ended, max(most for _, _, most in rows)
        assert time.monotonic() < ends_at, f"not ended: {ended}"


def ask(deployment: Deployment, method: str, path: str, body: object) -> None:
    """Ask the API for a change, for an app."""
    headers = deployment.operator | {"WangTimer-App": "shop"}
    answer = requests.request(method, f"{deployment.api_url}{path}", json=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
