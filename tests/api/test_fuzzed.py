"""A sample of `make fuzz`: every operation of the document, called with made-up requests."""

from copy import deepcopy
from typing import Any

import pytest
import schemathesis

from tests.api.world import World
from tests.fuzz.run import LEAST_DONE, Tally, fuzz
from tests.fuzz.standing import APP, Standing

CASES_AN_OPERATION = 30
SEED = 1
# Only a target has the token of a call, and only days of failures disable a host.
NEVER_DONE = {
    "POST /v1/firings/{firing_id}:ack",
    "POST /v1/firings/{firing_id}:nack",
    "POST /v1/firings/{firing_id}:heartbeat",
    "POST /v1/failing-hosts:enable",
}


def fuzzed(world: World, document: dict[str, Any], cases: int) -> Tally:
    schema = schemathesis.openapi.from_dict(document)
    schema.app = world.app

    def send(method: str, path: str, given: dict[str, Any]) -> dict[str, Any]:
        place = {"query_string": given} if method == "GET" else {"json": given}
        answer: dict[str, Any] = world.client.open(
            path, method=method, headers={"WangTimer-App": APP}, **place
        ).get_json()
        return answer

    return fuzz(schema, Standing(send, now=world.clock.now), cases, SEED)


def operations(document: dict[str, Any]) -> int:
    return sum(len(methods) for methods in document["paths"].values())


@pytest.mark.test_all
# Some 2,500 requests, on a machine that may have other work.
@pytest.mark.timeout(300)
def test_every_answer_is_as_documented_and_enough_requests_do_something(small_world: World) -> None:
    document = small_world.app.api_doc
    tally = fuzzed(small_world, document, operations(document) * CASES_AN_OPERATION)
    assert not tally.faults, "\n".join(tally.lines())
    assert tally.done >= LEAST_DONE, "\n".join(tally.lines())
    assert len(tally.statuses) == operations(document)
    idle = [
        label
        for label, counted in tally.statuses.items()
        if not any(200 <= status < 300 for status in counted)
    ]
    why = "no request of these did anything: tests/fuzz/sensible.py picks nothing for their fields"
    assert set(idle) <= NEVER_DONE, why


@pytest.mark.test_all
def test_an_undocumented_status_and_a_wrong_answer_are_faults(small_world: World) -> None:
    document = deepcopy(small_world.app.api_doc)
    some = {
        path: methods for path, methods in document["paths"].items() if path.startswith("/api/timer/v1/def")
    }
    document["paths"] = some
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("404", None)
    document["components"]["schemas"]["TimerData"]["properties"]["version"]["type"] = "string"
    tally = fuzzed(small_world, document, operations(document) * 12)
    assert any("404 Undocumented" in fault for fault in tally.faults)
    assert any("GET /api/timer/v1/def: 200 Response violates schema" in fault for fault in tally.faults)
