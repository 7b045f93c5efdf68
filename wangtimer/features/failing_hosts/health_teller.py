"""The health teller: tells, through Redis, which hosts this process sees fail, and since when."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from wangtimer.base.loop import Loop
from wangtimer.callback.health import LONGEST_SILENCE_S, Health
from wangtimer.core.flow.disabled_hosts import ERROR_CHARACTERS, HostKey
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.failing_hosts import FailingHost, FailingHostRecord, surplus

TELL_EVERY_S = 2.0
# Failing hosts that one process tells of: of each app in turn the one failing longest, so that no app hides another's.
MOST_TOLD = 200


class HealthSource(Protocol):
    """The delivery engine, as the teller sees it."""

    def failing(self) -> Mapping[HostKey, Health]:
        """Return the hosts that are failing now, for an app's calls each."""

    def health_of(self, route: HostKey) -> Health | None:
        """Return the health of a host for an app's calls; None if it is not known."""


class HealthTeller:
    """One thread a process. It asks Redis nothing, but once at its start, while no host fails.

    * Whether a host is failing is decided by what this process itself saw, never by what others tell.
    * Since when it fails is the earliest that any process told, unless it answered this process later, or nobody called
      it for long between. So a restart does not begin it anew, and silence does.
    * An entry of a process that has ended is struck out by any process that gets an answer of its host.
    """

    def __init__(self, engine: HealthSource, failing_hosts: FailingHostRecord, clock: Clock) -> None:
        self._engine = engine
        self._record = failing_hosts
        self._clock = clock
        self._told: set[HostKey] = set()
        self._is_first = True
        self.loop = Loop("health-teller", self.tell, TELL_EVERY_S)

    def tell(self) -> None:
        """Tell once; raises `StoreAway`."""
        failing = self._engine.failing()
        answering = {key for key in self._told if _answers(self._engine.health_of(key))}
        if not (failing or answering or self._is_first):
            return
        entries = self._record.entries()
        told = self._hosts(failing, entries)
        struck = answering | {host.key for host in surplus(list(entries.values()), self._clock.now_ms())}
        self._record.tell(told, struck - {host.key for host in told})
        self._told = self._told - answering | {host.key for host in told}
        if self._is_first:
            self._told |= entries.keys()
            self._is_first = False

    def _hosts(
        self, failing: Mapping[HostKey, Health], entries: Mapping[HostKey, FailingHost]
    ) -> Iterable[FailingHost]:
        now_ms, now = self._clock.now_ms(), self._clock.monotonic()
        hosts = []
        for (app, origin), health in _in_turns(failing)[:MOST_TOLD]:
            since, failed_at = (int(now_ms - 1_000 * (now - at)) for at in (health.since, health.failed_at))
            host = FailingHost(app, origin, since, failed_at, health.error[:ERROR_CHARACTERS], int(now_ms))
            before = entries.get(host.key)
            if (
                before is not None
                and now_ms - 1_000 * (now - health.answered_at) < before.since
                and since - before.failed_at <= 1_000 * LONGEST_SILENCE_S
            ):
                host = replace(host, since=min(since, before.since))
            hosts.append(host)
        return hosts


def _in_turns(failing: Mapping[HostKey, Health]) -> list[tuple[HostKey, Health]]:
    """Return first the host of each app that is failing longest, then the second one of each."""
    turns: Counter[str] = Counter()
    ranked = []
    for (app, origin), health in sorted(failing.items(), key=lambda item: item[1].since):
        ranked.append((turns[app], health.since, (app, origin), health))
        turns[app] += 1
    return [(key, health) for _, _, key, health in sorted(ranked, key=lambda rank: rank[:3])]


def _answers(health: Health | None) -> bool:
    return health is not None and not health.is_failing and health.answered_at > float("-inf")
