"""The stream's own OpenAPI document tells of the stream as it is."""

import jsonschema
import pytest
import requests
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.stream.ground import Ground
from wangtimer.stream.events_endpoint import MOST_WINDOW
from wangtimer.stream.stream_document import stream_document
from wangtimer.stream.words import VERBS

DOCUMENT = stream_document("1")
EVENTS = "/v1/consumers/{group}/events"


def schema(name: str) -> dict[str, object]:
    return {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}


def test_it_is_openapi_and_has_each_operation_with_its_right() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert set(DOCUMENT["paths"]) == {EVENTS, *(f"/v1/consumers/{{group}}:{verb}" for verb in VERBS)}
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            assert operation["security"] == [{"Key": ["firings:consume"]}]


@pytest.mark.processes
@pytest.mark.timeout(180)
def test_what_the_stream_serves_takes_and_answers_is_what_it_describes(ground: Ground) -> None:
    process = ground.start()
    for path in ("/openapi.json", "/v1/consumers/openapi.json"):
        served = requests.get(f"{process.url}{path}", timeout=10).json()
        assert served["paths"] == DOCUMENT["paths"]
    consumer = ground.connect(process)
    (member,) = ground.give()
    assert consumer.has(1)
    jsonschema.validate(consumer.events[0], schema("Firing"))
    for verb in ("heartbeat", "nack", "ack"):  # the last one comes too late
        answer = ground.say(process, verb, member)
        assert answer.status_code == 200
        jsonschema.validate(answer.json(), schema("Items"))
    key = {"Authorization": f"Bearer {ground.keys['shop']}"}
    for path, status in ((f"work/events?window={MOST_WINDOW + 1}", 400), ("work/nothing", 404)):
        refused = requests.get(f"{process.url}/v1/consumers/{path}", headers=key, timeout=10)
        assert refused.status_code == status
        jsonschema.validate(refused.json(), schema("Problem"))
