"""Makes what a schema allows into what the app can do: fields that name things name those that stand.

A document cannot say which ids there are, that a text is a cron expression, or that one of four fields is to be given.
All this goes by the names of fields, not by operations, so that it serves those yet to come.
"""

import random
from collections.abc import Callable
from typing import Any

import trustme

from tests.certificates import pair_of
from tests.fuzz.standing import APP, CALENDARS, SPARE, URL, Standing

HOUR = 3_600_000
RULES = ("cron", "everyMs", "at", "delayMs")
RULES_OF_V1 = ("cron", "every", "at", "delay")
OF_A_SERIES = ("startAt", "endAt", "maxFirings", "jitterMs", "jitter", "excludeCalendar")
# Ways to say one thing, of which one is to be given where none is required.
SPELLINGS = (
    ("id", "timerID"),
    ("name", "fuzzyName"),
    ("id", "name"),
    ("keys", "ids", "filter"),
    ("firings", "since"),
    ("ids", "since"),
    ("body", "json"),
    ("url", "name"),
)
APP_NAMES = {"app", "WangTimer-App"}
# What says which firings besides a list of them.
OF_A_SPAN = ("id", "timer", "since", "until", "statuses")
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

PAIR = pair_of(trustme.CA(), APP)

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


def _which(chance: random.Random, standing: Standing) -> str:
    return str(_id(chance, standing)) if chance.randrange(2) else f"key:{chance.choice(standing.names)}"


def _firing_id(chance: random.Random, standing: Standing) -> str:
    timer_id, moment = _firing(chance, standing)
    return f"{timer_id}-{moment}"


def _firing(chance: random.Random, standing: Standing) -> tuple[int, int]:
    return chance.choice(standing.coming if chance.random() < 0.5 else standing.firings)


PICKS: dict[str, Pick] = {
    "app": _one_of(APP, APP, APP, APP, "bank"),
    "id": _id,
    "timerID": _id,
    "ids": lambda chance, standing: chance.sample(standing.ids, min(3, len(standing.ids))),
    "name": _name,
    "fuzzyName": _one_of("standing", "made"),
    "namePrefix": _one_of("standing", "made"),
    "nameContains": _one_of("a", "%"),
    "filter": _one_of({"keyContains": "a"}, {"status": "enabled"}, {"host": "target.example"}),
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
    "body": _one_of(None, "", '{"order":7}', "账单 \U0001f552"),
    # Of v1, beside those that are called the same.
    "WangTimer-App": _one_of(APP, APP, APP, APP, "bank"),
    "If-Match": _one_of(None, None, '"1"'),
    "Idempotency-Key": lambda chance, _: chance.choice((None, None, f"key-{chance.randrange(10**9)}")),
    "which": _which,
    "timer": _which,
    "firing_id": _firing_id,
    "key_id": lambda chance, standing: chance.choice(standing.key_ids),
    "what": _one_of("all", f"app:{APP}", "host:target.invalid:80"),
    "host": _one_of("*", "target.invalid:80"),
    "ids of firings": lambda chance, standing: [_firing_id(chance, standing)],
    "keys": lambda chance, standing: chance.sample(standing.names, min(3, len(standing.names))),
    "name of a calendar": _one_of(*CALENDARS, SPARE, "made-1"),
    "key": _name,
    "keyPrefix": _one_of("standing", "made"),
    "keyContains": _one_of("a", "%"),
    "every": _one_of("1s", "90s", "PT1H"),
    "delay": _one_of("0s", "1s", "1h30m"),
    "dialect": _one_of(None, "unix"),
    "jitter": _one_of(None, "0s", "30s"),
    "grace": _one_of("1s", "5m"),
    "catchupWindow": _one_of("0s", "1h"),
    "laterThan": _one_of(None, "1s"),
    "minutes": _one_of(None, 1, 60),
    "headers": _one_of({}, {"X-Tag": ["a", "b"]}, {"A": "b"}),
    "certificate": _one_of(PAIR.chain),
    "privateKey": _one_of(PAIR.key),
    "allow": _one_of(None, ["10.1.0.0/16:443"]),
    "caCertificates": _one_of(None, PAIR.chain),
    "name of a target": _one_of(CALENDARS[0], SPARE),
    "queue": _one_of(None),
    "celery": _one_of(None),
    "secretHeaders": _one_of({}),
    "path": _one_of(None, None, "/orders?order=7"),
    "connectTimeout": _one_of(None, "1s"),
    "firstByteTimeout": _one_of(None, "5s"),
    "timeout": _one_of(None, "10s"),
    # It needs a secret key of the deployment.
    "ackTimeout": _one_of(None),
    "pause": _one_of("1s", "30s"),
    "longestPause": _one_of("1m", "1h"),
    "within": _one_of("1h", "75h"),
    "json": _one_of({"order": 7}, [1, None]),
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
        name: PICKS[word](chance, standing)
        if (word := _word(name, known, root)) in PICKS
        else make_sensible(value, known.get(name, {}), root, standing, chance)
        for name, value in given.items()
        if value is not None
    }
    for name in known.keys() & APP_NAMES:
        # It may be left out where the key says it, and none has a key here.
        made.setdefault(name, PICKS[name](chance, standing))
    _give_one(made, schema, root, standing, chance)
    return {name: value for name, value in made.items() if value is not None}


def _word(name: str, known: dict[str, Any], root: Any) -> str:
    """Return the word of `PICKS` for a field; v1 gives a name to other things than the compatible paths."""
    if name == "ids" and _resolved(known[name], root)["items"].get("type") == "string":
        return "ids of firings"
    if name == "name" and "url" in known:
        return "name of a target"
    # Alone in a path it is a calendar's.
    return "name of a calendar" if known.keys() == {"name"} else name


def _give_one(
    made: dict[str, Any], schema: dict[str, Any], root: Any, standing: Standing, chance: random.Random
) -> None:
    known, required = schema.get("properties", {}), schema.get("required", ())
    fitting = [one for one in SPELLINGS if known.keys() >= set(one) and not set(required) & set(one)]
    for spellings in fitting:
        if not any(set(spellings) < set(other) for other in fitting):
            words = {one: _word(one, known, root) for one in spellings}
            _keep(made, words, chance.choice(spellings), standing, chance)
    if "keys" in known:
        made.pop("all", None)
    if "firings" in made or ("ids" in made and "statuses" in known):
        for name in OF_A_SPAN:
            made.pop(name, None)
    if "fireAt" in known and "id" in known:
        made["id"], made["fireAt"] = _firing(chance, standing)
    if "cron" not in known:
        return
    rules = RULES_OF_V1 if "every" in known else RULES
    given = [name for name in rules if name in made]
    if "id" in known and not given:
        return
    rule = chance.choice(given or rules[:1])
    _keep(made, {one: one for one in rules}, rule, standing, chance)
    if rule not in ("everyMs", "every"):
        made.pop("anchorAt", None)
    if rule in ("at", "delayMs", "delay") or "id" in known:
        for name in OF_A_SERIES:
            made.pop(name, None)


def _keep(
    made: dict[str, Any], words: dict[str, str], one: str, standing: Standing, chance: random.Random
) -> None:
    for name in words:
        made.pop(name, None)
    made[one] = PICKS[words[one]](chance, standing)


def _resolved(schema: dict[str, Any], root: Any) -> dict[str, Any]:
    while "$ref" in schema:
        schema = root["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    branches = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(branches[0], root) if branches else schema
