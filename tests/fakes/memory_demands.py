"""Firings asked for, in memory; it shares its server with `MemoryFirings` and `MemoryTimers`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.fakes.memory_firings import insert_missing
from tests.fakes.memory_timers import living
from wangtimer.core.flow.firing import CANCELLED, Firing, FiringKind, FiringStatus
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.demands import Replay, free_moment, refuse_begun
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.kept_answers import FiringToKeep
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryDemands:
    """Writes tables `firings` and `timers`."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def fire_now(
        self, app: str, timer_id: int, now: int, bucket: int, keep: FiringToKeep | None = None
    ) -> tuple[Timer, Firing]:
        assert keep is None, "answers are kept in real SQL only"

        def work() -> tuple[Timer, Firing]:
            timer = living(self._timers, app, timer_id)
            at = free_moment(timer, {key[1] for key in self._firings if key[0] == timer_id}, now)
            firing = Firing(timer_id, at, bucket, FiringKind.MANUAL, due_at=at, asked_at=now)
            insert_missing(self._firings, [firing])
            return timer, firing

        return self._server.call(work)

    def replay(self, app: str, replays: Sequence[Replay]) -> list[Firing]:
        def work() -> list[Firing]:
            done = []
            for one in replays:
                held = self._firings.get(one.was.member.key)
                if held is not None and held.firing == one.was:
                    error = "" if one.was.status is FiringStatus.SKIPPED else held.error
                    self._firings[one.was.member.key] = replace(held, firing=one.firing, error=error)
                    done.append(one.firing)
            return done

        return self._server.call(work)

    def cancel(
        self, app: str, timer_id: int, fire_at: int, now: int, leave_out: Callable[[Timer], Timer]
    ) -> tuple[Timer, FiringRecord]:
        def work() -> tuple[Timer, FiringRecord]:
            timer = living(self._timers, app, timer_id)
            held = self._firings.get((timer_id, fire_at))
            if held is not None and held.is_cancelled:
                return timer, held
            refuse_begun(held)
            revised = leave_out(timer)
            if revised != timer:
                definition = revised.definition._replace(version=timer.definition.version + 1)
                timer = replace(revised, definition=definition, updated_at=now)
                self._timers[timer_id] = timer
            was = Firing.planned(timer_id, fire_at, 0) if held is None else held.firing
            skipped = was._replace(status=FiringStatus.SKIPPED, attempt=0)
            record = FiringRecord(skipped, None, None, None, None, "", CANCELLED)
            self._firings[timer_id, fire_at] = record
            return timer, record

        return self._server.call(work)

    def missing(self, timer_id: int, moments: Sequence[int]) -> int:
        return self._server.call(lambda: sum((timer_id, one) not in self._firings for one in moments))

    def backfill(
        self,
        app: str,
        timer_id: int,
        moments: Sequence[int],
        now: int,
        arrange: Callable[[list[int]], list[Firing]],
    ) -> tuple[list[Firing], list[Firing]]:
        def work() -> tuple[list[Firing], list[Firing]]:
            living(self._timers, app, timer_id)
            made = arrange([moment for moment in moments if (timer_id, moment) not in self._firings])
            return made, insert_missing(self._firings, made)

        return self._server.call(work) if moments else ([], [])

    @property
    def _timers(self) -> dict[int, Timer]:
        return self._server.table("timers")

    @property
    def _firings(self) -> dict[Any, FiringRecord]:
        return self._server.table("firings")
