"""One error of each code that is about keys and apps."""

import json
from typing import Any

from tests.api.keyed_world import KeyedWorld
from wangtimer.core.apps.scopes import APP_SCOPES, Scope

LISTS = {True: "/v1/timers", False: "/api/timer/v1/defs"}


def key_faults(database_url: str, store_url: str, now: int, is_v1: bool) -> dict[str, Any]:
    """Return an error by each of these codes, as v1 or as the compatible paths tell it."""
    world = KeyedWorld(database_url, store_url, now)
    path = LISTS[is_v1]
    try:
        for app in ("shop", "stopped"):
            world.wiring.apps.create_missing(app, {}, now)
        own, other = world.key("shop"), world.key("shop", APP_SCOPES - {Scope.TIMERS_READ})
        stopped, ended = world.key("stopped"), world.key("shop", expires_at=now - 1)
        world.wiring.apps.change("stopped", now, {}, is_disabled=True)
        asked = [
            (path, None, None),
            (path, f"{own[:-1]}-", None),
            (path, ended, None),
            (path, other, None),
            (path, own, "billing"),
            (path, stopped, None),
            (path, world.key(None), "shpo"),
        ]
        if is_v1:
            asked.append(("/v1/operator-keys/3kTMd8Qx9LbA", world.key(None), None))
        told = [json.loads(_sent(world, is_v1, *one)) for one in asked]
        return {str(one["code"]): _without_id(one) for one in told}
    finally:
        world.close()


def _sent(world: KeyedWorld, is_v1: bool, path: str, key: str | None, app: str | None) -> str:
    headers = {} if app is None or not is_v1 else {"WangTimer-App": app}
    query = {} if app is None or is_v1 else {"app": app}
    method = "DELETE" if "keys" in path else "GET"
    answer = world.ask(method, path, key, headers=headers, query_string=query)
    return str(answer.text)


def _without_id(told: dict[str, Any]) -> dict[str, Any]:
    """Return an error with an id of a key in place of the random one."""
    name = "detail" if "detail" in told else "msg"
    words = told[name].split()
    if "key" in words and len(words[words.index("key") + 1]) == 12:
        words[words.index("key") + 1] = "3kTMd8Qx9LbA"
    return told | {name: " ".join(words)}
