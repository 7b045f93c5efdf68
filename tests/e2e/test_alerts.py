"""Alerts of a whole deployment: from a target that fails to a message, through every process in between."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from standardwebhooks import Webhook

from tests.alerts.robots import Got, Said, running, webhook
from tests.e2e.deployment import Deployment

DEADLINE_S = 60.0
ORDERS = 50


class Failing:
    """A target that answers 500 until it is mended."""

    def __init__(self) -> None:
        self.is_mended = False

    def __call__(self, _got: Got) -> Said:
        return Said(200, "") if self.is_mended else Said(500, "{}")


def alerts_in(got: list[Got]) -> list[tuple[str, str]]:
    """Return event and timer of all alerts that came."""
    return [(one["event"], one["timer"]) for message in got for one in message.fields["data"]["alerts"]]


@pytest.mark.processes
def test_a_failing_target_and_a_failing_host_are_told_once_and_recovery_once(tmp_path: Path) -> None:
    target_answers = Failing()
    with (
        Deployment(tmp_path) as deployment,
        running(webhook) as told,
        running(webhook) as told_of_host,
        running(target_answers) as target,
    ):

        def ask(method: str, path: str, body: Any = None) -> Any:
            headers = deployment.operator | {"WangTimer-App": "shop"}
            url = f"{deployment.api_url}{path}"
            answer = requests.request(method, url, json=body, headers=headers, timeout=40)
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.text else None

        def until(is_true: Callable[[], bool]) -> None:
            ends_at = time.monotonic() + DEADLINE_S
            while not is_true():
                assert time.monotonic() < ends_at, alerts_in(told.got)
                deployment.tend_for(0.2)

        secret = ask("POST", "/v1/signing-secrets", {"overlap": "0s"})["secret"]
        rule = {
            "events": ["first_failure", "failed_for_good", "recovered"],
            "per": "timer",
            "keyPrefix": "bill",
            "destination": {"kind": "webhook", "url": f"{told.url}/alerts"},
        }
        ask("PUT", "/v1/alert-rules/ops", rule)
        of_host = {
            "events": ["first_failure", "failed_for_good"],
            "keyPrefix": "order-",
            "destination": {"kind": "webhook", "url": f"{told_of_host.url}/alerts"},
        }
        ask("PUT", "/v1/alert-rules/hosts", of_host)
        assert ask("POST", "/v1/alert-rules/ops:test", {})["isTaken"] is True
        assert len(told.got) == 1
        timer = {
            "key": "bill",
            "schedule": {"every": "2s"},
            "target": {"url": f"{target.url}/bill"},
            "retry": {"attempts": 2, "pause": "100ms"},
        }
        # Each order has a timer, and none comes a second time.
        orders = [
            {
                "key": f"order-{number}",
                "schedule": {"delay": "1s"},
                "target": {"url": f"{target.url}/{number}"},
            }
            | {"retry": {"attempts": 1}}
            for number in range(ORDERS)
        ]
        ask("POST", "/v1/timers", timer)
        ask("POST", "/v1/timers:batchCreate", {"timers": orders})
        until(lambda: len(alerts_in(told.got)) >= 3)
        deployment.tend_for(8)
        assert sorted(alerts_in(told.got[1:])) == [("failed_for_good", "bill"), ("first_failure", "bill")]
        of_hosts = [one for message in told_of_host.got for one in message.fields["data"]["alerts"]]
        assert sorted(one["event"] for one in of_hosts) == ["failed_for_good", "first_failure"]
        assert [one["timers"] for one in of_hosts] == [ORDERS, ORDERS]
        target_answers.is_mended = True
        until(lambda: len(alerts_in(told.got)) >= 5)
        assert [event for event, _ in alerts_in(told.got)].count("recovered") == 2
        for message in told.got:
            Webhook(secret).verify(message.body, dict(message.headers))
        assert [one["lastError"] for one in ask("GET", "/v1/alert-rules")["items"]] == ["", ""]
        assert json.loads(told.got[0].body)["data"]["alerts"][0]["event"] == "test"
