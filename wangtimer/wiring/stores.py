"""The far ends of a process, and the stores of what is kept there."""

from collections.abc import Callable
from threading import Event, RLock
from typing import TypeVar

from celery import Celery

from wangtimer.base.broker import Broker
from wangtimer.base.settings import Settings
from wangtimer.core.alerts.alert_place import ALERTED_APPS
from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.flow.disabled_hosts import DISABLED_HOSTS
from wangtimer.core.flow.limits import CALL_LIMITS
from wangtimer.core.flow.pace import Pace
from wangtimer.core.flow.pauses import PAUSES
from wangtimer.core.flow.queues import CALLBACK
from wangtimer.core.messages.message_place import MessagePlace
from wangtimer.core.messages.named_broker import why_no_task
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.core.retry import APP_RETRIES
from wangtimer.core.signing.ack_token import ACK_PURPOSE, AckTokens
from wangtimer.store.app_directory import AppDirectory, KeyRing
from wangtimer.store.app_queues import APP_QUEUES, AppQueues
from wangtimer.store.app_total import most_of
from wangtimer.store.hot import ALWAYS_HELD_MS, HotStore
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.bad_record import BadRecord
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import ConsumersSeen
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.lanes import LaneBudget, LaneStore
from wangtimer.store.redis.marked_copies import SigningCopies, TargetCopies
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.process_marks import QueueWorkers
from wangtimer.store.redis.quotas import Quotas
from wangtimer.store.redis.slices import Leases, SliceStore
from wangtimer.store.redis.store_memory import StoreMemory
from wangtimer.store.redis.window import MinuteLoad, Window, WindowRule
from wangtimer.store.replica import Replica, Replicas, ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.app_totals import AppTotals, TotalCounts
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.audit import AuditLog
from wangtimer.store.sql.calendar_followers import CalendarFollowers
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.call_limits import CallLimitSource, HostLimitStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.dead_letters import DeadLetterStore
from wangtimer.store.sql.disabled_hosts import DisabledHostStore
from wangtimer.store.sql.firing_lists import AttemptStore, FiringLists
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.planned_load import PlannedLoad
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_lists import TimerLists
from wangtimer.store.sql.timers import TimerStore
from wangtimer.store.sql.ways_out import ClientCertificates, WaysOutMark
from wangtimer.wiring.parts import PartOf, Parts, once

# SQL connections of a process: its threads hold one for a statement or two, never during a callback.
SQL_CONNECTIONS = 10
Value = TypeVar("Value")
part: "PartOf[StoreParts]" = once


class StoreParts(Parts):
    """The stores of one process. `stopping` is set when the process is asked to end."""

    def __init__(self, settings: Settings, app: Celery) -> None:
        self.settings = settings
        self.building = RLock()
        self.broker = Broker(app, self._message_queue_of)
        self.stopping = Event()
        self.keys = Keys(settings.key_prefix)
        self._paces: dict[str, Pace] = {}

    @once
    def database(self) -> Database:
        """SQL; on the embedded default the tables are made here, elsewhere a DBA loads schema.sql."""
        database = Database(self.settings.database_url, SQL_CONNECTIONS)
        if database.is_sqlite:
            database.create_tables()
        return database

    def _message_queue_of(self, number: int) -> str:
        return self.app_queues.message_queue_of(number) if number else CALLBACK

    def why_no_task(self, app: str, place: MessagePlace, task: str) -> str:
        """Return why an app may not send a Celery task to a place; "" if it may, or its broker is not known here."""
        return why_no_task(self.settings.named_brokers, app, place, task)

    is_stopping = part(lambda parts: parts.stopping.is_set)
    send_chunk = part(lambda parts: parts.broker.send_chunk)
    redis = part(RedisConnection, url=lambda parts: parts.settings.store_url)
    clock = part(RedisClock)
    seals = part(Seals, keys=lambda parts: parts.settings.secret_key_ring)
    ack_tokens = part(AckTokens, keys=lambda parts: parts.seals.derived(ACK_PURPOSE))
    apps = part(AppStore)
    app_directory = part(AppDirectory, defaults=lambda parts: parts.settings.app_limits)
    api_keys = part(ApiKeyStore)
    key_ring = part(KeyRing)
    quotas = part(Quotas)
    audit = part(AuditLog)
    total_counts = part(TotalCounts)
    app_totals = part(
        AppTotals, most_of=lambda parts: lambda app: most_of(parts.app_directory.limits_of(app))
    )
    timers = part(TimerStore)
    timer_lists = part(TimerLists)
    bad_timers = part(BadRecord)
    firings = part(FiringStore)
    firing_lists = part(FiringLists)
    attempts = part(AttemptStore)
    dead_letters = part(DeadLetterStore)
    kept_answers = part(KeptAnswers)
    pauses = part(PauseStore)
    host_limits = part(HostLimitStore)
    limits_in_sql = part(CallLimitSource)
    alert_rules = part(AlertRuleStore)
    alert_messages = part(AlertMessages)
    disabled_hosts = part(DisabledHostStore)
    signing_store = part(SigningStore)
    target_store = part(TargetStore)
    client_certificates = part(ClientCertificates)
    calendars = part(
        CalendarStore,
        most_bytes_of=lambda parts: (
            lambda app: parts.app_directory.limits_of(app).of(AppLimit.CALENDAR_BYTES)
        ),
    )
    calendar_followers = part(CalendarFollowers)
    planned_load = part(PlannedLoad)

    leases = part(
        Leases,
        armed_ms=lambda parts: parts.settings.armed_lease_ms,
        running_ms=lambda parts: parts.settings.running_lease_ms,
    )
    slices = part(SliceStore)
    agenda = part(Agenda)
    window_rule = part(
        WindowRule,
        least_ms=lambda parts: parts.settings.window_ms,
        most_ms=lambda parts: parts.settings.horizon_ms,
        budget_bytes=lambda parts: parts.settings.window_memory_mb * 1_000_000,
    )
    window = part(Window)
    lane_budget = part(LaneBudget, memory_bytes=lambda parts: parts.settings.lanes_memory_mb * 1_000_000)
    lanes = part(LaneStore)
    hot = part(HotStore, always_held_ms=lambda _: ALWAYS_HELD_MS)
    load = part(MinuteLoad)
    definitions_live_s = part(lambda parts: 3 * parts.settings.step_s)
    definitions = part(DefinitionStore)
    outbox = part(Outbox)
    store_memory = part(StoreMemory)
    signing_copies = part(SigningCopies)
    target_copies = part(TargetCopies)
    consumers_seen = part(ConsumersSeen)
    queue_workers = part(QueueWorkers)

    def _replica(self, kind: ReplicaKind[Value], in_sql: Callable[[], Value]) -> Replica[Value]:
        return Replica(kind, in_sql, self.replica_texts, self.clock)

    replica_texts = part(ReplicaTexts)
    limits_replica = part(lambda parts: parts._replica(CALL_LIMITS, parts.limits_in_sql.all))
    pauses_replica = part(lambda parts: parts._replica(PAUSES, parts.pauses.of_calls))
    retries_replica = part(lambda parts: parts._replica(APP_RETRIES, parts.apps.retries))
    disabled_hosts_replica = part(lambda parts: parts._replica(DISABLED_HOSTS, parts.disabled_hosts.keys))
    alerted_replica = part(lambda parts: parts._replica(ALERTED_APPS, parts.alert_rules.alerted))
    queues_replica = part(lambda parts: parts._replica(APP_QUEUES, parts.apps.queues))
    ways_out_mark = part(WaysOutMark)
    app_queues = part(AppQueues)
    queue_of = part(lambda parts: parts.app_queues.number_of)

    @once
    def replicas(self) -> Replicas:
        """What each process knows of what operators and apps set."""
        before_calls = (
            self.limits_replica,
            self.pauses_replica,
            self.retries_replica,
            self.disabled_hosts_replica,
        )
        of_queues = (self.queues_replica,) if self.settings.own_queues.names else ()
        others = (self.alerted_replica, self.ways_out_mark, *of_queues)
        return Replicas(self.replica_texts, self.clock, before_calls, others)
