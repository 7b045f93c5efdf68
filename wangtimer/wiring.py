"""Builds the stores and stages of one process, each at its first use, never at import or before a fork."""

import gc
import os
import resource
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from random import Random
from socket import gethostname
from threading import Event, RLock
from typing import Any, Self, TypeVar, overload

from celery import Celery

from wangtimer.base.broker import Broker
from wangtimer.base.own_servers import broker_refusal, egress_rules_of, found_servers, named_servers
from wangtimer.base.settings import Settings
from wangtimer.callback import Delivery, DeliveryEngine, Egress, Limits, Tls
from wangtimer.callback.timed_engine import TimedEngine
from wangtimer.core import fail_points
from wangtimer.core.alerts.alert_place import ALERTED_APPS
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.errors import UnusableTls
from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.disabled_hosts import DISABLED_HOSTS, HostKey
from wangtimer.core.flow.limits import CALL_LIMITS
from wangtimer.core.flow.origin import read_url
from wangtimer.core.flow.pace import Pace
from wangtimer.core.flow.pauses import PAUSES
from wangtimer.core.flow.planning import Ahead
from wangtimer.core.flow.queues import CALLBACK
from wangtimer.core.flow.slicing import BucketRule, SharedLane
from wangtimer.core.flow.strain import Strain
from wangtimer.core.messages.message_place import CONSUMERS_BROKER, MessagePlace, is_message_url
from wangtimer.core.messages.named_broker import own_consumers, why_no_task
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.core.retry import APP_RETRIES, RetryPolicy
from wangtimer.core.signing.ack_token import ACK_PURPOSE, AckTokens
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify
from wangtimer.executor import Executor, FireRule
from wangtimer.executor.after_settled import HaveControlsApplied, LetNextGo
from wangtimer.executor.asker import Asker
from wangtimer.executor.case import CallStep
from wangtimer.executor.claim import Claims
from wangtimer.executor.claimer import Claimer
from wangtimer.executor.consumer_fallback import reachable_call
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.executor import Duty
from wangtimer.executor.judge import Judge
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.lane_reader import LaneReader
from wangtimer.executor.mover import Mover
from wangtimer.executor.note_teller import NoteTeller
from wangtimer.executor.presence import Presence
from wangtimer.executor.puller import Puller
from wangtimer.executor.quarantine import Quarantine
from wangtimer.executor.readings.acceptance import AcceptanceReading
from wangtimer.executor.readings.control import ControlReading
from wangtimer.executor.readings.failure import DeadLetterReading, RetryReading
from wangtimer.executor.reply_reader import ReplyReader
from wangtimer.executor.request_maker import RequestMaker
from wangtimer.executor.room import Room
from wangtimer.executor.sender import Sender
from wangtimer.executor.settler import Finished, Settler
from wangtimer.executor.shared import (
    SharedSignings,
    SharedSource,
    SharedTargets,
    shared_signings,
    shared_targets,
)
from wangtimer.executor.steps.misfire_step import MisfireStep
from wangtimer.executor.steps.numbers_step import NumbersStep
from wangtimer.executor.steps.overlap_step import OverlapStep
from wangtimer.executor.steps.pause_step import PauseStep
from wangtimer.executor.steps.shared_step import SharedStep
from wangtimer.executor.throttle import Throttle
from wangtimer.executor.turnstile import Turnstile
from wangtimer.executor.unread import Unread
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.waits import Waits
from wangtimer.executor.wanted import Wanted
from wangtimer.features.alerts.alert_judge import FORGET_EVERY_S, AlertJudge
from wangtimer.features.alerts.alert_teller import AlertTeller
from wangtimer.features.alerts.alert_trial import AlertTrial
from wangtimer.features.alerts.mailer import Mailer
from wangtimer.features.control_applier import ControlApplier, GoneStopper
from wangtimer.features.egress.egress_watch import EgressWatch
from wangtimer.features.egress.ways_out_reader import WaysOutReader
from wangtimer.features.failing_hosts.health_teller import HealthTeller
from wangtimer.features.failing_hosts.host_judge import JUDGE_EVERY_S, HostJudge
from wangtimer.features.long_work import LongWork
from wangtimer.features.overlaps import Overlaps
from wangtimer.features.signing_changes import SigningChanges
from wangtimer.features.target_changes import TargetChanges
from wangtimer.messaging import Deliveries, MessageEngine
from wangtimer.messaging.consumer_link import ConsumerLink
from wangtimer.messaging.links import MOST_UNCONFIRMED, link_to
from wangtimer.planning.migrator import Migrator, PlanRule
from wangtimer.planning.schedule_followers import CalendarFollower, RulesFollower
from wangtimer.store.app_directory import AppDirectory, KeyRing
from wangtimer.store.app_queues import APP_QUEUES, AppQueues
from wangtimer.store.app_total import most_of
from wangtimer.store.hot import ALWAYS_HELD_MS, HotStore
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.bad_record import BadRecord
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import ConsumerLists, ConsumersSeen, ConsumerWords, ListBounds
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.failing_hosts import FailingHostRecord
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.lanes import LaneBudget, LaneStore
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies, TargetCopies
from wangtimer.store.redis.outbox import Outbox, OutboxRoom
from wangtimer.store.redis.permits import PermitStore
from wangtimer.store.redis.process_marks import AckGrace, QueueWorkers, RefusalCount, StrainMark
from wangtimer.store.redis.quotas import ControlPace, Quotas, ReplayQuota
from wangtimer.store.redis.slices import Leases, SliceStore
from wangtimer.store.redis.store_memory import StoreMemory
from wangtimer.store.redis.window import MinuteLoad, Window, WindowRule
from wangtimer.store.refresher import CopyRefresher
from wangtimer.store.replica import Replica, Replicas, ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.accepted_firings import AcceptedFirings
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.alert_troubles import AlertTroubles
from wangtimer.store.sql.app_totals import AppTotals, TotalCounts
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.audit import AuditLog
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.calendar_followers import CalendarFollowers
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.call_limits import CallLimitSource, HostLimitStore
from wangtimer.store.sql.continuities import ContinuityStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.dead_letters import DeadLetterStore
from wangtimer.store.sql.demands import DemandStore
from wangtimer.store.sql.disabled_hosts import DisabledHostStore
from wangtimer.store.sql.finished_timers import FinishedTimers
from wangtimer.store.sql.firing_lists import AttemptStore, FiringLists
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.firings_to_cancel import FiringsToCancel
from wangtimer.store.sql.kept_answers import KeptAnswers
from wangtimer.store.sql.on_settled import ReplyControlStore
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.planned_load import PlannedLoad
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_batches import TimerBatches
from wangtimer.store.sql.timer_lists import TimerLists
from wangtimer.store.sql.timers import TimerStore
from wangtimer.store.sql.ways_out import ClientCertificates, WaysOutInSql, WaysOutMark, open_key
from wangtimer.timers.app_stopper import AppStopper
from wangtimer.timers.batches import Batches
from wangtimer.timers.on_demand import OnDemand
from wangtimer.timers.purger import FinishedPurger, Purger, TotalCounter
from wangtimer.timers.registrar import NearRule, Registrar
from wangtimer.timers.stops import Stops
from wangtimer.window.feeder import Feeder
from wangtimer.window.lane_feeder import LaneFeeder
from wangtimer.window.scheduler import PAST_AT_ONCE, Scheduler
from wangtimer.window.sweeper import Sweeper
from wangtimer.window.trigger import ArmRule, Trigger

# SQL connections of a process: its threads hold one for a statement or two, never during a callback.
SQL_CONNECTIONS = 10
# A renewal that hangs longer would cost the lease.
KEEPER_TIMEOUT_S = 1.0
# How long a busy thread may hold up the engine's thread. The engine's p99 at 1,000 calls a second beside one busy
# thread: 0.6 s with Python's 5 ms, 12 ms with 1 ms, 5 ms with 0.2 ms.
SWITCH_INTERVAL_S = 0.0002
# A full collection stops every thread: over the objects loaded at start it took 90 ms, every 4,000 firings. Those are
# left out. The rest is collected seldom, since nothing here makes cycles by design.
GARBAGE_THRESHOLDS = (20_000, 20, 100)

Part = TypeVar("Part", covariant=True)
Value = TypeVar("Value")


class once(cached_property[Part]):  # noqa: N801 - reads as the decorator it is
    """A part built at its first use, by one of the threads that want it first."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Part: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | Part:
        if not isinstance(instance, Wiring):
            return self
        with instance.building:
            return super().__get__(instance, owner)


def part(build: "Callable[[Wiring], Value]") -> once[Value]:
    """Return a part that one expression builds of others; its class says what it is."""
    return once(build)


class Wiring:
    """The parts of one process. `stopping` is set when the process is asked to end."""

    def __init__(self, settings: Settings, app: Celery) -> None:
        self.settings = settings
        self.building = RLock()
        self.broker = Broker(app, self._message_queue_of)
        self.stopping = Event()
        self.keys = Keys(settings.key_prefix)
        self._paces: dict[str, Pace] = {}

    # far ends

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

    @once
    def alert_judge(self) -> AlertJudge:
        """Says what is to be told."""
        troubles = AlertTroubles(self.database, self.seals)
        return AlertJudge(
            troubles,
            self.alert_messages,
            self.clock,
            Pace(self.clock, FORGET_EVERY_S),
            self.alerted_replica.tell,
        )

    alert_trial = part(lambda parts: AlertTrial(parts.alert_messages, parts.clock))

    @once
    def alert_teller(self) -> AlertTeller:
        """Tells it."""
        server = self.settings.mail_server
        mailer = None if server is None else Mailer(server, self.settings.callback_authorities)
        return AlertTeller(
            self.alert_rules,
            self.alert_messages,
            self._signing_of,
            self.deliveries,
            mailer,
            self.clock,
            lambda: bool(self.alerted_replica.known),
            self.tls.fault_of,
        )

    def _signing_of(self, app: str) -> AppSigning:
        """Return how an app signs, from SQL; raises `StoreAway`, ValueError."""
        found = self.signing_store.needed([app], int(self.clock.now_ms()))
        if app in found.bad:
            raise ValueError(found.bad[app])
        return found[app]

    disabled_hosts = part(lambda parts: DisabledHostStore(parts.database))
    replica_texts = part(lambda parts: ReplicaTexts(parts.redis, parts.keys))

    @once
    def replicas(self) -> Replicas:
        """All of them."""
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
        """Both, remembered."""
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

    @once
    def calendar_follower(self) -> CalendarFollower:
        """Gives those timers its new days."""
        return CalendarFollower(self.registrar, self.calendar_followers, self.clock, self.broker.send_follow)

    @once
    def rules_follower(self) -> RulesFollower:
        """Plans timers anew whose zone or built-in calendar has other rules than before."""
        return RulesFollower(self.registrar, ScheduleRuleStore(self.database, self.bad_timers), self.clock)

    signing_store = part(lambda parts: SigningStore(parts.database, parts.seals))
    marked_copies = part(lambda parts: MarkedCopies(parts.redis, parts.keys))
    signing_copies = part(lambda parts: SigningCopies(parts.marked_copies, parts.seals))

    @once
    def signing_changes(self) -> SigningChanges:
        """What apps change of it."""
        return SigningChanges(self.signing_store, self.signing_copies, self.clock, self.settings.lead_ms)

    target_store = part(lambda parts: TargetStore(parts.database, parts.seals))
    target_copies = part(lambda parts: TargetCopies(parts.marked_copies, parts.seals))

    @once
    def target_changes(self) -> TargetChanges:
        """What apps change of them."""
        return TargetChanges(self.target_store, self.target_copies, self.clock, self.settings.lead_ms)

    dead_letters = part(lambda parts: DeadLetterStore(parts.database, parts.clock))
    kept_answers = part(lambda parts: KeptAnswers(parts.database))
    load = part(lambda parts: MinuteLoad(parts.redis, parts.keys))
    planned_load = part(lambda parts: PlannedLoad(parts.database, parts.clock))

    # stages

    @once
    def registrar(self) -> Registrar:
        """What business services ask for."""
        s = self.settings
        near = NearRule(s.near_s * 1_000, s.plan_most_moments, s.lead_ms + s.turn_ms)
        return Registrar(
            self.timers,
            self.hot,
            self.definitions,
            self.load,
            self.clock,
            near,
            self._buckets,
            self.broker.send_chunk,
        )

    def why_no_task(self, app: str, place: MessagePlace, task: str) -> str:
        """Return why an app may not send a Celery task to a place; "" if it may, or its broker is not known here."""
        return why_no_task(self.settings.named_brokers, app, place, task)

    @once
    def batches(self) -> Batches:
        """What business services ask for of many timers at once."""
        return Batches(
            self.registrar,
            TimerBatches(self.database, self.seals, self.app_totals, self.why_no_task),
            self.clock,
        )

    @once
    def stops(self) -> Stops:
        """Whether a disable or delete came in time."""
        soon_ms = self.settings.lead_ms + self.settings.turn_ms
        return Stops(self.firing_lists, self.definitions, self.clock, soon_ms)

    @once
    def on_demand(self) -> OnDemand:
        """What people ask for of single firings."""
        return OnDemand(
            self.demands,
            self.timers,
            self.firings,
            self.firing_lists,
            self.hot,
            self.definitions,
            self.load,
            self.clock,
            self.settings.lead_ms + self.settings.turn_ms,
            self._buckets,
            self.broker.send_chunk,
            self.replay_quota,
        )

    replay_quota = part(lambda parts: ReplayQuota(parts.app_directory, parts.quotas))

    @once
    def migrator(self) -> Migrator:
        """Plans."""
        s = self.settings
        ahead = Ahead(s.step_s * 1_000, s.plan_most_moments, s.plan_dense_moments, 2 * s.window_ms)
        rule = PlanRule(ahead, s.plan_page_timers, s.near_s * 1_000, s.window_ms, s.plan_threads)
        return Migrator(
            self.timers,
            self.hot,
            self.definitions,
            self.load,
            self.clock,
            rule,
            self._buckets,
            self.bad_timers,
            self.strain_mark.counts,
            self.stopping.is_set,
            self.rules_follower.may_plan,
        )

    strain_mark = part(lambda parts: StrainMark(parts.redis, parts.keys))

    @once
    def scheduler(self) -> Scheduler:
        """Sends slices to triggers."""
        return Scheduler(
            self.agenda,
            self.slices,
            self.clock,
            self.settings.arm_credit,
            self.broker.send_trigger,
        )

    @once
    def trigger(self) -> Trigger:
        """Arms firings."""
        return Trigger(
            self.slices,
            self.agenda,
            self.hot,
            self.firings,
            self.clock,
            self._arm_rule(),
            Credits(self.settings.arm_credit),
            self.broker.send_chunk,
            self.broker.waiting_chunks,
            self.outbox_room.share,
            lambda: self.slices.seconds_since_reconnect,
            self.stopping.is_set,
            self.app_queues.is_served,
        )

    @once
    def outbox_room(self) -> OutboxRoom:
        """How much may be armed while outcomes wait for SQL."""
        return OutboxRoom(self.outbox, self.settings.outbox_mb * 1_000_000, self.clock.monotonic)

    def _arm_rule(self) -> ArmRule:
        s = self.settings
        catch_up_a_turn = s.catch_up_per_s * s.turn_ms // 1_000 // PAST_AT_ONCE
        return ArmRule(
            s.lead_ms, s.turn_ms, s.lock_ms, s.chunk_size, s.callback_queue_most, max(1, catch_up_a_turn)
        )

    claims = part(lambda parts: Claims(f"{gethostname()}:{os.getpid()}", parts.settings.callback_most_held))
    room = part(lambda parts: Room(parts.settings.callback_most_mb * 1_000_000))
    chance = part(lambda _: Random())

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

    consumers_seen = part(lambda parts: ConsumersSeen(parts.redis, parts.keys, parts.clock))
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

    @once
    def control_teller(self) -> NoteTeller[None, None]:
        """Asks for what answers make of timers."""
        return NoteTeller("control", lambda _: self.broker.send_apply_controls(), self.clock)

    @once
    def answer_teller(self) -> NoteTeller[HostKey, None]:
        """Tells of disabled hosts that answered."""
        return NoteTeller("answer", lambda noted: self.host_judge.note_answers(list(noted)), self.clock)

    @once
    def host_judge(self) -> HostJudge:
        """Disables hosts that fail for days."""
        return HostJudge(
            self.failing_hosts,
            self.disabled_hosts,
            self.disabled_hosts_replica,
            self.clock,
            self.settings.host_disabled_after_days * DAY_MS,
            Pace(self.clock, JUDGE_EVERY_S),
        )

    @once
    def keeper(self) -> Keeper:
        """Renews the leases of calls that last."""
        every_s = self.settings.renew_every_ms / 1_000
        return Keeper(self._keeper_slices(), self.claims, self.clock, every_s, self.fire_rule)

    @once
    def settler(self) -> Settler:
        """Writes what came of calls."""
        return Settler(
            self.firings,
            self.outbox,
            self.hot,
            self.slices,
            self.clock,
            self.settings.settle_every_ms / 1_000,
            lambda: self.deliveries.has_calls_waiting,
            self.after_settled,
        )

    @once
    def after_settled(self) -> tuple[Callable[[Sequence[Finished]], None], ...]:
        """What follows once SQL has outcomes, in this order."""
        ask = self.control_teller.note
        return LetNextGo(self.overlaps.end), HaveControlsApplied(lambda: ask(None, None))

    @once
    def mover(self) -> Mover:
        """Moves what has to wait."""
        return Mover(self.firings, self.hot, self.slices, self.clock, self.settings.running_lease_ms / 1_000)

    @once
    def puller(self) -> Puller:
        """Takes from lanes what there is room for."""
        slices = self.slices
        reader = LaneReader(self.lanes, self.claims, lambda: slices.seconds_since_reconnect, self._is_mine)
        return Puller(
            reader,
            self.claims,
            self._room_in,
            self.clock,
            self.settings.callback_timeout_ms,
            self.broker.send_feed_lanes,
            self.throttle,
        )

    def _room_in(self, lane: SharedLane) -> int:
        """Return how many firings of a lane may be pulled."""
        return (
            self.deliveries.room_in(lane) if self.ways_out.is_known and self.room.has_any(is_late=True) else 0
        )

    def _is_mine(self, lane: SharedLane) -> bool:
        """Tell whether this process takes the firings of a lane's queue."""
        return not self.settings.own_queues.names or self.app_queues.of_lane(lane) in self._taken_queues

    @once
    def _taken_queues(self) -> frozenset[int]:
        """The numbers of the queues whose messages this process takes."""
        taken, own = self.broker.app.amqp.queues.consume_from, self.settings.own_queues
        numbers = range(len(own.names) + 1)
        return frozenset(number for number in numbers if own.message_queue_of(number) in taken)

    @once
    def presence(self) -> Presence:
        """Tells that this process takes the messages of own queues."""
        own = self.settings.own_queues
        names = [name for number in sorted(self._taken_queues) if (name := own.name_of(number)) is not None]
        return Presence(self.queue_workers, names, self.stopping)

    @once
    def verifier(self) -> Verifier:
        """Asks SQL about members that may have been sent already."""
        return Verifier(self.outbox, self.firings, self.clock, self.settings.lead_ms, Unread(self.bad_timers))

    @once
    def signings(self) -> SharedSignings:
        """How apps sign, as this process knows it."""
        return shared_signings(self.signing_copies, self.signing_store, self.clock, self.verifier.sql_rest)

    @once
    def targets(self) -> SharedTargets:
        """Named targets, as this process knows them."""
        return shared_targets(
            self.target_copies, self.target_store, self.seals, self.clock, self.verifier.sql_rest
        )

    shared = part(lambda parts: SharedSource(parts.signings, parts.targets))

    @once
    def sender(self) -> Sender:
        """Hands calls to the engine, and answers to the settler."""
        engine, longest_s = self.deliveries, 2 * self.fire_rule.timeout_ms / 1_000
        return Sender(
            engine,
            self.keeper,
            self.settler,
            Quarantine(self.slices, engine, self.clock, self.keeper.may_send, longest_s),
            self.waits,
            RequestMaker(self._call_of, self.ack_tokens.token, self.clock),
            self.reply_reader,
            DisabledHosts(
                self.disabled_hosts_replica, lambda key: self.answer_teller.note(key, None), self.clock
            ),
        )

    @once
    def waits(self) -> Waits:
        """Where firings wait that may not go now."""
        return Waits(self.pauses_replica, self.puller, self.mover, self.deliveries, self.app_queues.number_of)

    @once
    def reply_reader(self) -> ReplyReader:
        """Turns answers into outcomes; what has a say on them, in this order."""
        clock = self.clock
        return ReplyReader(
            (AcceptanceReading(clock), ControlReading(clock)),
            (
                RetryReading(self.retries_replica, self.fire_rule.retry, self.chance, clock),
                DeadLetterReading(clock),
            ),
            AlertMarks(lambda: self.alerted_replica.known, clock),
            clock,
        )

    @once
    def wanted(self) -> Wanted:
        """Whether firings are still wanted."""
        asker = Asker(self.timers, self.clock, self.shared.refresh)
        return Wanted(self.definitions, self.timers, self.verifier, asker, self.settings.horizon_ms)

    @once
    def steps(self) -> tuple[CallStep, ...]:
        """What has a say about firings before their call, in this order: the first that stops one has the last word."""
        verifier, clock = self.verifier, self.clock
        return (
            verifier,  # whether SQL has it as it stands here
            self.wanted,
            MisfireStep(verifier, clock),
            SharedStep(self.shared, verifier),
            PauseStep(self.waits),
            OverlapStep(self.begun_firings, verifier, self.reply_reader.noted, clock),
            NumbersStep(self.continuities, verifier),
        )

    turnstile = part(lambda _: Turnstile())

    @once
    def fire_rule(self) -> FireRule:
        """How firings are made."""
        s = self.settings
        return FireRule(s.callback_timeout_ms, s.running_lease_ms, RetryPolicy(s.most_attempts))

    @once
    def executor(self) -> Executor:
        """Fires chunks; starts its engine, keeper, settler, mover, puller and throttle."""
        claimer = Claimer(
            self.slices,
            self.hot,
            self.claims,
            self.room,
            self.clock,
            self.fire_rule.timeout_ms,
            self.turnstile.one,
        )
        judge = Judge(self.wanted, self.shared, self.verifier, self.steps, self.clock, self.turnstile.one)
        strain = Strain(self.settings.lead_ms)
        duty = Duty(lambda: self.ways_out.is_known, self.stopping.is_set, strain, self.strain_mark.tell)
        executor = Executor(
            claimer, judge, self.sender, self.puller, duty, self.room, self.clock, self.turnstile.one
        )
        self._start_threads(executor)
        return executor

    def _call_of(self, one: Definition, target: NamedTarget | None) -> Notify:
        """Return the call that a firing makes; raises `UnopenedSecrets`."""
        call = self.seals.call_of(one)
        if target is not None:
            call = target.called_by(call)
        if is_message_url(call.url):
            call = reachable_call(call, one.app, self.consumers_seen.is_connected)
        fault = self.tls.fault_of(one.app)
        if fault and read_url(call.url)[0].is_tls:
            raise UnusableTls(one.timer_id, fault)
        return call

    def _start_threads(self, executor: Executor) -> None:
        """Start what works beside the executor."""
        _favour_punctuality()
        self.throttle.try_to_read_rules()
        self.ways_out.warm_up()
        self.ways_out.start()
        self.deliveries.start()
        self.puller.fire_by(executor.fire_pulled)
        for loop in (
            self.throttle.loop,
            self.keeper.loop,
            self.settler.loop,
            self.mover.loop,
            self.mover.relief_loop,
            self.puller.loop,
            self.egress_watch.loop,
            self.health_teller.loop,
            self.control_teller.loop,
            self.answer_teller.loop,
            self.alert_teller.loop,
        ):
            loop.start()

    @once
    def sweeper(self) -> Sweeper:
        """Repairs."""
        return Sweeper(
            self.timers,
            self.firings,
            self.hot,
            self.definitions,
            self.outbox,
            self.clock,
            self.copy_refreshers,
        )

    @once
    def copy_refreshers(self) -> tuple[CopyRefresher, ...]:
        """Tell Redis of what timers share."""
        return (
            CopyRefresher("signing", self.signing_store.changed_behind, self.signing_copies.put),
            CopyRefresher("target", self.target_store.changed_behind, self.target_copies.put, names=2),
        )

    accepted_firings = part(lambda parts: AcceptedFirings(parts.database))

    @once
    def ack_grace(self) -> AckGrace:
        """Whether firings end of which nothing was said in time."""
        # Under load sweeps may come a minute late.
        return AckGrace(self.replica_texts, 60_000 + 3_000 * self.settings.sweep_every_s)

    @once
    def long_work(self) -> LongWork:
        """Takes what targets say of them, and ends those of which nothing is said."""
        return LongWork(
            self.accepted_firings,
            self.timers,
            self.target_store,
            self.apps,
            self.ack_tokens,
            self.hot,
            self.ack_grace,
            self.clock,
            self.chance,
            RetryPolicy(self.settings.most_attempts),
            AlertMarks(self.alerted_replica.lately, self.clock),
            self.alerted_replica.lately,
            self.consumer_words.tell,
            self.overlaps.end,
        )

    begun_firings = part(lambda parts: BegunFirings(parts.database))
    continuities = part(lambda parts: ContinuityStore(parts.database, parts.clock.monotonic))

    @once
    def overlaps(self) -> Overlaps:
        """Lets firings go that waited for another one."""
        return Overlaps(
            self.begun_firings,
            self.firings,
            self.hot,
            self.broker.send_chunk,
            self.clock,
            FiringsToCancel(self.database),
            self.timers,
            self.alerted_replica.lately,
        )

    consumer_words = part(lambda parts: ConsumerWords(parts.redis, parts.keys))
    lane_feeder = part(lambda parts: LaneFeeder(parts.firings, parts.lanes, parts.lane_budget, parts.clock))
    app_stopper = part(lambda parts: AppStopper(parts.apps, parts.timer_lists, parts.batches, parts.clock))
    reply_controls = part(lambda parts: ReplyControlStore(parts.database))

    @once
    def control_applier(self) -> ControlApplier:
        """Does what answers make of timers."""
        pace = ControlPace(self.redis, self.keys, self.clock, self.app_directory)
        stop_gone = GoneStopper(self.timer_lists, self.target_store, self.batches).stop
        return ControlApplier(
            self.reply_controls, self.timer_lists, self.registrar, self.clock, pace, self.audit, stop_gone
        )

    @once
    def feeder(self) -> Feeder:
        """Fills the window."""
        return Feeder(
            self.timers,
            self.firings,
            self.hot,
            self.definitions,
            self.window,
            self.clock,
            self._definitions_live_s,
        )

    @once
    def purger(self) -> Purger:
        """Deletes what is past retention."""
        retention_ms = self.settings.retention_days * DAY_MS
        audited_ms = self.settings.audit_days * DAY_MS
        return Purger(
            self.firings,
            self.timers,
            self.kept_answers,
            self.audit,
            self.dead_letters,
            self.clock,
            retention_ms,
            audited_ms,
        )

    @once
    def finished_purger(self) -> FinishedPurger:
        """Deletes finished timers that are kept no longer."""
        return FinishedPurger(
            FinishedTimers(self.database, self.app_totals), self.clock, self.settings.retention_days
        )

    total_counter = part(lambda parts: TotalCounter(parts.total_counts, parts.app_totals, parts.clock))

    def pace(self, task: str, least_s: float) -> Pace:
        """Return what tells whether a periodic task of this process is due, or came too soon after the last."""
        with self.building:
            return self._paces.setdefault(task, Pace(self.clock, least_s))

    # checks

    def check_sql(self) -> None:
        """Return when SQL answers; raises `StoreAway`."""
        self.database.ping()

    def check_store(self) -> None:
        """Return when the store Redis answers; raises `StoreAway`."""
        self.redis.command(lambda client: client.ping())

    def check_broker(self) -> None:
        """Return when the broker answers; raises `StoreAway`."""
        self.broker.ping()

    def _keeper_slices(self) -> SliceStore:
        own = RedisConnection(self.settings.store_url, timeout_s=KEEPER_TIMEOUT_S)
        own.bring_time_to(self.clock)
        return SliceStore(own, self.keys, self.clock, self.leases)

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

    @once
    def _buckets(self) -> BucketRule:
        s = self.settings
        return BucketRule(s.firings_per_bucket, s.most_buckets, self.app_queues.number_of)


def spare_long_collections() -> None:
    """Take the objects loaded by now out of garbage collection: a full one stops a process for 90 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _favour_punctuality() -> None:
    """Let the engine's thread run at once, without long garbage collections, and open every file allowed."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    spare_long_collections()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def build(settings: Settings, app: Celery) -> Wiring:
    """Return the parts of this process; nothing is opened yet."""
    fail_points.arm(settings.fail_point)
    return Wiring(settings, app)
