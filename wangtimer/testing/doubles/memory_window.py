"""The window's marks in memory: the rules of the `feed_…` Lua scripts."""

from itertools import count
from typing import Any

from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store.redis.window import (
    AHEAD_MS,
    FEEDER_LEASE_MS,
    NARROW_MS,
    Found,
    Next,
    WindowRule,
    fed_until_of,
)
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once

_tokens = count(1)


class MemoryWindow:
    """Table `window`: "fed", "announced", "feeding" (minute, token, look), "feeder" (its token, until when, look),
    "part", "narrow" (until when), "compared"; and table `load`.

    What arrives late names the `look` that it belongs to; without a number it is the latest one.
    """

    def __init__(self, server: MemoryServer, rule: WindowRule) -> None:
        self._server = server
        self._rule, self._most = rule, rule.firings
        self._token = next(_tokens)
        self._looks = 0

    @property
    def reconnects(self) -> int:
        return self._server.reconnects

    def announced(self) -> int | None:
        return self._server.call(lambda: self._marks.get("announced"))

    @at_once
    def fed_until(self) -> int | None:
        marks = self._marks
        return fed_until_of(marks["fed"], marks.get("part", 0)) if "fed" in marks else None

    def next(self, now: int, from_present: bool, look: int | None = None) -> Next:
        number = look or self._looks + 1
        self._looks = max(self._looks, number)

        def work() -> Next:
            marks, load = self._marks, self._server.table("load")
            if self._is_other_feeder() or self._is_late(number):
                return Next(Found.OTHER, -1, -1)
            marks["feeder"] = self._token, self._server.now_ms() + FEEDER_LEASE_MS, number
            present = now // MINUTE_MS
            for minute in [minute for minute in load if minute < present]:
                del load[minute]
            last, least_fits = self._last(now, load)
            was_lost = "fed" not in marks
            fed, announced = marks.get("fed", present - 1), marks.get("announced", present - 1)
            if from_present:
                fed = min(fed, present - 1)
                self._forget("feeding", "part")
            if announced > last:
                announced, fed = last, min(fed, last)
                self._forget("feeding", "part")
            minute = max(fed + 1, present)
            since_ms, until_ms = minute * MINUTE_MS, (minute + 1) * MINUTE_MS
            if since_ms < marks.get("part", 0) < until_ms:
                since_ms = marks["part"]
            least_until = now + self._rule.least_ms
            if minute == least_until // MINUTE_MS and not least_fits:
                until_ms = min(until_ms, least_until + AHEAD_MS)
            found = Found.FEED if minute <= last and since_ms < until_ms else Found.FULL
            if found is Found.FEED:
                announced = max(announced, minute)
                marks["feeding"] = minute, self._token, number
            marks["fed"], marks["announced"] = fed, announced
            if found is Found.FULL:
                del marks["feeder"]
            return Next(found, minute, last, was_lost, since_ms, until_ms)

        return self._server.call(work)

    @at_once
    def keep(self, minute: int, look: int | None = None) -> bool:
        marks, feeding = self._marks, (minute, self._token, look or self._looks)
        if marks.get("feeding") != feeding or self._is_other_feeder() or self._is_late(feeding[2]):
            return False
        marks["feeder"] = self._token, self._server.now_ms() + FEEDER_LEASE_MS, feeding[2]
        return True

    @at_once
    def done(self, minute: int, firings: int, until_ms: int | None = None, look: int | None = None) -> bool:
        marks, load = self._marks, self._server.table("load")
        if marks.get("feeding") != (minute, self._token, look or self._looks):
            return False
        del marks["feeding"]
        if until_ms is not None and until_ms < (minute + 1) * MINUTE_MS:
            marks["part"] = until_ms
        else:
            marks["fed"] = max(marks.get("fed", -1), minute)
            self._forget("part")
        load[minute] = max(load.get(minute, 0), firings)
        return True

    @at_once
    def narrow(self, now: int) -> None:
        marks, least = self._marks, (now + self._rule.least_ms) // MINUTE_MS
        marks["narrow"] = self._server.now_ms() + NARROW_MS
        if marks.get("announced", least) > least:
            marks["announced"], marks["fed"] = least, min(marks.get("fed", least), least)
            self._forget("feeding", "part")

    def compared(self) -> int:
        return self._server.call(lambda: int(self._marks.get("compared", 0)))

    def note_compared(self, minute: int) -> None:
        self._server.call(lambda: self._marks.update(compared=minute))

    def _last(self, now: int, load: dict[int, int]) -> tuple[int, bool]:
        """Return the last minute that fits, and whether the part that is always held fits."""
        least = (now + self._rule.least_ms) // MINUTE_MS
        most = (now + self._rule.most_ms) // MINUTE_MS
        if self._marks.get("narrow", 0) > self._server.now_ms():
            most = least
        last, held, least_fits = least, 0, True
        for minute in range(now // MINUTE_MS, most + 1):
            held += load.get(minute, 0)
            if minute == least:
                least_fits = held <= self._most
            if minute > least and held > self._most:
                break
            last = max(last, minute)
        return last, least_fits

    def _forget(self, *names: str) -> None:
        for name in names:
            self._marks.pop(name, None)

    def _is_other_feeder(self) -> bool:
        token, until, _ = self._marks.get("feeder", (None, 0.0, 0))
        return bool(token != self._token and until > self._server.now_ms())

    def _is_late(self, look: int) -> bool:
        """Tell whether a later look of this window feeds."""
        feeder, until, latest = self._marks.get("feeder", (None, 0.0, 0))
        if feeder == self._token and until > self._server.now_ms() and latest > look:
            return True
        _, feeder, latest = self._marks.get("feeding", (0, None, 0))
        return bool(feeder == self._token and latest > look)

    @property
    def _marks(self) -> dict[str, Any]:
        return self._server.table("window")
