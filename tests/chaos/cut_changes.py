"""Timers are switched off while the API is cut off from Redis: what the answers say, and what was called then."""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from random import Random

import requests

from tests.chaos.proxy import Proxy
from tests.servers.nginx import ArrivedCall

APP = "e2e"
# The API has 16 threads. What is asked for at once meets one cut.
HELD_AT_ONCE = 10
# A disable takes some 10 ms, so a cut at random within this comes before, within or after what it does.
WITHIN_S = 0.03
# From less than one answer of Redis to several; a connection that is opened has one of 5,000.
ANSWERED_BYTES = (8, 100, 6_000)


class Cut(StrEnum):
    """When the API is cut off: before the request, at any moment of it, within what Redis answers, or Redis hangs."""

    BEFORE = "before"
    DURING = "during"
    WITHIN_ANSWERS = "within answers"
    HANGS = "hangs"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A disable or delete that was answered with success at `answered_at`, ms UTC.

    It is to count for every moment later than `within_ms` after that, and for the one called cancelled (0: none).
    """

    timer_id: int
    cut: Cut
    answered_at: float
    within_ms: int
    cancelled_at: int

    @property
    def counts_from(self) -> float:
        """The last moment, ms UTC, that may be called."""
        return self.answered_at + self.within_ms


@dataclass(slots=True)
class CutChanges:
    """Switches timers off, each under a cut of its own, but for those that meet one hanging Redis together."""

    api_url: str
    proxy: Proxy
    random: Random

    def stop_all(self, timer_ids: Sequence[int]) -> list[Stopped]:
        """Disable or delete each of these timers, by chance; return what was answered with success.

        An API process that never had Redis' time refuses (503) for as long as it is cut off; any other error raises.
        """
        with ThreadPoolExecutor(HELD_AT_ONCE) as pool:
            answered = [
                one for cut, together in self._groups(timer_ids) for one in self._under(cut, together, pool)
            ]
        return [one for one in answered if one is not None]

    def _groups(self, timer_ids: Sequence[int]) -> Iterator[tuple[Cut, Sequence[int]]]:
        single = (Cut.BEFORE, Cut.DURING, Cut.WITHIN_ANSWERS)
        for number, timer_id in enumerate(timer_ids[HELD_AT_ONCE:]):
            yield single[number % len(single)], [timer_id]
        yield Cut.HANGS, timer_ids[:HELD_AT_ONCE]

    def _under(self, cut: Cut, timer_ids: Sequence[int], pool: ThreadPoolExecutor) -> list[Stopped | None]:
        if cut is Cut.BEFORE:
            self.proxy.cut()
        elif cut is Cut.WITHIN_ANSWERS:
            self.proxy.cut_within_answers(self.random.randrange(self.random.choice(ANSWERED_BYTES)))
        verbs = (("POST", "unable"), ("DELETE", "def"))
        asked = [pool.submit(self._stop, timer_id, cut, *self.random.choice(verbs)) for timer_id in timer_ids]
        if cut in (Cut.DURING, Cut.HANGS):
            time.sleep(self.random.uniform(0, WITHIN_S))
            self.proxy.cut() if cut is Cut.DURING else self.proxy.black_hole()
        try:
            return [one.result() for one in asked]
        finally:
            self.proxy.restore()

    def _stop(self, timer_id: int, cut: Cut, method: str, path: str) -> Stopped | None:
        url = f"{self.api_url}/api/timer/v1/{path}"
        response = requests.request(method, url, json={"app": APP, "id": timer_id}, timeout=30)
        answered_at = time.time() * 1_000
        if response.status_code == requests.codes.unavailable:
            return None
        assert response.ok, f"{cut}: {response.status_code} {response.text}"
        answer = response.json()
        stopped = answer["stopped"] or {}
        cancelled_at = int(stopped["atMs"]) if stopped.get("state") == "cancelled" else 0
        return Stopped(timer_id, cut, answered_at, answer["countsWithinMs"], cancelled_at)


def too_late(stopped: Iterable[Stopped], calls: Iterable[ArrivedCall]) -> list[str]:
    """Return each call that was not to be made any more."""
    by_timer = {one.timer_id: one for one in stopped}
    found = []
    for call in calls:
        one = by_timer.get(call.timer_id)
        if one is None:
            continue
        if call.fire_at > one.counts_from:
            found.append(
                f"{one}: moment {call.fire_at}, {call.fire_at - one.answered_at:.0f} ms after the answer"
            )
        if call.fire_at == one.cancelled_at:
            found.append(f"{one}: its moment was called cancelled")
    return found
