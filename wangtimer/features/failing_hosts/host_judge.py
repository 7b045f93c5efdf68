"""The host judge: disables hosts that have failed each call of an app for days."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import structlog

from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.flow.disabled_hosts import ERROR_CHARACTERS, DisabledHost, HostKey
from wangtimer.core.flow.pace import Pace
from wangtimer.core.messages.message_place import shown_host
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.failing_hosts import FailingHost, FailingHostRecord
from wangtimer.store.replica import Replica
from wangtimer.store.sql.disabled_hosts import DisabledHostStore

log = structlog.get_logger()

# How often the record is looked at: it takes days until something is to be done.
JUDGE_EVERY_S = 60.0
# A log line names so many hosts.
HOSTS_SHOWN = 10
# As the audit names who did it.
JUDGE = Caller(None, "the host failed for days", None, frozenset(), "")
ANSWER = Caller(None, "the host answered", None, frozenset(), "")


@dataclass(slots=True)
class HostJudge:
    """Disables hosts that failed for `days_ms` (0: none), and enables those that answer. Two may run at once."""

    failing_hosts: FailingHostRecord
    disabled_hosts: DisabledHostStore
    disabled_hosts_replica: Replica[frozenset[HostKey]]
    clock: Clock
    days_ms: int
    pace: Pace

    def sweep(self) -> None:
        """Judge, if it is time. Raises `StoreAway`."""
        if self.days_ms and self.pace.is_due():
            self.judge()

    def judge(self) -> None:
        """Disable the hosts that fail for so long, and tell callback processes. Raises `StoreAway`.

        A first and a last failure lie that far apart, without an answer or a long silence between them
        (`LONGEST_SILENCE_S`). Only what some living process sees fail is judged. While no host has failed for so
        long, SQL is not asked.
        """
        now = int(self.clock.now_ms())
        due = [
            _disabled(host, now)
            for host in self.failing_hosts.present()
            if host.failed_at - host.since >= self.days_ms
        ]
        if not due:
            return
        with calling(JUDGE):
            new = self.disabled_hosts.disable(due, self.days_ms)
        if new:
            log.warning("hosts_disabled", hosts=_shown(host.key for host in new), number=len(new))
            self.disabled_hosts_replica.tell()

    def note_answers(self, keys: list[HostKey]) -> None:
        """Enable hosts that answered, and tell callback processes. Raises `StoreAway`."""
        with calling(ANSWER):
            enabled = self.disabled_hosts.answered(keys, int(self.clock.now_ms()))
        if enabled:
            log.info("hosts_enabled", number=enabled, answered=_shown(keys))
        self.disabled_hosts_replica.tell()


def _shown(keys: Iterable[HostKey]) -> list[HostKey]:
    return [(app, shown_host(origin)) for app, origin in islice(keys, HOSTS_SHOWN)]


def _disabled(host: FailingHost, now: int) -> DisabledHost:
    return DisabledHost(host.app, host.origin, host.since, host.failed_at, now, host.error[:ERROR_CHARACTERS])
