"""What one `POST /v1/timers` takes: statements, commands, and calls of functions, which are the API's CPU.

Numbers, not times, so that a create that costs more is caught on any machine.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event
from werkzeug.test import EnvironBuilder

from benchmarks.redis_figures import CommandCounter
from tests.api.v1.world import TIMERS, URL, V1World
from wangtimer.api import create_app

IN_AN_HOUR, EACH_SECOND = {"delay": "1h"}, {"cron": "* * * * * *"}
WARM = 5
# Of Python and of C, from Flask on: 1,885 on SQLite with Python 3.11, some 30 fewer on MariaDB. Keys, the audit, masks,
# limits and the headers for browsers are 325 of them.
MOST_CALLS = 1_900


def test_a_timer_of_a_later_hour_costs_two_statements_and_no_command(world: V1World, redis_url: str) -> None:
    sql, commands = _cost_of(world, redis_url, {"schedule": IN_AN_HOUR})
    # The timer, and who made it.
    assert sql == ["INSERT", "INSERT", "COMMIT"]
    assert commands == []


@pytest.mark.parametrize(
    ("more", "statements"),
    [
        ({"tags": ["daily"]}, ["INSERT", "INSERT", "INSERT", "COMMIT"]),
        (
            {"schedule": {"cron": "0 9 * * *", "excludeCalendar": "plant"}},
            ["SELECT", "SELECT", "INSERT", "INSERT", "COMMIT"],
        ),
        ({"schedule": EACH_SECOND, "tags": ["daily"]}, ["INSERT"] * 4 + ["COMMIT"]),
    ],
    ids=["tags", "a calendar of the app", "firings and tags"],
)
def test_what_takes_several_statements_is_one_transaction(
    world: V1World, redis_url: str, more: dict[str, Any], statements: list[str]
) -> None:
    world.send("PUT", "/v1/calendars/plant", {"days": ["2027-01-01"]}, rule="/v1/calendars/{name}")
    sql, _ = _cost_of(world, redis_url, {"schedule": IN_AN_HOUR} | more)
    assert sql == statements


def test_one_that_fires_at_once_costs_a_statement_more_and_eight_commands(
    world: V1World, redis_url: str
) -> None:
    sql, commands = _cost_of(world, redis_url, {"schedule": EACH_SECOND})
    assert sql == ["INSERT", "INSERT", "INSERT", "COMMIT"]
    # Two minutes are counted; the definition, a slice each, the agenda; what is due within the lead, the agenda.
    assert Counter(commands) == {"HINCRBY": 2, "EVALSHA": 6}


def test_a_key_to_repeat_it_under_costs_three_statements_more(world: V1World, redis_url: str) -> None:
    sql, commands = _cost_of(world, redis_url, {"schedule": IN_AN_HOUR}, Idempotency_Key="a-key")
    assert sql == ["SELECT", "INSERT", "DELETE", "INSERT", "INSERT", "COMMIT"]
    assert commands == []


def test_a_create_calls_few_functions(world: V1World) -> None:
    """Of several the one with the fewest: now and then Redis' time is read too, or a collection runs."""
    _warm(world)
    app = create_app(world.wiring)
    counted = []
    for number in range(5):
        environ = _environ({"key": f"counted-{number}", "schedule": IN_AN_HOUR, "target": {"url": URL}})
        with _calls() as calls:
            answer = b"".join(app.wsgi_app(environ, lambda *_: None))
        assert json.loads(answer)["key"] == f"counted-{number}"
        counted.append(calls)
    fewest = min(counted, key=Counter.total)
    assert 0 < fewest.total() < MOST_CALLS, fewest.most_common(40)


def _cost_of(
    world: V1World, redis_url: str, fields: dict[str, Any], **headers: str
) -> tuple[list[str], list[str]]:
    """Return the statements and the commands of one create, after a few of the same kind."""
    _warm(world, **fields)
    statements: list[str] = []

    def note(*seen: Any) -> None:
        # SQLite's, which MariaDB needs no statement for.
        if not seen[2].startswith("BEGIN"):
            statements.append(seen[2].split(" ", 1)[0])

    for engine in world.wiring.database.engines:
        event.listen(engine, "before_cursor_execute", note)
        event.listen(engine, "commit", lambda _: statements.append("COMMIT"))
    store = CommandCounter(redis_url)
    answered = world.send("POST", TIMERS, {"key": "counted", "target": {"url": URL}} | fields, **headers)
    store.stop()
    assert answered.status == 201
    return statements, store.commands


def _warm(world: V1World, **fields: Any) -> None:
    """Open connections, load scripts, compile statements."""
    for number in range(WARM):
        world.made(**{"key": f"warm-{number}", "schedule": IN_AN_HOUR} | fields)


def _environ(body: dict[str, Any]) -> dict[str, Any]:
    headers = {"WangTimer-App": "shop"}
    return EnvironBuilder(path=TIMERS, method="POST", json=body, headers=headers).get_environ()


@contextmanager
def _calls() -> Iterator[Counter[str]]:
    """Count the calls of functions of this thread."""
    calls: Counter[str] = Counter()

    def note(frame: Any, kind: str, called: Any) -> None:
        if kind == "call":
            calls[frame.f_code.co_qualname] += 1
        elif kind == "c_call":
            calls[called.__qualname__] += 1

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
