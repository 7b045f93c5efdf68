"""The description of a timer's fields holds for what is written by hand beside it: nested models, and the values."""

from dataclasses import fields
from typing import Any

import pytest

from wangtimer.api.compat.xtimer_answers import TimerData
from wangtimer.api.compat.xtimer_requests import CreateTimer, EditTimer
from wangtimer.api.http.api_models import Described, Sent
from wangtimer.api.v1.timers.timer_answers import ShownTimer
from wangtimer.api.v1.timers.timer_models import NewTimerBody, TimerPatch, WholeTimerBody
from wangtimer.core.api_field import ApiField
from wangtimer.core.timers.call_options import CallForm, KeepOutput, Timeouts
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.overlap import Overlap
from wangtimer.core.timers.timer import Definition, NewTimer, Timer
from wangtimer.store.sql.tables import timers

ASKED = [one for field in FIELDS for one in field.asked]
VALUES: dict[str, list[Any]] = {
    "misfire": [MisfireRule(MisfirePolicy.SKIP, 2_000, 3_000)],
    "tags": [("a", 'b"')],
    "keep_days": [0, 7],
    "timeouts": [Timeouts(2_000), Timeouts(None, 300, 1_000)],
    "keep_output": [KeepOutput.ON_FAILURE, KeepOutput.NEVER],
    "overlap": [Overlap.SKIP, Overlap.QUEUE_ONE, Overlap.CANCEL_OLDER],
    "form": [
        CallForm(templates=True),
        CallForm(cloud_events=True, allow_control=True),
        CallForm(numbered=True),
    ],
}
by_name = pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)


def schema_of(model: type[Described], place: str = "") -> dict[str, Any]:
    """Return the JSON schema of a model, or of a field at a dotted place; KeyError where there is none."""
    whole = model.model_json_schema(mode="serialization" if issubclass(model, Sent) else "validation")
    found = whole
    for name in filter(None, place.split(".")):
        options = [found, *found.get("anyOf", [])]
        models = [whole["$defs"][one["$ref"].rpartition("/")[2]] for one in options if "$ref" in one]
        found = (models[0] if models else found)["properties"][name]
    return found


@pytest.mark.parametrize("one", ASKED, ids=lambda one: one.name)
def test_each_field_has_its_place_in_requests_and_answers_of_both_apis(one: ApiField) -> None:
    for model in (CreateTimer, EditTimer, TimerData):
        if one.is_of_v1_only:
            assert one.json_name not in schema_of(model)["properties"]
        else:
            assert schema_of(model, one.json_name)
    for model in (NewTimerBody, WholeTimerBody, TimerPatch, ShownTimer):
        assert schema_of(model, one.place)


@pytest.mark.parametrize("one", [one for one in ASKED if one.choices], ids=lambda one: one.name)
def test_a_choice_has_the_same_words_in_both_apis(one: ApiField) -> None:
    assert one.choices is not None
    words = [word.value for word in one.choices]
    of_compatible_paths = [] if one.is_of_v1_only else [(CreateTimer, one.json_name)]
    for model, place in (*of_compatible_paths, (NewTimerBody, one.place)):
        assert next(part["enum"] for part in schema_of(model, place)["anyOf"] if "enum" in part) == words


@by_name
def test_a_value_stands_where_its_field_says(field: TimerField[Any]) -> None:
    of_timer = {one.name for one in fields(Timer)}
    assert (field.name in Definition._fields, field.name in of_timer) == (
        field.in_definition,
        not field.in_definition,
    )
    assert field.name in {one.name for one in fields(NewTimer)}


@by_name
def test_a_value_is_read_back_from_its_columns(field: TimerField[Any]) -> None:
    for value in (field.default, *VALUES.get(field.name, [])):
        row = field.stored(value)
        assert row.keys() == set(field.columns) <= set(timers.c.keys())
        assert field.from_row(row) == value
        assert field.shown(value).keys() == {one.name for one in field.asked}


@by_name
def test_what_is_not_given_stays(field: TimerField[Any]) -> None:
    for value in (field.default, *VALUES.get(field.name, [])):
        assert field.read({}, value) == value
