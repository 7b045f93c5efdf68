"""Firings that targets have accepted, and what these say of them while processes die: what was heard must be kept."""

import time
from collections.abc import Mapping
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import requests
from sqlalchemy import create_engine, insert, select
from sqlalchemy.pool import NullPool

from tests.chaos.load import APP
from tests.secret_keys import SECRET_KEYS
from wangtimer.base.settings import Settings
from wangtimer.core.flow.firing import FiringKind, FiringStatus, Member
from wangtimer.core.signing.ack_token import ACK_PURPOSE, AckTokens
from wangtimer.store.seals import Seals
from wangtimer.store.sql.tables import firings

OF_APP = {"WangTimer-App": APP}
FINAL = {"final": True}


class SaidOfWork:
    """`with SaidOfWork(api_url, database_url): ...`: accepted firings are done, prolonged, failed, late.

    Their timer is disabled, so none of them is called again.
    """

    def __init__(self, api_url: str, database_url: str) -> None:
        self._api_url = api_url
        self._engine = create_engine(database_url, poolclass=NullPool)
        seals = Seals(Settings(secret_keys=SECRET_KEYS).secret_key_ring)
        self._tokens = AckTokens(seals.derived(ACK_PURPOSE))
        self._has_ended = Event()
        self._thread = Thread(target=self._run, name="said of work", daemon=True)
        self._heard: dict[Member, FiringStatus] = {}

    def __enter__(self) -> "SaidOfWork":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join(30)

    def unkept(self) -> dict[Member, str]:
        """Return what stands otherwise in SQL than was answered."""
        with self._engine.connect() as sql:
            rows = sql.execute(select(firings.c.timer_id, firings.c.fire_at, firings.c.status)).all()
        there = {(row.timer_id, row.fire_at): row.status for row in rows}
        return {
            one: there.get(one.key, "")
            for one, said in self._heard.items()
            if there.get(one.key) != said.value
        }

    def _run(self) -> None:
        timer_id = self._made()
        while not self._has_ended.wait(0.05):
            if self._say("ack", self._accepted(timer_id)):
                self._heard[self._last] = FiringStatus.SUCCEEDED
            self._say("heartbeat", self._accepted(timer_id))
            if self._say("nack", self._accepted(timer_id), **FINAL):
                self._heard[self._last] = FiringStatus.FAILED
            self._accepted(timer_id, ack_in_ms=-1)  # a sweep ends it

    def _made(self) -> int:
        body = {
            "schedule": {"cron": "@yearly"},
            "target": {"url": "http://nobody.invalid/", "ackTimeout": "1h"},
        }
        while True:
            made = self._post("timers", {"key": f"work-{uuid4().hex}", "enabled": False, **body})
            if made is not None:
                return int(made["id"])
            time.sleep(0.1)

    def _accepted(self, timer_id: int, ack_in_ms: int = 3_600_000) -> Member:
        """Insert a firing as its call left it; return its attempt."""
        now = time.time_ns() // 1_000_000
        member = Member(timer_id, now - 1_000, 1)
        words = {"kind": FiringKind.SCHEDULED.value, "status": FiringStatus.ACCEPTED.value}
        row = {
            "fire_at": member.fire_at,
            "timer_id": timer_id,
            "bucket": 0,
            "due_at": now + ack_in_ms,
            "attempt": 1,
        }
        sent = {"first_sent_at": member.fire_at, "sent_at": member.fire_at, "lateness_ms": 0, "cost_ms": 5}
        with self._engine.begin() as sql:
            sql.execute(insert(firings).values(row | words | sent))
        time.sleep(0.002)  # the next has another moment
        return member

    def _say(self, verb: str, member: Member, **more: object) -> bool:
        """Say something of a firing, and once more where no answer came; tell whether it was heard."""
        self._last = member
        token = {"token": self._tokens.token(member), **more}
        return any(self._post(f"firings/{member.firing_id}:{verb}", token) is not None for _ in range(2))

    def _post(self, path: str, body: Mapping[str, object]) -> dict[str, Any] | None:
        """Return the answer; None where there was none, or a refusal."""
        try:
            response = requests.post(f"{self._api_url}/v1/{path}", json=body, headers=OF_APP, timeout=5)
        except requests.RequestException:
            return None
        if not response.ok:
            return None
        answer: dict[str, Any] = response.json() if response.content else {}
        return answer
