"""The API in a process of its own, where timers have a field `note`: it is given, read, edited and taken away.

Prints what it saw, as a JSON object: answers, the column after a change, what Redis has, and what callers are shown.
"""

import json
import sys
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.mysql import dialect
from sqlalchemy.schema import CreateTable

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF, present
from tests.cli.runs import json_of, runner_of
from tests.client.served import serving
from wangtimer.client import Client
from wangtimer.client.timer_fields import Schedule
from wangtimer.store.refresher import tell
from wangtimer.store.sql.tables import timers

BODY = {"schedule": {"cron": "0 9 * * *"}, "target": {"url": URL}}


class NotedWorld(V1World):
    """The API, and what became of a timer's note behind it."""

    def stored(self, timer_id: int) -> dict[str, Any]:
        """Return the columns of the note and of when the schedule changed, and the note that Redis has."""
        query = select(timers.c["note"], timers.c.edited_at).where(timers.c.id == timer_id)
        note, edited_at = self.wiring.database.read(lambda sql: tuple(sql.execute(query).one()))
        # As whoever adds its first firing does.
        tell(self.wiring.timers, self.wiring.definitions, [timer_id])
        told = self.wiring.definitions.get([timer_id]).definitions[timer_id]
        return {"column": note, "edited_at": edited_at, "redis": getattr(told, "note")}  # noqa: B009


def main(database_url: str, store_url: str) -> None:
    """Take a note through both APIs."""
    world = NotedWorld(database_url, store_url, present())
    world.wiring.database.create_tables()
    made = world.send("POST", TIMERS, {"key": "noted", "note": "ask Li first", **BODY}).json
    path, rule = f"{TIMERS}/key:noted", f"{TIMERS}/{{which}}"
    seen: dict[str, Any] = {
        "made": made,
        "stored": world.stored(made["id"]),
        "read": world.send("GET", path, rule=rule).json,
        "edited": world.send("PATCH", path, {"note": "ask Wu"}, rule=rule).json,
        "stored_anew": world.stored(made["id"]),
        "untouched": world.send("PATCH", path, {"tags": ["a"]}, rule=rule).json,
        "listed": world.send("GET", TIMERS).json["items"][0],
        "taken_away": world.send("PATCH", path, {"note": None}, rule=rule).json,
        "put": world.send("PUT", path, {"note": "ask Ann", **BODY}, rule=rule).json,
        "put_without": world.send("PUT", path, BODY, rule=rule).json,
        "too_long": world.send("POST", TIMERS, {"note": "x" * 101, **BODY}).json,
        "compatible": world.create(name="of the seed's paths", note="x" * 100).data,
        "compatible_edit": world.patch(app="shop", id=made["id"], note="both see it").data,
        "compatible_read": world.get(DEF, app="shop", id=made["id"]).data,
        "columns": str(CreateTable(timers).compile(dialect=dialect())),
    }
    world.close()
    with serving(database_url, store_url) as served:
        seen |= of_callers(served.url)
    print(json.dumps(seen))


def of_callers(url: str) -> dict[str, Any]:
    """Give, change and take away a note by the client and by the command line; return what each shows of it."""
    client, run = Client(url, "shop"), runner_of(url)
    schedule: Schedule = {"cron": "0 9 * * *"}
    noted: Any = {"key": "by client", "note": "ask Bo", "schedule": schedule, "target": {"url": URL}}
    changed: Any = {"note": "ask Cy"}
    made = client.create_timer(**noted)
    shell = ("--target", URL, "--cron", "0 9 * * *", "--note", "ask Di")
    return {
        "client": [made, client.patch_timer("key:by client", **changed)],
        "shell": [
            json_of(run("timers", "create", "by-shell", *shell, "--json")),
            json_of(run("timers", "edit", "by-shell", "--note", "ask Ed", "--json")),
            run("timers", "show", "by-shell").output,
            json_of(run("timers", "edit", "by-shell", "--clear", "note", "--json")),
        ],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
