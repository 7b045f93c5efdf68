"""A whole deployment in one process: the real API and stages, SQLite in memory, doubles of Redis and the network."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from sqlalchemy import func, select

from wangtimer.base.settings import Settings
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import MINUTE_MS, Slice
from wangtimer.core.secret_keys import new_secret_key
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.executor.claim import Claims
from wangtimer.executor.note_teller import Key, NoteTeller, Value
from wangtimer.executor.room import Room
from wangtimer.executor.settler import Finished, Settler
from wangtimer.store.sql.tables import firings, timers
from wangtimer.testing.doubled_wiring import DoubledWiring
from wangtimer.testing.doubles import (
    HandClock,
    MemoryAgenda,
    MemoryBroker,
    MemoryEngine,
    MemoryServer,
)
from wangtimer.testing.doubles.every_app import EveryApp
from wangtimer.testing.doubles.memory_engine import TakeCall
from wangtimer.wiring import once

Work = Callable[[], object]

# How long the clock has run before its first moment, as the stages are careful for some seconds after a start.
UP_SINCE_MS = 3_600_000


class SteeredClock(HandClock):
    """Time moves only when the test says so; `sleep` returns at once."""

    def __init__(self, now_ms: float) -> None:
        super().__init__(now_ms - UP_SINCE_MS)

    def sleep(self, seconds: float) -> None:
        """Return at once."""

    def move_to(self, moment_ms: float) -> None:
        """Move on to a moment, ms UTC; never back."""
        self._now_ms = max(self._now_ms, moment_ms)


class Events:
    """Work by its moment. Work of the same moment is done in the order in which it was added."""

    def __init__(self, clock: SteeredClock) -> None:
        self._clock = clock
        self._order = count()
        self._coming: list[tuple[float, int, Work]] = []

    @property
    def next_at(self) -> float:
        """The moment of the next work, ms UTC; `inf` where there is none."""
        return self._coming[0][0] if self._coming else float("inf")

    def at(self, moment_ms: float, work: Work) -> None:
        """Add work for a moment; past work is done next."""
        heapq.heappush(self._coming, (max(moment_ms, self._clock.now_ms()), next(self._order), work))

    def soon(self, work: Work) -> None:
        """Add work for the current moment, after the work that waits for it already."""
        self.at(self._clock.now_ms(), work)

    def do_next(self) -> None:
        """Do the next work; the clock must be at its moment or later."""
        heapq.heappop(self._coming)[2]()


# The host name of the API.
HOST = "wangtimer.test"
MOST_CPU_MS = 60_000
# Nothing of it is stored beyond the process.
_KEY = new_secret_key("test")


class GivenSettings(Settings):
    """Settings from their arguments only: no environment variable changes a test."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - named so by pydantic
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keep only the arguments as a source."""
        return (init_settings,)


def settings_of(**given: Any) -> Settings:
    """Return the settings of a deployment for tests; raises `pydantic.ValidationError`."""
    return GivenSettings(
        database_url=f"sqlite:///file:/wangtimer-{uuid4().hex}?vfs=memdb&uri=true",
        http_hosts=HOST,
        auth="off",
        plan_threads=1,
        # A machine of tests may be slow and busy; what the CPU of a request is bounded for is not there.
        http_cpu_ms=MOST_CPU_MS,
        secret_keys=_KEY,
        **given,
    )


# Further ahead than anything is planned.
LAST_MINUTE = 2**40
# Room for whatever one test makes: nothing waits here.
PLENTY = 10**9


class WithoutSpread(Random):
    """Always the middle: attempts are made again after exactly 1, 2, 4 and 8 s."""

    def random(self) -> float:
        """Return a half."""
        return 0.5


class NotedAgenda(MemoryAgenda):
    """Counts its changes, so that nobody looks through it again where there was none."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.changes = 0

    @property
    def needs(self) -> Mapping[Slice, int]:
        """From when on each slice needs a trigger, ms UTC."""
        return self._entries

    def add(self, needs: Sequence[tuple[Slice, int]]) -> None:
        """Add needs."""
        self.changes += 1
        super().add(needs)

    def begin_closing(self, slice_: Slice, token: str, put_off_until: int) -> None:
        """Put a need off."""
        self.changes += 1
        super().begin_closing(slice_, token, put_off_until)

    def finish_closing(self, slice_: Slice, token: str, next_need: int | None) -> None:
        """Take a need out, or bring it forward."""
        self.changes += 1
        super().finish_closing(slice_, token, next_need)


class PromptSettler(Settler):
    """Says when there is something to settle."""

    on_taken: Callable[[], None]
    has_accepted = False

    def take(self, finished: Finished) -> None:
        """Have it settled at this moment; note whether some target is to say later that it is done."""
        super().take(finished)
        self.has_accepted |= finished.outcome.status is FiringStatus.ACCEPTED
        self.on_taken()


class PromptNoteTeller(NoteTeller[Key, Value]):
    """Tells at once."""

    def note(self, key: Key, value: Value) -> None:
        """Tell right after what is going on."""
        super().note(key, value)
        self.tell()


class Deployment(DoubledWiring):
    """`events` is what is to happen, `take` what a target answers to a call."""

    def __init__(self, start_ms: int, settings: Settings, take: TakeCall) -> None:
        clock = SteeredClock(start_ms)
        server = MemoryServer("Redis", clock)
        super().__init__(settings, clock, server)
        clock.move_to(start_ms)
        self.steered = clock
        self.events = Events(clock)
        self.messages = MemoryBroker()
        self.noted_agenda = NotedAgenda(server)
        vars(self).update(
            broker=self.messages,
            agenda=self.noted_agenda,
            # Redis holds whatever is planned: no feeder has to bring it there.
            window=SimpleNamespace(
                announced=lambda: LAST_MINUTE,
                fed_until=lambda: LAST_MINUTE * MINUTE_MS,
                narrow=lambda _now: None,
            ),
            # No call is close to its moment: time stands still while anything works.
            strain_mark=SimpleNamespace(tell=lambda: None, counts=lambda: False),
            # SQL is always there: no word of a target is lost.
            ack_grace=SimpleNamespace(is_over=lambda _now: True, begin_anew=lambda: None),
            # No consumer is connected: nobody is to be told what targets say.
            consumer_words=SimpleNamespace(tell=lambda _member, _until: None),
            # Every host is called as ever, however often it fails.
            failing_hosts=SimpleNamespace(present=list),
            control_teller=PromptNoteTeller("control", lambda _: self.messages.send_apply_controls(), clock),
            claims=Claims("test", PLENTY),
            room=Room(PLENTY),
            chance=WithoutSpread(),
            http_engine=MemoryEngine(
                clock, self.events.at, take, settings.callback_timeout_ms, learns_from_failures=False
            ),
        )

    app_directory = once(EveryApp, defaults=lambda _: {})
    settler = once(
        PromptSettler,
        every_s=lambda parts: parts.settings.settle_every_ms / 1_000,
        are_calls_waiting=lambda _: lambda: False,
    )

    def check_store(self) -> None:
        """Return: the double is always there."""

    def check_broker(self) -> None:
        """Return: the double is always there."""

    def plan_by(self) -> int | None:
        """Return the earliest moment by which some timer is to be planned further, ms UTC; None where none is."""
        earliest = select(func.min(timers.c.plan_by)).where(timers.c.status == TimerStatus.ENABLED.value)
        found: int | None = self.database.read(lambda sql: sql.execute(earliest).scalar_one())
        return found

    def ack_by(self) -> int | None:
        """Return the earliest moment by which some target is to say that it is done, ms UTC; None where none is."""
        earliest = select(func.min(firings.c.due_at)).where(firings.c.status == FiringStatus.ACCEPTED.value)
        found: int | None = self.database.read(lambda sql: sql.execute(earliest).scalar_one())
        return found

    def key_of(self, timer_id: int) -> str:
        """Return a timer's key, also of one that is deleted; "" where it is purged."""
        key = select(timers.c.name).where(timers.c.id == timer_id)
        return self.database.read(lambda sql: sql.execute(key).scalar_one_or_none()) or ""
