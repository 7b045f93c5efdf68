"""The callback in the document is the one that executors send."""

from typing import Any

import jsonschema
import pytest

from tests.made_requests import made_request
from wangtimer.api import create_app
from wangtimer.base.settings import Settings
from wangtimer.callback.request import USER_AGENT
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import Member
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.timers.timer import Notify

KEYS = (b"n" * 32, b"o" * 32)


@pytest.fixture(scope="module")
def callback() -> dict[str, Any]:
    operation: dict[str, Any] = create_app().api_doc["webhooks"]["timerFired"]["post"]
    return operation


def sent(body: str) -> dict[str, str]:
    notify = Notify("http://target.example/", "POST", (("X-Own", "1"),), body)
    member, numbers = Member(890342217101453, 1795207483000, 2), Continuity(17, 1795207423000, 0)
    request = made_request(notify, "shop", member, KEYS, 1795207483, continuity=numbers)
    lines = request.head.decode().split("\r\n")[1:-2]
    return dict(line.split(": ", 1) for line in lines)


def test_it_has_the_headers_that_are_sent_and_no_others(callback: dict[str, Any]) -> None:
    described = {one["name"]: one for one in callback["parameters"]}
    of_http = {"Host", "Accept", "Content-Type", "Content-Length"}
    assert sent("{}").keys() - of_http - {"X-Own"} == described.keys()


def test_each_header_is_as_its_schema_says(callback: dict[str, Any]) -> None:
    headers = sent("{}")
    for parameter in callback["parameters"]:
        value = headers[parameter["name"]]
        is_number = parameter["schema"]["type"] == "integer"
        jsonschema.validate(int(value) if is_number else value, parameter["schema"])
    assert headers["User-Agent"] == USER_AGENT
    assert headers["webhook-id"] == f"{headers['X-WangTimer-Timer']}-{headers['X-WangTimer-Fire-At']}"


@pytest.mark.parametrize(("body", "content_type"), [('{"a":1}', "application/json"), ("hello", "text/plain")])
def test_its_body_has_the_content_types_that_are_sent(
    callback: dict[str, Any], body: str, content_type: str
) -> None:
    assert sent(body)["Content-Type"].partition(";")[0] == content_type
    assert content_type in callback["requestBody"]["content"]


def test_it_says_what_each_answer_means_and_when_it_is_tried_again(callback: dict[str, Any]) -> None:
    assert callback["responses"]["2XX"]["description"].startswith("Success")
    others = {one: answer["description"] for one, answer in callback["responses"].items() if one != "2XX"}
    assert others.keys() == {"3XX", "4XX", "5XX", "default"}
    assert all("failure" in one.lower() and "tried again" in one for one in others.values())


def test_its_numbers_are_those_of_the_settings(callback: dict[str, Any]) -> None:
    text, fields = callback["description"], Settings.model_fields
    assert (fields["most_attempts"].default, fields["callback_timeout_ms"].default) == (11, 10_000)
    policy = RetryPolicy()
    assert (policy.most, policy.pause_ms, policy.longest_pause_ms, policy.jitter) == (11, 1_000, 300_000, 0.2)
    assert "1, 2, 4 s and so on, at most 5 minutes (±20 %), eleven attempts" in text
    assert "10 s in all" in text
