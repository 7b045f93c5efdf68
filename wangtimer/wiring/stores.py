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
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies, TargetCopies
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.permits import PermitStore
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
from wangtimer.store.sql.demands import DemandStore
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
from wangtimer.store.sql.ways_out import ClientCertificates, WaysOutInSql, WaysOutMark
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

    redis = part(lambda parts: RedisConnection(parts.settings.store_url))
    clock = part(lambda parts: RedisClock(parts.redis))

    @once
    def timers(self) -> TimerStore:
        """Timers in SQL."""
        return TimerStore(
            self.database,
            self.bad_timers,
            self.seals,
            self.app_totals,
            self.why_no_task,
        )

    seals = part(lambda parts: Seals(parts.settings.secret_key_ring))
    ack_tokens = part(lambda parts: AckTokens(parts.seals.derived(ACK_PURPOSE)))
    apps = part(lambda parts: AppStore(parts.database))
    audit = part(lambda parts: AuditLog(parts.database, parts.clock))

    @once
    def app_directory(self) -> AppDirectory:
        """Apps by name, remembered."""
        return AppDirectory(self.apps, self.settings.app_limits)

    @once
    def app_totals(self) -> AppTotals:
        """How many timers each app has, held against its limits."""
        return AppTotals(lambda app: most_of(self.app_directory.limits_of(app)), self.total_counts)

    total_counts = part(lambda parts: TotalCounts(parts.database))
    api_keys = part(lambda parts: ApiKeyStore(parts.database))
    key_ring = part(lambda parts: KeyRing(parts.api_keys))
    quotas = part(lambda parts: Quotas(parts.redis, parts.keys, parts.clock))
    firings = part(lambda parts: FiringStore(parts.database))

    @once
    def leases(self) -> Leases:
        """How long things are held."""
        s = self.settings
        return Leases(s.lead_ms, s.lock_ms, s.armed_lease_ms, s.running_lease_ms)

    slices = part(lambda parts: SliceStore(parts.redis, parts.keys, parts.clock, parts.leases))
    agenda = part(lambda parts: Agenda(parts.redis, parts.keys))

    @once
    def window_rule(self) -> WindowRule:
        """How far ahead Redis may hold firings."""
        s = self.settings
        return WindowRule(s.window_ms, s.horizon_ms, s.window_memory_mb * 1_000_000)

    window = part(lambda parts: Window(parts.redis, parts.keys, parts.window_rule))

    @once
    def lanes(self) -> LaneStore:
        """Where firings wait for room."""
        return LaneStore(self.redis, self.keys, self.clock, self.leases, self.lane_budget)

    @once
    def permits(self) -> PermitStore:
        """How many calls of apps with a limit may begin."""
        return PermitStore(self.redis, self.keys, self.clock, self.settings.callback_timeout_ms)

    pauses = part(lambda parts: PauseStore(parts.database))
    host_limits = part(lambda parts: HostLimitStore(parts.database))
    limits_in_sql = part(lambda parts: CallLimitSource(parts.database, parts.host_limits))
    alert_rules = part(lambda parts: AlertRuleStore(parts.database, parts.seals))
    alert_messages = part(lambda parts: AlertMessages(parts.database))
    disabled_hosts = part(lambda parts: DisabledHostStore(parts.database))
    replica_texts = part(lambda parts: ReplicaTexts(parts.redis, parts.keys))

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

    def _replica(self, kind: ReplicaKind[Value], in_sql: Callable[[], Value]) -> Replica[Value]:
        return Replica(kind, in_sql, self.replica_texts, self.clock)

    limits_replica = part(lambda parts: parts._replica(CALL_LIMITS, parts.limits_in_sql.all))
    pauses_replica = part(lambda parts: parts._replica(PAUSES, parts.pauses.of_calls))
    retries_replica = part(lambda parts: parts._replica(APP_RETRIES, parts.apps.retries))
    disabled_hosts_replica = part(lambda parts: parts._replica(DISABLED_HOSTS, parts.disabled_hosts.keys))
    alerted_replica = part(lambda parts: parts._replica(ALERTED_APPS, parts.alert_rules.alerted))
    ways_out_in_sql = part(lambda parts: WaysOutInSql(parts.database))
    ways_out_mark = part(lambda parts: WaysOutMark(parts.ways_out_in_sql, parts.replica_texts, parts.clock))
    queues_replica = part(lambda parts: parts._replica(APP_QUEUES, parts.apps.queues))
    queue_workers = part(lambda parts: QueueWorkers(parts.redis, parts.keys, parts.clock))

    @once
    def app_queues(self) -> AppQueues:
        """Which apps have queues of their own, and who takes their messages, remembered."""
        return AppQueues(self.settings.own_queues, self.queues_replica, self.queue_workers, self.clock)

    def _message_queue_of(self, number: int) -> str:
        return self.app_queues.message_queue_of(number) if number else CALLBACK

    client_certificates = part(lambda parts: ClientCertificates(parts.database, parts.seals))
    lane_budget = part(lambda parts: LaneBudget(parts.settings.lanes_memory_mb * 1_000_000))

    @once
    def hot(self) -> HotStore:
        """Adds firings to slices and lanes."""
        return HotStore(self.slices, self.agenda, self.window, self.clock, self.lanes, ALWAYS_HELD_MS)

    @once
    def store_memory(self) -> StoreMemory:
        """What the memory of the store's Redis is used for."""
        return StoreMemory(self.redis, self.keys, self.clock, self.window, self.lanes, self.outbox)

    @once
    def definitions(self) -> DefinitionStore:
        """Definitions in Redis; they outlive what is planned by a step."""
        return DefinitionStore(self.redis, self.keys, self.clock, self._definitions_live_s, self.bad_timers)

    @property
    def _definitions_live_s(self) -> int:
        return 3 * self.settings.step_s

    bad_timers = part(lambda parts: BadRecord(parts.redis, parts.keys, parts.clock))
    outbox = part(lambda parts: Outbox(parts.redis, parts.keys))
    timer_lists = part(lambda parts: TimerLists(parts.database, parts.clock, parts.bad_timers))
    firing_lists = part(lambda parts: FiringLists(parts.database, parts.clock))
    demands = part(lambda parts: DemandStore(parts.database))
    attempts = part(lambda parts: AttemptStore(parts.database))

    @once
    def calendars(self) -> CalendarStore:
        """Calendars that apps uploaded."""
        return CalendarStore(
            self.database, lambda app: self.app_directory.limits_of(app).of(AppLimit.CALENDAR_BYTES)
        )

    @once
    def calendar_followers(self) -> CalendarFollowers:
        """Timers that name an uploaded calendar."""
        return CalendarFollowers(self.database, self.bad_timers, self.app_totals)

    signing_store = part(lambda parts: SigningStore(parts.database, parts.seals))
    marked_copies = part(lambda parts: MarkedCopies(parts.redis, parts.keys))
    signing_copies = part(lambda parts: SigningCopies(parts.marked_copies, parts.seals))
    target_store = part(lambda parts: TargetStore(parts.database, parts.seals))
    target_copies = part(lambda parts: TargetCopies(parts.marked_copies, parts.seals))
    dead_letters = part(lambda parts: DeadLetterStore(parts.database, parts.clock))
    kept_answers = part(lambda parts: KeptAnswers(parts.database))
    load = part(lambda parts: MinuteLoad(parts.redis, parts.keys))
    planned_load = part(lambda parts: PlannedLoad(parts.database, parts.clock))

    def why_no_task(self, app: str, place: MessagePlace, task: str) -> str:
        """Return why an app may not send a Celery task to a place; "" if it may, or its broker is not known here."""
        return why_no_task(self.settings.named_brokers, app, place, task)

    consumers_seen = part(lambda parts: ConsumersSeen(parts.redis, parts.keys, parts.clock))
