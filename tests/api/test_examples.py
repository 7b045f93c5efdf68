"""The examples in the OpenAPI document are those that the app gives."""

import json
from typing import Any

from tests.api.examples.__main__ import KEPT
from tests.api.examples.made import made_examples
from tests.api.world import present

AGAIN = "make them anew: python -m tests.api.examples, then python -m wangtimer.api.openapi > openapi.json"


def shape(value: Any) -> Any:
    """Return what a value is made of: the names in its objects, the shapes of its entries, the types of the rest."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value).__name__


def test_the_app_gives_answers_of_the_same_shape(sqlite_url: str, redis_url: str) -> None:
    kept = json.loads(KEPT.read_text())
    made = made_examples(sqlite_url, redis_url, present())
    for part, examples in made.items():
        assert kept[part].keys() == examples.keys(), AGAIN
        for name, example in examples.items():
            assert shape(kept[part][name]) == shape(example), f"{name}: {AGAIN}"


def test_requests_are_told_the_same_on_every_day(sqlite_url: str, redis_url: str) -> None:
    kept = json.loads(KEPT.read_text())["operations"]
    made = made_examples(sqlite_url, redis_url, present() + 9 * 86_400_000)["operations"]
    for name, example in made.items():
        for part in ("parameters", "body"):
            assert kept[name][part] == example[part], name
