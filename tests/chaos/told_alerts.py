"""Alert rules of targets that fail while processes die: each trouble is to be told, and afterwards that it is over."""

import time
from collections.abc import Callable
from typing import Any

import requests

from tests.alerts.robots import Got, Robot, Said
from tests.e2e.deployment import Deployment

OF_APP = {"WangTimer-App": "shop"}
TOLD = {"first_failure", "recovered"}
# Until every process that makes calls knows of a new rule.
KNOWN_S = 6


class ToldAlerts:
    """Each trouble has a timer of one second, a target, and a rule of its own.

    The webhook refuses each message once. A target is mended as soon as the webhook has heard of its failure.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._url = f"{deployment.api_url}/v1"
        self._webhook = Robot(self._hear)
        self._target = Robot(lambda got: Said(500 if got.path in self._failing else 200, ""))
        self._troubles: list[str] = []
        self._failing: set[str] = set()
        self._told: dict[str, set[str]] = {}
        self._refused: set[str] = set()

    def make(self) -> str:
        """Make a rule, a timer and its target, which answers; return its name."""
        name = f"trouble{len(self._troubles)}"
        self._troubles.append(name)
        self._told[name] = set()
        rule = {
            "events": sorted(TOLD),
            "per": "timer",
            "keyPrefix": f"{name}-",
            "destination": {"kind": "webhook", "url": f"{self._webhook.url}/{name}"},
        }
        self._ask("PUT", f"alert-rules/{name}", rule)
        timer = {
            "key": f"{name}-timer",
            "schedule": {"every": "1s"},
            "target": {"url": f"{self._target.url}/{name}"},
            "retry": {"attempts": 1},
        }
        self._ask("POST", "timers", timer)
        return name

    def fail(self, name: str) -> None:
        """Let a target fail."""
        self._failing.add(f"/{name}")

    def untold(self) -> dict[str, set[str]]:
        """Return what no webhook has taken yet, by trouble."""
        return {name: TOLD - told for name, told in self._told.items() if TOLD - told}

    def close(self) -> None:
        """Answer nothing more."""
        self._webhook.close()
        self._target.close()

    def _hear(self, got: Got) -> Said:
        name = got.path.removeprefix("/")
        events = {alert["event"] for alert in got.fields["data"]["alerts"]}
        if "first_failure" in events:
            self._failing.discard(f"/{name}")
        message_id = got.headers["webhook-id"]
        if message_id not in self._refused:
            self._refused.add(message_id)
            return Said(500, "")
        self._told[name] |= events
        return Said(200, "")

    def _ask(self, method: str, path: str, body: dict[str, Any]) -> None:
        """Ask until it is done: the API may be away for a while, and a timer that is there is enough."""
        _until(lambda: self._is_done(method, path, body))

    def _is_done(self, method: str, path: str, body: dict[str, Any]) -> bool:
        try:
            answer = requests.request(method, f"{self._url}/{path}", json=body, headers=OF_APP, timeout=10)
        except requests.RequestException:
            return False
        assert answer.status_code < 400 or answer.status_code in {409, 503}, answer.text
        return answer.status_code != 503


def _until(is_done: Callable[[], bool], seconds: float = 30) -> None:
    ends_at = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < ends_at, "the API did not answer"
        time.sleep(0.2)
