"""What takes calls out of the process, and what it may reach."""

from functools import partial

from wangtimer.base.own_servers import broker_refusal, egress_rules_of, found_servers, named_servers
from wangtimer.callback import Delivery, DeliveryEngine, Egress, Limits, Tls
from wangtimer.callback.timed_engine import TimedEngine
from wangtimer.core.messages.message_place import CONSUMERS_BROKER
from wangtimer.core.messages.named_broker import own_consumers
from wangtimer.executor.throttle import Throttle
from wangtimer.features.egress.egress_watch import EgressWatch
from wangtimer.features.egress.ways_out_reader import WaysOutReader
from wangtimer.features.failing_hosts.health_teller import HealthTeller
from wangtimer.messaging import Deliveries, MessageEngine
from wangtimer.messaging.consumer_link import ConsumerLink
from wangtimer.messaging.links import MOST_UNCONFIRMED, link_to
from wangtimer.store.redis.consumers import ConsumerLists, ListBounds
from wangtimer.store.redis.failing_hosts import FailingHostRecord
from wangtimer.store.redis.process_marks import RefusalCount
from wangtimer.store.sql.ways_out import open_key
from wangtimer.wiring.parts import PartOf, once
from wangtimer.wiring.stores import StoreParts

part: "PartOf[DeliveryParts]" = once


class DeliveryParts(StoreParts):
    """The ways out."""

    @once
    def engine(self) -> DeliveryEngine:
        """Makes calls over HTTP."""
        name_servers = list(filter(None, self.settings.callback_name_servers.split(",")))
        return DeliveryEngine(self.clock, self.egress, self._limits(), name_servers, self.throttle, self.tls)

    @once
    def deliveries(self) -> Delivery:
        """Makes calls, and sends messages to named brokers; raises `BadSetting`."""
        s = self.settings
        timeout_s = s.callback_connect_timeout_ms / 1_000
        ways: dict[str, TimedEngine] = {}
        for name, broker in s.named_brokers.items():
            link = link_to(broker, timeout_s, s.callback_ca_file)
            refusal = partial(broker_refusal, broker.url, self.egress.rules)
            ways[name] = MessageEngine(
                broker, link, self.clock, self._message_limits(), self.throttle, refusal
            )
        if s.secret_key_ring:  # without a key consumers could acknowledge nothing, and no target is theirs
            own = ConsumerLink(s.store_url, timeout_s, self.consumer_lists, self.clock)
            ways[CONSUMERS_BROKER] = MessageEngine(
                own_consumers(s.store_url), own, self.clock, self._message_limits(), self.throttle
            )
        return Deliveries(self.engine, ways) if ways else self.engine

    def _message_limits(self) -> Limits:
        s = self.settings
        return Limits(
            timeout_ms=s.callback_timeout_ms,
            connect_timeout_ms=s.callback_connect_timeout_ms,
            connections_per_host=MOST_UNCONFIRMED,
            connections_total=2 * MOST_UNCONFIRMED,
        )

    @once
    def consumer_lists(self) -> ConsumerLists:
        """What stands in Redis for consumers."""
        s = self.settings
        return ConsumerLists(
            self.keys, ListBounds(s.consumers_most_waiting, s.consumers_waiting_mb * 1_000_000), self.seals
        )

    tls = part(lambda parts: Tls(parts.settings.callback_authorities))

    @once
    def ways_out(self) -> WaysOutReader:
        """Reads what is set for apps' ways out."""
        return WaysOutReader(
            self.ways_out_mark,
            lambda sealed, app: open_key(self.seals, sealed, app),
            self.egress,
            self.tls,
            self.settings.callback_authorities,
        )

    @once
    def throttle(self) -> Throttle:
        """Gets permits for the calls of apps with a limit."""
        return Throttle(self.permits, self.replicas, self.limits_replica, self.pauses_replica, self.clock)

    @once
    def egress(self) -> Egress:
        """Judges what calls connect to; raises `BadSetting` where nobody has chosen that. Names are looked up here."""
        return Egress(egress_rules_of(self.settings, found_servers(named_servers(self.settings))))

    refusal_count = part(lambda parts: RefusalCount(parts.redis, parts.keys))
    egress_watch = part(lambda parts: EgressWatch(parts.egress, parts.refusal_count, parts.clock))
    failing_hosts = part(lambda parts: FailingHostRecord(parts.redis, parts.keys, parts.clock))
    health_teller = part(lambda parts: HealthTeller(parts.deliveries, parts.failing_hosts, parts.clock))

    def _limits(self) -> Limits:
        s = self.settings
        return Limits(
            timeout_ms=s.callback_timeout_ms,
            connect_timeout_ms=s.callback_connect_timeout_ms,
            connections_per_host=s.callback_connections_per_host,
            connections_total=s.callback_connections,
            excerpt_bytes=s.callback_excerpt_bytes,
            reuse_idle_s=s.callback_idle_s,
            connection_age_s=s.callback_connection_age_s,
        )
