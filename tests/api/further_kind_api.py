"""The API in a process of its own, with a further kind of rule: its models are made of the kinds there are.

Prints what it answers, as a JSON list.
"""

import json
import sys

from tests.further_kind import registered

RULE = {"workdayOfMonth": 3, "timezone": "Europe/Berlin"}


def main(database_url: str, store_url: str) -> None:
    """Make a timer, look at it, enable and edit it."""
    from tests.api.v1.world import TIMERS, V1World
    from tests.api.world import DEF, ENABLE, URL, present

    world = V1World(database_url, store_url, present())
    world.wiring.database.create_tables()
    timer = {"app": "shop", "name": "payday", "notifyHTTPParam": {"url": URL}}
    made = world.post(DEF, **timer, **RULE)
    one = {"app": "shop", "id": made.data["id"]}
    answers = [
        made,
        world.post(ENABLE, **one),
        world.get(DEF, **one),
        world.patch(**one, timezone="Asia/Shanghai"),
        world.patch(**one, cron="0 9 * * *"),
        world.patch(**one, workdayOfMonth=20, maxFirings=2),
        world.post(DEF, **timer | {"name": "none"}, workdayOfMonth=21),
        world.post(DEF, **timer | {"name": "two"}, workdayOfMonth=1, cron="0 9 * * *"),
        world.post(DEF, **timer | {"name": "once"}, delayMs=1_000, jitterMs=5),
    ]
    target = {"url": URL}
    bad = RULE | {"workdayOfMonth": 21}
    answers_of_v1 = [
        world.send("POST", TIMERS, {"key": "v1", "schedule": RULE, "target": target}),
        world.send("GET", f"{TIMERS}/key:v1", rule=f"{TIMERS}/{{which}}"),
        world.send("POST", "/v1/schedules:preview", {"schedule": RULE, "count": 1}),
        world.send("POST", TIMERS, {"schedule": bad, "target": target}),
        world.send("POST", TIMERS, {"schedule": {"timezone": "UTC"}, "target": target}),
    ]
    world.close()
    print(json.dumps([[answered.json for answered in some] for some in (answers, answers_of_v1)]))


if __name__ == "__main__":
    with registered():
        main(*sys.argv[1:])
