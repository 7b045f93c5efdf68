"""Apps that go over what an operator lets them: requests, timers, planned firings, replays, calendars, calls."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache

from tests.attack.answer import Answer, summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import ELSEWHERE, Ground
from tests.attack.keys import COUNTS_WITHIN_S, forged

# Requests in a window, and how long one lasts.
REQUESTS, WINDOW_S = 20, 20
TIMERS, FIRINGS, REPLAYS, CALENDAR_BYTES = 5, 2, 3, 150
FLOOD = 100
BY_REQUESTS = {"requestsPerSecond": REQUESTS // WINDOW_S, "requestsAtOnce": REQUESTS}
LIMITS = {
    "flooding": BY_REQUESTS,
    "quiet": BY_REQUESTS,
    "hoarding": {"timers": TIMERS},
    "batching": {"timers": TIMERS},
    "busy": {"firingsPerSecond": FIRINGS},
    "replaying": {"replaysPerHour": REPLAYS},
    "dated": {"calendarBytes": CALENDAR_BYTES},
    "calling": {"callsPerSecond": 1},
}
TOO_FAST = "429 42901"
# Every-second timers of an app that a host turns away, and how long that lasts before others are looked at.
TURNED_AWAY, TURNED_AWAY_S = 10, 10


@cache
def limited(ground: Ground) -> dict[str, str]:
    """Make the apps; return a key of each, once its limits count in every process."""
    keys = {name: ground.made_app(name, **limits) for name, limits in LIMITS.items()}
    ground.tend(COUNTS_WITHIN_S + 1)
    return keys


def at_once(send: Callable[[int], object], number: int) -> list[object]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(send, range(number)))


def listed(ground: Ground, key: str) -> Answer:
    return ground.ask("GET", "/v1/timers", key)


def over_the_limit(ground: Ground, ask: Callable[[], Answer]) -> Answer:
    """Ask once the app has used up its requests; again if a new window began meanwhile."""
    answer = None
    for _ in range(3):
        while str(listed(ground, limited(ground)["flooding"])) != TOO_FAST:
            pass
        answer = ask()
        if str(answer) == TOO_FAST:
            break
    assert answer is not None
    return answer


def _flood(ground: Ground) -> str:
    key = limited(ground)["flooding"]
    told = [str(one) for one in at_once(lambda _: listed(ground, key), FLOOD)]
    passed = told.count("200")
    others = summed(one for one in told if one != "200")
    # All at once, they come in two windows at most.
    let_through = "no more than may" if REQUESTS <= passed <= 2 * REQUESTS else passed
    return f"{let_through} are answered, the others {others}; another app: {listed(ground, ground.bank)}"


def _what_is_told(ground: Ground) -> str:
    key = limited(ground)["flooding"]
    answer = over_the_limit(ground, lambda: listed(ground, key))
    wait = int(answer.headers["retry-after"])
    left = answer.headers["ratelimit"].startswith('"requests";r=0;t=')
    policy = answer.headers["ratelimit-policy"] == f'"requests";q={REQUESTS};w={WINDOW_S}'
    return f"{answer}; {'all three' if 1 <= wait <= WINDOW_S and left and policy else answer.headers}"


def by_another_way(tried: str, ask: Callable[[Ground], Answer]) -> Attack:
    return Attack(
        f"An app over its requests: {tried}",
        TOO_FAST,
        lambda ground: str(over_the_limit(ground, lambda: ask(ground))),
    )


def _by_another_key(ground: Ground) -> Answer:
    return listed(ground, ground.key("flooding"))


def _by_a_compatible_path(ground: Ground) -> Answer:
    return ground.ask("GET", "/api/timer/v1/defs", limited(ground)["flooding"])


def _from_elsewhere(ground: Ground) -> Answer:
    key = limited(ground)["flooding"]
    return ground.ask(
        "GET", "/v1/timers", key, at=ground.web, source=ELSEWHERE, X_Forwarded_For="203.0.113.7"
    )


def timer(name: str, schedule: dict[str, object] | None = None, **more: object) -> dict[str, object]:
    given = {"delay": "2h"} if schedule is None else schedule
    return {"key": name, "schedule": given, "target": {"url": "http://target.example/"}} | more


def _a_change(ground: Ground) -> str:
    key = limited(ground)["flooding"]
    answer = over_the_limit(ground, lambda: ground.ask("POST", "/v1/timers", key, timer("over")))
    return f"{answer}; {stored(ground, 'flooding')}"


def stored(ground: Ground, app: str) -> str:
    return f"{len([one for one in ground.state_of(app)['timer'] if one[2] != 'deleted'])} timers"


def _used_up_by_others(ground: Ground) -> str:
    """By naming the app, and by the id of its key, which is no secret."""
    own = limited(ground)["quiet"]
    naming = at_once(lambda _: ground.ask("GET", "/v1/timers", ground.bank, WangTimer_App="quiet"), FLOOD)
    forging = at_once(lambda _: listed(ground, forged(own)), FLOOD)
    return f"{summed(naming)}, {summed(forging)}; its own: {listed(ground, own)}"


def _timers(ground: Ground) -> str:
    key = limited(ground)["hoarding"]
    told = at_once(lambda number: ground.ask("POST", "/v1/timers", key, timer(f"t{number}")), 20)
    return f"{summed(told)}; {stored(ground, 'hoarding')}"


def _timers_by_other_operations(ground: Ground) -> str:
    key = limited(ground)["hoarding"]
    definition = {"name": "old", "cron": "0 9 * * *", "notifyHTTPParam": {"url": "http://target.example/"}}
    body = timer("more")
    told = [
        ground.ask("PUT", "/v1/timers/key:more", key, {one: body[one] for one in ("schedule", "target")}),
        ground.ask("POST", "/api/timer/v1/def", key, definition),
    ]
    return f"{summed(told)}; {stored(ground, 'hoarding')}"


def _timers_in_place_of_deleted(ground: Ground) -> str:
    key = limited(ground)["hoarding"]
    told = []
    for turn in range(5):
        one = ground.done("GET", "/v1/timers?limit=1", key)["items"][0]["id"]
        ground.done("DELETE", f"/v1/timers/{one}", key)
        told += at_once(
            lambda number, turn=turn: ground.ask(  # type: ignore[misc]
                "POST", "/v1/timers", key, timer(f"anew {turn} {number}")
            ),
            4,
        )
    return f"{summed(told)}; {stored(ground, 'hoarding')}"


def _batches(ground: Ground) -> str:
    key = limited(ground)["batching"]
    bodies = [{"timers": [timer(f"b{batch} {number}") for number in range(50)]} for batch in range(4)]
    told = at_once(lambda batch: ground.ask("POST", "/v1/timers:batchCreate", key, bodies[batch]), 4)
    return f"{summed(told)}; {stored(ground, 'batching')}"


def _firings(ground: Ground) -> str:
    """Each would fire each second. They are deleted, so that none keeps firing."""
    key, secondly = limited(ground)["busy"], {"every": "1s"}
    try:
        told = at_once(lambda number: ground.ask("POST", "/v1/timers", key, timer(f"s{number}", secondly)), 8)
        disabled = timer("idle", secondly, enabled=False)
        ground.done("POST", "/v1/timers", key, disabled)
        ground.done("POST", "/v1/timers", key, timer("slow", {"cron": "0 9 * * *"}, enabled=False))
        later = [
            ground.ask("POST", "/v1/timers/key:idle:enable", key),
            ground.ask("PATCH", "/v1/timers/key:slow", key, {"schedule": secondly, "enabled": True}),
            ground.ask(
                "PUT", "/v1/timers/key:new", key, {one: disabled[one] for one in ("schedule", "target")}
            ),
        ]
        many = ground.done("POST", "/v1/timers:batchEnable", key, {"keys": ["idle"]})
    finally:
        ground.done("POST", "/v1/timers:batchDelete", key, {"all": True})
    return f"{summed(told)}; {summed(later)}; of a batch {many['done']}"


def _replays(ground: Ground) -> str:
    key = limited(ground)["replaying"]
    body = timer("each second", {"cron": "* * * * * *"}, enabled=False) | {
        "target": {"url": ground.target.url}
    }
    made = ground.done("POST", "/v1/timers", key, body)["id"]
    until = time.time() - 60
    span = {
        name: datetime.fromtimestamp(at, UTC).isoformat()
        for name, at in (("since", until - 300), ("until", until))
    }
    told = [ground.ask("POST", f"/v1/timers/{made}:backfill", key, span) for _ in range(3)]
    ground.tend(3)
    return f"{told[0].json.get('planned')} planned, then {summed(told[1:])}; {len(ground.target.calls_of(made))} calls"


def _calendars(ground: Ground) -> str:
    key, days = limited(ground)["dated"], {"days": ["2099-01-01", "2099-05-01"]}
    told = [ground.ask("PUT", f"/v1/calendars/{name}", key, days) for name in "abcd"]
    return f"{summed(told)}; the last: {ground.ask('GET', '/v1/calendars/d', key)}"


def _calls(ground: Ground) -> str:
    """The bank's firing is due after all of the others."""
    key = limited(ground)["calling"]
    began = time.monotonic()
    waiting = [ground.timer(f"call {number}", f"{ground.target.url}plain", key) for number in range(20)]
    outcome = ground.outcome(ground.timer("beside limited calls", f"{ground.target.url}plain"))
    called = sum(len(ground.target.calls_of(one)) for one in waiting)
    may = time.monotonic() - began + 2
    ground.done("POST", "/v1/timers:batchDelete", key, {"all": True})
    return f"{'no more than may' if called <= may else called} are called; another app's: {outcome.status}"


def _turned_away(ground: Ground) -> str:
    """Five failures in a row, and the host is failing for the app alone."""
    key = ground.made_app("turned-away")
    made = [
        (key, every_second(ground, key, f"{ground.target.url}unavailable", number))
        for number in range(TURNED_AWAY)
    ]
    other = every_second(ground, ground.bank, f"{ground.target.url}beside", 0)
    try:
        ground.tend(TURNED_AWAY_S)
        before = len(ground.target.calls_of(other))
        ground.tend(TURNED_AWAY_S)
        calls = len(ground.target.calls_of(other)) - before
    finally:
        for whose, timer in (*made, (ground.bank, other)):
            ground.done("DELETE", f"/v1/timers/{timer}", whose)
    return (
        "another app's there: each second"
        if calls >= TURNED_AWAY_S - 1
        else f"another app's there: {calls} calls"
    )


def every_second(ground: Ground, key: str, url: str, number: int) -> int:
    body = {"key": f"each-second-{number}", "schedule": {"every": "1s"}, "target": {"url": url}}
    return int(ground.done("POST", "/v1/timers", key, body)["id"])


SECTION = Section(
    "Limits of apps",
    ("API4", "API6"),
    f"Apps that an operator let have {REQUESTS} requests in {WINDOW_S} s, {TIMERS} timers, {FIRINGS} planned firings a "
    f"second, {REPLAYS} replayed firings an hour, {CALENDAR_BYTES} bytes of calendars, or one call a second. Requests "
    "come at once, at both processes of the API.",
    (
        Attack(
            f"{FLOOD} requests at once of an app that may send {REQUESTS}",
            f"no more than may are answered, the others {TOO_FAST} of each; another app: 200",
            _flood,
        ),
        Attack(
            "What the one over its limit is told: `Retry-After`, `RateLimit`, `RateLimit-Policy`",
            f"{TOO_FAST}; all three",
            _what_is_told,
        ),
        by_another_way("another key of it", _by_another_key),
        by_another_way("a compatible path", _by_a_compatible_path),
        by_another_way("another address, and one that it claims", _from_elsewhere),
        Attack("An app over its requests makes a timer", f"{TOO_FAST}; 0 timers", _a_change),
        Attack(
            f"{2 * FLOOD} requests of others, by the name of an app and by the id of its key",
            "403 40302 of each, 401 40102 of each; its own: 200",
            _used_up_by_others,
        ),
        Attack(
            f"20 timers at once for an app that may have {TIMERS}",
            f"201 of {TIMERS}, 403 40304 of {20 - TIMERS}; {TIMERS} timers",
            _timers,
        ),
        Attack(
            "One more timer, by two other operations",
            f"403 40304 of each; {TIMERS} timers",
            _timers_by_other_operations,
        ),
        Attack(
            "Five times: a timer is deleted, and four are made in its place at once",
            f"201 of 5, 403 40304 of 15; {TIMERS} timers",
            _timers_in_place_of_deleted,
        ),
        Attack(
            f"4 batches of 50 timers at once for an app that may have {TIMERS}",
            f"200 of each; {TIMERS} timers",
            _batches,
        ),
        Attack(
            f"8 timers of each second for an app that may plan {FIRINGS} firings a second; an enable, an edit, a "
            "create by its key, a batch",
            f"201 of {FIRINGS}, 403 40305 of {8 - FIRINGS}; 403 40305 of each; of a batch 0",
            _firings,
        ),
        Attack(
            f"300 firings to catch up on for an app that may replay {REPLAYS} an hour, three times",
            f"{REPLAYS} planned, then 429 42902 of each; {REPLAYS} calls",
            _replays,
        ),
        Attack(
            f"Four calendars for an app that may have {CALENDAR_BYTES} bytes of them",
            "200 of 2, 403 40306 of 2; the last: 404 40403",
            _calendars,
        ),
        Attack(
            f"{TURNED_AWAY} firings each second of an app that the host turns away with 503",
            "another app's there: each second",
            _turned_away,
        ),
        Attack(
            "20 firings due at once of an app that may make one call a second",
            "no more than may are called; another app's: succeeded",
            _calls,
        ),
    ),
)
