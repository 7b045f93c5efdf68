"""A thousand creates under way while the API dies: which answers were heard, and so must be kept."""

import contextlib
import random
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

import requests
from sqlalchemy import create_engine, select
from sqlalchemy.pool import NullPool

from tests.chaos.load import APP, Key
from wangtimer.stack.service import is_ready
from wangtimer.store.sql.tables import firings, timers

TIMER, TASK = "api/timer/v1", "api/task/v1"
AT_ONCE = 16
# Far enough that whoever creates it has time to enable it, even where the API must come back first.
AHEAD_MS = (15_000, 20_000)
# From what the API hands to an executor itself to what waits for a trigger.
SOON_MS = (500, 4_000)


@dataclass(slots=True)
class Creates:
    """Makes one-shots over the API from threads, due so many ms later; a request that fails is not made again."""

    api_url: str
    target_url: str
    ahead_ms: tuple[int, int] = AHEAD_MS
    created: set[Key] = field(default_factory=set)
    enabled: set[Key] = field(default_factory=set)
    failed: int = 0
    _lock: Lock = field(default_factory=Lock)

    def begin(self, number: int) -> "list[Future[None]]":
        """Begin to make so many; the futures end when each is made or has failed."""
        pool = ThreadPoolExecutor(AT_ONCE)
        prefix = uuid4().hex
        futures = [pool.submit(self._make, f"{prefix}-{i}") for i in range(number)]
        pool.shutdown(wait=False)
        return futures

    def unkept(self, database_url: str) -> set[Key]:
        """Return the timers whose creation was answered with success and that are not there."""
        engine = create_engine(database_url, poolclass=NullPool)
        with engine.connect() as sql:
            there = {(row.id, row.at_ms) for row in sql.execute(select(timers.c.id, timers.c.at_ms))}
        return self.created - there

    def planned(self, database_url: str) -> set[Key]:
        """Return those of the created whose firing is committed, whether or not the API lived to say so."""
        engine = create_engine(database_url, poolclass=NullPool)
        ids = [timer_id for timer_id, _ in self.created]
        query = select(firings.c.timer_id, firings.c.fire_at).where(firings.c.timer_id.in_(ids))
        with engine.connect() as sql:
            return {(row.timer_id, row.fire_at) for row in sql.execute(query)}

    def _make(self, name: str) -> None:
        while not is_ready(self.api_url):
            time.sleep(0.1)
        at = int(time.time() * 1_000) + random.randrange(*self.ahead_ms)
        notify = {"url": self.target_url, "method": "POST", "body": "{}"}
        created = self._ask("def", name=name, at=at, notifyHTTPParam=notify)
        if created is None:
            return
        key = (int(created["id"]), at)
        with self._lock:
            self.created.add(key)
        if self._ask("enable", id=key[0]) is not None:
            with self._lock:
                self.enabled.add(key)

    def _ask(self, path: str, **fields: object) -> dict[str, str] | None:
        try:
            response = requests.post(
                f"{self.api_url}/api/timer/v1/{path}", json={"app": APP, **fields}, timeout=20
            )
        except requests.RequestException:
            response = None
        if response is not None and response.ok:
            answer: dict[str, str] = response.json()
            return answer
        with self._lock:
            self.failed += 1
        return None


def all_done(futures: "Iterable[Future[None]]") -> bool:
    return all(future.done() for future in futures)


class Changes:
    """`with Changes(api_url, target_url): ...`: one request after another, each kind of change in turn."""

    def __init__(self, api_url: str, target_url: str) -> None:
        self._api_url = api_url
        self._target_url = target_url
        self._has_ended = Event()
        self._thread = Thread(target=self._run, name="changes", daemon=True)

    def __enter__(self) -> "Changes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._has_ended.wait(0.05):
            with contextlib.suppress(requests.RequestException, KeyError):
                self._change()

    def _change(self) -> None:
        """Make a timer that fires at once and one that fires in a minute; edit, disable and delete them again.

        And a calendar, which a timer follows when it is uploaded anew.
        """
        self._keep_apart()
        for delay_ms in (500, 60_000):
            notify = {"url": self._target_url, "method": "POST", "body": "{}"}
            name = f"change-{uuid4().hex}"
            made = self._ask("POST", "def", name=name, delayMs=delay_ms, notifyHTTPParam=notify)
            self._ask("POST", "enable", id=made["id"])
            self._ask("PATCH", "def", id=made["id"], misfireGraceMs=delay_ms * 10)
            for method, path in (("POST", "unable"), ("DELETE", "def")):
                self._ask(method, path, id=made["id"])
        self._v1("PUT", "calendars/change", {})
        notify = {"url": self._target_url, "method": "POST", "body": "{}"}
        follower = {"name": f"change-{uuid4().hex}", "cron": "0 9 * * *", "excludeCalendar": "change"}
        made = self._ask("POST", "def", notifyHTTPParam=notify, **follower)
        self._v1("PUT", "calendars/change", {"days": ["2001-01-01"]})
        self._ask("DELETE", "def", id=made["id"])
        self._v1("DELETE", "calendars/change")
        self._make_many()
        self._demand()
        self._rotate()
        self._aim()
        self._limit()
        self._lose_target()
        self._let_stop()

    def _limit(self) -> None:
        """Give the app a limit that it does not reach, so that each of its calls needs a permit."""
        limits = {"limits": {"callsPerSecond": 50_000, "callsAtOnce": 50_000}}
        requests.patch(f"{self._api_url}/v1/apps/{APP}", json=limits, timeout=5)

    def _rotate(self) -> None:
        """Give the app another signing secret."""
        self._v1("POST", "signing-secrets", {"overlap": "0s"})

    def _aim(self) -> None:
        """Make a named target, and delete it again."""
        self._v1("PUT", "targets/change", {"url": self._target_url})
        self._v1("DELETE", "targets/change")

    def _lose_target(self) -> None:
        """Call a target once that answers 410."""
        notify = {"url": urljoin(self._target_url, "/gone"), "method": "POST", "body": "{}"}
        made = self._ask("POST", "def", name=f"gone-{uuid4().hex}", cron="* * * * *", notifyHTTPParam=notify)
        self._ask("POST", "fire", TASK, id=made["id"])

    def _let_stop(self) -> None:
        """Call a target once whose answer stops its timer."""
        target = {"url": urljoin(self._target_url, "/stop"), "allowControl": True}
        timer = {"key": f"stop-{uuid4().hex}", "schedule": {"cron": "* * * * *"}, "target": target}
        url, of_app = f"{self._api_url}/v1/timers", {"WangTimer-App": APP}
        made = requests.post(url, json=timer, headers=of_app, timeout=5).json()
        requests.post(f"{url}/{made['id']}:fire", headers=of_app, timeout=5)

    def _keep_apart(self) -> None:
        """Make a timer whose firings are not to overlap: a few of them, so that each process has some."""
        timer = {
            "key": f"apart-{uuid4().hex}",
            "schedule": {"every": "1s", "maxFirings": 6},
            "target": {"url": self._target_url},
            "overlap": "queueOne",
        }
        self._v1("POST", "timers", timer)

    def _make_many(self) -> None:
        """Make two timers in one request, enabled; disable, enable and delete them, and what was left over."""
        keys = [f"change-{uuid4().hex}" for _ in range(2)]
        target = {"url": self._target_url, "body": "{}"}
        timers = [{"key": key, "schedule": {"delay": "1m"}, "target": target} for key in keys]
        self._v1("POST", "timers:batchCreate", {"timers": timers})
        for verb in ("Disable", "Enable", "Delete"):
            self._v1("POST", f"timers:batch{verb}", {"filter": {"keyPrefix": "change-"}})

    def _demand(self) -> None:
        """Ask for single firings of a timer that is never enabled: now, of the minute past, and not at all."""
        notify = {"url": self._target_url, "method": "POST", "body": "{}"}
        made = self._ask(
            "POST", "def", name=f"demand-{uuid4().hex}", cron="* * * * *", notifyHTTPParam=notify
        )
        timer_id, moment = made["id"], made["data"]["nextMoments"][1]["atMs"]
        self._ask("POST", "fire", TASK, id=timer_id)
        self._ask("POST", "backfill", TASK, id=timer_id, since=moment - 240_000, until=moment - 120_000)
        self._ask("POST", "cancel", TASK, id=timer_id, fireAt=moment)
        self._ask("POST", "replay", TASK, firings=[{"id": timer_id, "fireAt": moment}])
        # Its answer is kept: the key is claimed before, and the claim ended afterwards.
        key = {"WangTimer-App": APP, "Idempotency-Key": uuid4().hex}
        requests.post(f"{self._api_url}/v1/timers/{timer_id}:disable", headers=key, timeout=5)
        self._ask("DELETE", "def", id=timer_id)

    def _v1(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        url, of_app = f"{self._api_url}/v1/{path}", {"WangTimer-App": APP}
        requests.request(method, url, json=body, headers=of_app, timeout=5)

    def _ask(self, method: str, path: str, api: str = TIMER, **fields: object) -> dict[str, Any]:
        url = f"{self._api_url}/{api}/{path}"
        answer: dict[str, Any] = requests.request(method, url, json={"app": APP, **fields}, timeout=5).json()
        return answer
