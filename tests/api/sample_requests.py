"""For each route of the API a request that its models take, read off the OpenAPI document."""

from typing import Any, NamedTuple

from tests.api.test_our_words import DOCUMENT, sample

PLACES = {
    "which": "17",
    "firing_id": "17-1000",
    "name": "plant",
    "app": "plant",
    "key_id": "3kTMd8Qx9LbA",
    "what": "host:plant.example:443",
    "host": "plant.example:443",
}


class SampleRequest(NamedTuple):
    """What is sent; `body` None: none."""

    method: str
    path: str
    query: dict[str, Any]
    headers: dict[str, str]
    body: Any


def sample_request(route: str, app: str | None = None) -> SampleRequest:
    """Return a request to a route, as it is named in rights.py, with an app if one is given."""
    method, path = route.split(" ")
    operation = DOCUMENT["paths"].get(path, {}).get(method.lower(), {})
    for name, value in PLACES.items():
        path = path.replace(f"{{{name}}}", value)
    body = None
    if "requestBody" in operation:
        body = sample(operation["requestBody"]["content"]["application/json"]["schema"])
    query = {
        one["name"]: sample(one["schema"], one["name"])
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one["required"]
    }
    of_header = path.startswith("/v1/")
    named = {} if app is None else {"app": app}
    if body is not None and "app" in body and not of_header:
        body = {name: value for name, value in body.items() if name != "app"} | named
    elif not of_header:
        query |= named
    headers = {"WangTimer-App": app} if of_header and app is not None else {}
    return SampleRequest(method, path, query, headers, body)
