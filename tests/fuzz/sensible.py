"""Makes what a schema allows into what the app can do: fields that name things name those that stand.

A document cannot say which ids there are, that a text is a cron expression, or that one of four fields is to be given.
All this goes by the names of fields, not by operations, so that it serves those yet to come.
"""

import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.standing import APP, CALENDARS, URL, Standing

HOUR = 3_600_000
RULES = ("cron", "everyMs", "at", "delayMs")
OF_A_SERIES = ("startAt", "endAt", "maxFirings", "jitterMs", "excludeCalendar")
# Ways to say one thing, of which one is to be given where none is required.
SPELLINGS = (
    ("id", "timerID"),
    ("name", "fuzzyName"),
    ("id", "name"),
    ("ids", "filter"),
    ("firings", "since"),
)
# What says which firings besides a list of them.
OF_A_SPAN = ("id", "since", "until", "statuses")
CRONS = (
    "* * * * *",
    "*/5 9-17 * * 1-5",
    "0 0 9 * * *",
    "@daily",
    "0 0 L * *",
    "0 30 8 1 1 * 2035",
    "0 0 0 1 1 ? *",
)
ZONES = ("UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe")

Pick = Callable[[random.Random, Standing], Any]


def _moment(first: int, last: int) -> Pick:
    def pick(chance: random.Random, standing: Standing) -> Any:
        return standing.now + chance.randrange(first, last)

    return pick


def _one_of(*values: Any) -> Pick:
    return lambda chance, _: chance.choice(values)


def _name(chance: random.Random, standing: Standing) -> str:
    kind = chance.randrange(5)
    if kind < 3:
        return f"made-{chance.randrange(10**9)}"
    return chance.choice(standing.names if kind == 3 else CALENDARS)


def _id(chance: random.Random, standing: Standing) -> int:
    return chance.choice(standing.ids)


PICKS: dict[str, Pick] = {
    "app": _one_of(APP, APP, APP, APP, "bank"),
    "id": _id,
    "timerID": _id,
    "ids": lambda chance, standing: chance.sample(standing.ids, min(3, len(standing.ids))),
    "name": _name,
    "fuzzyName": _one_of("standing", "made"),
    "namePrefix": _one_of("standing", "made"),
    "nameContains": _one_of("a", "%"),
    "filter": _one_of({"nameContains": "a"}, {"status": "enabled"}),
    "firings": lambda chance, standing: [
        {"id": timer_id, "fireAt": moment} for timer_id, moment in chance.sample(standing.firings, 1)
    ],
    "cron": _one_of(*CRONS),
    "everyMs": _one_of(1_000, 90_000, HOUR),
    "delayMs": _one_of(0, 1_000, HOUR),
    "timezone": _one_of(*ZONES),
    "at": _moment(0, HOUR),
    "anchorAt": _moment(-HOUR, HOUR),
    "startAt": _moment(-HOUR, HOUR),
    "endAt": _moment(48 * HOUR, 96 * HOUR),
    "nextBefore": _moment(0, HOUR),
    # Counting 100,000 moments of a daily cron, to the year 2199, takes a web worker 3 to 8 s.
    "maxFirings": _one_of(None, 1, 10, 1_000),
    "since": _moment(-2 * HOUR, -HOUR),
    "until": _moment(-HOUR // 2, 0),
    "excludeCalendar": _one_of(*CALENDARS),
    "days": _one_of([], ["2027-01-01", "2028-02-29"]),
    "working": _one_of([], ["2027-01-09"]),
    "url": _one_of(URL, "https://target.invalid:8443/a?b=c"),
    "header": _one_of({}, {"X-Tag": ["a", "b"]}, {"A": "b"}),
    "tag": _one_of("billing", "daily"),
    "tags": _one_of([], ["billing"], ["billing", "daily"]),
    "cursor": _one_of(None),
    "version": _one_of(None, None, 1),
}


def make_sensible(
    given: Any, schema: dict[str, Any], root: Any, standing: Standing, chance: random.Random
) -> Any:
    """Return a value like the given one, of this schema, that speaks of what stands; None where it is left out."""
    schema = _resolved(schema, root)
    if isinstance(given, list):
        return [make_sensible(one, schema.get("items", {}), root, standing, chance) for one in given]
    if isinstance(given, float) and given.is_integer():
        return int(given)
    if not isinstance(given, dict):
        return given
    known = schema.get("properties", {})
    made = {
        name: PICKS[name](chance, standing)
        if name in PICKS
        else make_sensible(value, known.get(name, {}), root, standing, chance)
        for name, value in given.items()
        if value is not None
    }
    _give_one(made, schema, standing, chance)
    return {name: value for name, value in made.items() if value is not None}


def _give_one(
    made: dict[str, Any], schema: dict[str, Any], standing: Standing, chance: random.Random
) -> None:
    known, required = schema.get("properties", {}), schema.get("required", ())
    for spellings in SPELLINGS:
        if known.keys() >= set(spellings) and not set(required) & set(spellings):
            _keep(made, spellings, chance.choice(spellings), standing, chance)
    if "firings" in made:
        for name in OF_A_SPAN:
            made.pop(name, None)
    if "fireAt" in known and "id" in known:
        made["id"], made["fireAt"] = chance.choice(standing.firings)
    if "cron" not in known:
        return
    given = [name for name in RULES if name in made]
    if "id" in known and not given:
        return
    rule = chance.choice(given or RULES[:1])
    _keep(made, RULES, rule, standing, chance)
    if rule != "everyMs":
        made.pop("anchorAt", None)
    if rule in ("at", "delayMs") or "id" in known:
        for name in OF_A_SERIES:
            made.pop(name, None)


def _keep(
    made: dict[str, Any], names: tuple[str, ...], one: str, standing: Standing, chance: random.Random
) -> None:
    for name in names:
        made.pop(name, None)
    made[one] = PICKS[one](chance, standing)


def _resolved(schema: dict[str, Any], root: Any) -> dict[str, Any]:
    while "$ref" in schema:
        schema = root["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    branches = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(branches[0], root) if branches else schema
