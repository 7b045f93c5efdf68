"""Apps that take what others need too: room in Redis and SQL, threads that answer lists, calls beyond their share."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from statistics import median

from sqlalchemy import text

from tests.attack.answer import Answer, summed
from tests.attack.app_limits import FIRINGS, at_once, timer
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from tests.attack.keys import COUNTS_WITHIN_S
from tests.patience import patience
from wangtimer.store.sql.tables import timers

DATED, TIMERS_BYTES, LARGE = 100, 100_000, 30_000
# A calendar of so many days takes some 50 KB.
DAYS = [
    f"{year}-{month:02}-{day:02}"
    for year in range(2030, 2042)
    for month in range(1, 13)
    for day in range(1, 28)
]
# The definition of a timer that names it takes no more, nor the row of a deleted one.
SMALL_BYTES = 2_000
ONE_SHOTS, GONE_WITHIN_S = 200, 15 * 60
MANY, CLIENTS, LOOK_S = 60_000, 32, 10
# s, on a quiet machine; where one app could have all threads, a list of another took 7 s.
SOON_S = 2.0
# To look for less, or later.
REFUSED = ("400 40007", "503 50303")
TOLD = f"answered, or told to look for less or later ({', '.join(REFUSED)})"
PACING, PACED_S = 10, 15


def sizes(ground: Ground, ids: list[int]) -> tuple[list[int], list[int]]:
    """Return the bytes of the timers' definitions in Redis, of those that it has, and in how many s each is gone."""
    with closing(ground.deployment.store.watcher()) as redis:
        keys = [key for one in ids for key in redis.keys(f"*:def:{one}")]
        return [redis.memory_usage(key) or 0 for key in keys], [redis.ttl(key) for key in keys]


def ends(left_s: list[int]) -> str:
    """Say when definitions are gone."""
    if not left_s:
        return "none was there"
    is_soon = all(0 < one <= GONE_WITHIN_S for one in left_s)
    return "each is gone within 15 min" if is_soon else f"kept for {max(left_s)} s"


def _days(ground: Ground) -> str:
    key = ground.made_app("dating")
    ground.done("PUT", "/v1/calendars/plant", key, {"days": DAYS})
    schedule = {"every": "1h", "excludeCalendar": "plant"}
    made = at_once(lambda n: ground.ask("POST", "/v1/timers", key, timer(f"d{n}", schedule)), DATED)
    ids = [int(one.json["id"]) for one in made if isinstance(one, Answer)]
    ground.tend(3)
    defined, _ = sizes(ground, ids)
    having = "no definition has" if max(defined) < SMALL_BYTES else f"{max(defined)} bytes each, for"
    ground.done("POST", "/v1/timers:batchDelete", key, {"all": True})
    ground.tend(3)
    _, left_s = sizes(ground, ids)
    with ground.sql.connect() as sql:
        rows = text("SELECT SUM(LENGTH(bounds)) FROM timer WHERE app = 'dating'")
        left = int(sql.execute(rows).scalar_one() or 0)
    keeping = "no row has" if left < DATED * SMALL_BYTES else f"{left} bytes of rows have"
    return f"{summed(made)}; {having} the days; deleted, {keeping} them, {ends(left_s)}"


def _bytes(ground: Ground) -> str:
    key = ground.made_app("writing", timerBytes=TIMERS_BYTES)
    ground.tend(COUNTS_WITHIN_S + 1)
    body = {"target": {"url": "http://target.example/", "body": "x" * LARGE}}
    told = at_once(lambda number: ground.ask("POST", "/v1/timers", key, timer(f"w{number}") | body), 10)
    return summed(told)


def _fired(ground: Ground) -> str:
    key = ground.made_app("spending")
    url = f"{ground.target.url}plain"
    each = [timer(f"o{number}", {"delay": "0s"}) | {"target": {"url": url}} for number in range(ONE_SHOTS)]
    made = ground.done("POST", "/v1/timers:batchCreate", key, {"timers": each})
    ids = [int(one["id"]) for one in made["items"]]
    fired = {one.status for one in ground.outcomes(ids).values()}
    _, left_s = sizes(ground, ids)
    return f"{', '.join(fired)}; {ends(left_s)}"


def _lists(ground: Ground) -> str:
    key = ground.made_app("listing")
    one = ground.done("POST", "/v1/timers", key, timer("first", enabled=False))["id"]
    with ground.sql.begin() as sql:
        columns = [column.name for column in timers.c]
        copied = {"id": "id + seq", "name": "CONCAT('more ', seq)"}
        values = ", ".join(copied.get(column, column) for column in columns)
        rows = f"INSERT INTO timer ({', '.join(columns)}) SELECT {values} FROM timer JOIN seq_1_to_{MANY}"
        sql.execute(text(f"{rows} WHERE id = {one}"))
    # The attack itself keeps the machine busy.
    soon_s, ends_at = SOON_S * patience(), time.monotonic() + LOOK_S

    def look(_: int) -> set[str]:
        told = set()
        while time.monotonic() < ends_at:
            told.add(str(ground.ask("GET", "/v1/timers?keyContains=nowhere", key, at=ground.web)))
        return told

    others, took = set(), []
    with ThreadPoolExecutor(CLIENTS) as threads:
        looks = [threads.submit(look, number) for number in range(CLIENTS)]
        while time.monotonic() < ends_at:
            began_at = time.monotonic()
            others.add(str(ground.ask("GET", "/v1/timers?limit=1", ground.bank, at=ground.web)))
            took.append(time.monotonic() - began_at)
        told = set().union(*(one.result() for one in looks))
    with ground.sql.begin() as sql:
        sql.execute(text("DELETE FROM timer WHERE app = 'listing'"))
    wrong = told - {"200", *REFUSED}
    said = ", ".join(sorted(wrong)) if wrong else TOLD
    within = "soon" if median(took) < soon_s else f"after {median(took):.1f} s"
    return f"{said}; another app's list: {', '.join(sorted(others))}, {within}"


def _paced(ground: Ground) -> str:
    """Without a pace each would be called once a second."""
    key = ground.made_app("pacing", firingsPerSecond=FIRINGS)
    ground.tend(COUNTS_WITHIN_S + 1)
    again = {"target": {"url": f"{ground.target.url}again", "allowControl": True}}
    each = [timer(f"p{number}", {"delay": "0s"}) | again for number in range(PACING)]
    made = ground.done("POST", "/v1/timers:batchCreate", key, {"timers": each})
    began_at = time.monotonic()
    ground.tend(PACED_S)
    ids = [int(one["id"]) for one in made["items"]]
    called = sum(len(ground.target.calls_of(one)) for one in ids)
    may = PACING + FIRINGS * (time.monotonic() - began_at + 1)
    ground.done("POST", "/v1/timers:batchDelete", key, {"all": True})
    return "no more than may are called" if PACING < called <= may else f"{called} calls, may {may:.0f}"


SECTION = Section(
    "What apps share",
    ("API4", "API6"),
    "An app that takes all it may: room in Redis and SQL, threads of the API, and calls that nobody planned. No "
    "limit is set unless the row says so.",
    (
        Attack(
            f"{DATED} timers that name a calendar of {len(DAYS):,} days, then a delete of all: their "
            "definitions in Redis, their rows in SQL",
            "201 of each; no definition has the days; deleted, no row has them, each is gone within 15 min",
            _days,
        ),
        Attack(
            f"10 timers of {LARGE:,} bytes at once for an app that may have {TIMERS_BYTES:,}",
            "201 of 3, 403 40304 of 7",
            _bytes,
        ),
        Attack(
            f"{ONE_SHOTS} one-shots that fire at once: their definitions in Redis",
            "succeeded; each is gone within 15 min",
            _fired,
        ),
        Attack(
            f"{CLIENTS} clients look through {MANY:,} timers of their app for a key that none has, for {LOOK_S} s",
            f"{TOLD}; another app's list: 200, soon",
            _lists,
        ),
        Attack(
            f"{PACING} one-shots whose target sets their next moment a second later (`allowControl`), of an app "
            f"that may plan {FIRINGS} firings a second",
            "no more than may are called",
            _paced,
        ),
    ),
)
