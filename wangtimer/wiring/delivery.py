"""What takes calls out of the process, and what it may reach."""

from dataclasses import replace
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
    def limits(self) -> Limits:
        """What bounds calls over HTTP."""
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

    tls = part(Tls)
    egress = part(
        Egress,  # names are looked up here
        rules=lambda parts: egress_rules_of(parts.settings, found_servers(named_servers(parts.settings))),
    )
    throttle = part(Throttle)
    http_engine = part(
        DeliveryEngine,
        name_servers=lambda parts: list(filter(None, parts.settings.callback_name_servers.split(","))),
        permits=lambda parts: parts.throttle,
    )

    @once
    def engine(self) -> Delivery:
        """Makes calls, and sends messages to named brokers; raises `BadSetting`."""
        s, ways = self.settings, dict[str, TimedEngine]()
        limits = replace(
            self.limits, connections_per_host=MOST_UNCONFIRMED, connections_total=2 * MOST_UNCONFIRMED
        )
        engine = partial(MessageEngine, clock=self.clock, limits=limits, permits=self.throttle)
        timeout_s = s.callback_connect_timeout_ms / 1_000
        for name, broker in s.named_brokers.items():
            refusal = partial(broker_refusal, broker.url, self.egress.rules)
            ways[name] = engine(broker, link_to(broker, timeout_s, s.callback_ca_file), refusal=refusal)
        if s.secret_key_ring:  # without a key consumers could acknowledge nothing, and no target is theirs
            own = ConsumerLink(s.store_url, timeout_s, self.consumer_lists, self.clock)
            ways[CONSUMERS_BROKER] = engine(own_consumers(s.store_url), own)
        return Deliveries(self.http_engine, ways) if ways else self.http_engine

    consumer_lists = part(
        ConsumerLists,
        bounds=lambda parts: ListBounds(
            parts.settings.consumers_most_waiting, parts.settings.consumers_waiting_mb * 1_000_000
        ),
    )
    ways_out = part(
        WaysOutReader, open_key=lambda parts: lambda sealed, app: open_key(parts.seals, sealed, app)
    )
    may_fire = part(lambda parts: lambda: parts.ways_out.is_known)
    refusal_count = part(RefusalCount)
    egress_watch = part(EgressWatch)
    failing_hosts = part(FailingHostRecord)
    health_teller = part(HealthTeller)
