"""What fires a chunk: from its claim to its outcome."""

import gc
import os
import resource
import sys
from functools import partial
from socket import gethostname
from typing import Any

from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.features import added
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.flow.strain import Strain
from wangtimer.executor import Executor, FireRule
from wangtimer.executor.after_settled import LetNextGo
from wangtimer.executor.asker import Asker
from wangtimer.executor.case import CallStep
from wangtimer.executor.claim import Claims
from wangtimer.executor.claimer import Claimer
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.executor import Duty
from wangtimer.executor.judge import Judge
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.lane_reader import LaneReader
from wangtimer.executor.mover import Mover
from wangtimer.executor.own_queue_presence import Presence
from wangtimer.executor.puller import Puller
from wangtimer.executor.quarantine import Quarantine
from wangtimer.executor.readings.acceptance import AcceptanceReading
from wangtimer.executor.readings.failure import DeadLetterReading, RetryReading
from wangtimer.executor.reply_reader import ReplyReader
from wangtimer.executor.request_maker import RequestMaker, Stamp
from wangtimer.executor.room import LATE, Room
from wangtimer.executor.sender import Sender
from wangtimer.executor.settler import AfterSettled, Settler
from wangtimer.executor.shared import (
    SharedSignings,
    SharedSource,
    SharedTargets,
    shared_signings,
    shared_targets,
)
from wangtimer.executor.stamps.acknowledgement import AcknowledgementStamp
from wangtimer.executor.stamps.cloud_event import CloudEventStamp
from wangtimer.executor.stamps.numbers import NumbersStamp
from wangtimer.executor.steps.misfire_step import MisfireStep
from wangtimer.executor.steps.numbers_step import NumbersStep
from wangtimer.executor.steps.overlap_step import OverlapStep
from wangtimer.executor.steps.pause_step import PauseStep
from wangtimer.executor.steps.shared_step import SharedStep
from wangtimer.executor.turnstile import Turnstile
from wangtimer.executor.unread import Unread
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.waits import Waits
from wangtimer.executor.wanted import Wanted
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.slices import SliceStore
from wangtimer.wiring.features import FeatureParts
from wangtimer.wiring.parts import PartOf, once

# A renewal that hangs longer would cost the lease.
KEEPER_TIMEOUT_S = 1.0
# How long a busy thread may hold up the engine's thread. The engine's p99 at 1,000 calls a second beside one busy
# thread: 0.6 s with Python's 5 ms, 12 ms with 1 ms, 5 ms with 0.2 ms.
SWITCH_INTERVAL_S = 0.0002
# A full collection stops every thread: over the objects loaded at start it took 90 ms, every 4,000 firings. Those are
# left out. The rest is collected seldom, since nothing here makes cycles by design.
GARBAGE_THRESHOLDS = (20_000, 20, 100)


part: "PartOf[FiringParts]" = once


class FiringParts(FeatureParts):
    """The way of a firing."""

    claims = part(lambda parts: Claims(f"{gethostname()}:{os.getpid()}", parts.settings.callback_most_held))
    room = part(lambda parts: Room(parts.settings.callback_most_mb * 1_000_000))

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
    def after_settled(self) -> tuple[AfterSettled, ...]:
        """What follows once SQL has outcomes, in this order."""
        return LetNextGo(self.overlaps.end), *self._added("after_settled")

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
        return self.deliveries.room_in(lane) if self.ways_out.is_known and self.room.has_room(LATE) else 0

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
            self.requests,
            self.reply_reader,
            DisabledHosts(
                self.disabled_hosts_replica, lambda key: self.answer_teller.note(key, None), self.clock
            ),
        )

    @once
    def requests(self) -> RequestMaker:
        """Makes the requests of firings."""
        is_connected, fault_of = self.consumers_seen.is_connected, self.tls.fault_of
        return RequestMaker(self.seals, is_connected, fault_of, self.stamps, self.clock)

    @once
    def stamps(self) -> tuple[Stamp, ...]:
        """What writes into requests, in this order, beside their owners."""
        tokens = self.ack_tokens
        acknowledged = (AcknowledgementStamp(tokens),) if tokens.keys else ()
        return CloudEventStamp(), NumbersStamp(), *acknowledged, *self._added("stamps")

    @once
    def waits(self) -> Waits:
        """Where firings wait that may not go now."""
        return Waits(self.pauses_replica, self.puller, self.mover, self.deliveries, self.app_queues.number_of)

    @once
    def reply_reader(self) -> ReplyReader:
        """Turns answers into outcomes; what has a say on them, in this order."""
        clock = self.clock
        accepted = (AcceptanceReading(clock),) if self.ack_tokens.keys else ()
        return ReplyReader(
            (*accepted, *self._added("after_success")),
            (
                RetryReading(self.retries_replica, self.fire_rule.retry, self.chance, clock),
                *self._added("after_failure"),
                DeadLetterReading(clock),
            ),
            AlertMarks(partial(getattr, self.alerted_replica, "known"), clock),
            clock,
        )

    @once
    def wanted(self) -> Wanted:
        """Whether firings are still wanted."""
        asker = Asker(self.timers, self.clock, self.shared.refresh)
        return Wanted(self.definitions, self.timers, self.verifier, asker)

    @once
    def steps(self) -> tuple[CallStep, ...]:
        """What has a say about firings before their call, in this order: the first that stops one has the last word."""
        verifier, clock = self.verifier, self.clock
        return (
            verifier,  # whether SQL has it as it stands here
            self.wanted,
            MisfireStep(verifier, clock),
            SharedStep(self.shared, verifier),
            *self._added("steps"),
            PauseStep(self.waits),
            # It writes which have begun, and cancels older ones: what stops a firing stands before it.
            OverlapStep(self.begun_firings, verifier, self.reply_reader.noted, clock),
            # The last: what a step before it has skipped is lost to the calls that go.
            NumbersStep(self.continuities, verifier),
        )

    turnstile = part(lambda _: Turnstile())

    @once
    def fire_rule(self) -> FireRule:
        """How firings are made."""
        s = self.settings
        return FireRule(s.callback_timeout_ms, s.running_lease_ms, self.usual_retry)

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

    def _added(self, name: str) -> list[Any]:
        """Return what the features of the list add to one of these lists."""
        return [part for parts_of in added("firing", name) for part in parts_of(self)]

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

    def _keeper_slices(self) -> SliceStore:
        own = RedisConnection(self.settings.store_url, timeout_s=KEEPER_TIMEOUT_S)
        own.bring_time_to(self.clock)
        return SliceStore(own, self.keys, self.clock, self.leases)


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
