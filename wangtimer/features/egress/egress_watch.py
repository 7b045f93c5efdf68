"""Beside the engine: looks our own servers up again, and tells operators what was refused."""

from dataclasses import replace

import structlog

from wangtimer.base.loop import Loop
from wangtimer.base.own_servers import LookUp, found_servers
from wangtimer.callback import Egress
from wangtimer.core.egress.egress_rules import OwnServer
from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.process_marks import RefusalCount

log = structlog.get_logger()

LOOK_UP_EVERY_S = 30.0
TELL_EVERY_S = 1.0
# Lines of one telling; the rest is counted in one line.
MOST_LINES = 20


class EgressWatch:
    """One thread of its own: look-ups, logs and Redis may take their time, and the engine's thread waits for none."""

    def __init__(
        self, egress: Egress, refusal_count: RefusalCount, clock: Clock, look_up: LookUp | None = None
    ) -> None:
        self._egress = egress
        self._count = refusal_count
        self._clock = clock
        self._look_up = look_up
        self._look_up_at = clock.monotonic() + LOOK_UP_EVERY_S
        self._uncounted = 0
        self._unfound: frozenset[str] = frozenset()
        self.loop = Loop("egress-watch", self.watch, TELL_EVERY_S)

    def watch(self) -> None:
        """Look once."""
        self._tell()
        if self._clock.monotonic() >= self._look_up_at:
            self._look_up_at = self._clock.monotonic() + LOOK_UP_EVERY_S
            self.find_servers()

    def find_servers(self) -> None:
        """Have the engine judge by the addresses that our servers' names have now."""
        rules = self._egress.rules
        found = found_servers(rules.own_servers, self._look_up)
        self._warn_of_unfound(found)
        if found != rules.own_servers:
            self._egress.change(replace(rules, own_servers=found))

    def _warn_of_unfound(self, servers: tuple[OwnServer, ...]) -> None:
        """Say once of each name that it is not found, and again only if it was found meanwhile."""
        unfound = {server.name: server.what for server in servers if server.name and not server.addresses}
        for name in unfound.keys() - self._unfound:
            log.warning("own_server_not_found", server=unfound[name], name=name)
        self._unfound = frozenset(unfound)

    def _tell(self) -> None:
        refusals, left_out = self._egress.take_refusals()
        for (app, peer, rule), number in refusals.most_common(MOST_LINES):
            host = peer.name or peer.address
            log.warning(
                "egress_refused",
                app=app,
                host=host,
                address=peer.address,
                port=peer.port,
                rule=rule,
                times=number,
            )
        rest = left_out + sum(number for _, number in refusals.most_common()[MOST_LINES:])
        if rest:
            log.warning("egress_refused_more", times=rest)
        self._uncounted += left_out + refusals.total()
        if self._uncounted:
            self._add_to_count()

    def _add_to_count(self) -> None:
        try:
            self._count.add(self._uncounted)
        except StoreAway as error:
            log.info("egress_refusals_counted_later", refusals=self._uncounted, error=str(error))
        else:
            self._uncounted = 0
