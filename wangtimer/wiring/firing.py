"""What fires a chunk: from its claim to its outcome."""

import os
from functools import partial
from operator import attrgetter
from socket import gethostname
from typing import Any

from wangtimer.base.punctuality import favour_punctuality
from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.features import added
from wangtimer.executor import Executor, FireRule
from wangtimer.executor.after_settled import LetNextGo
from wangtimer.executor.asker import Asker
from wangtimer.executor.case import CallStep
from wangtimer.executor.claim import Claims
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.lane_reader import LaneReader
from wangtimer.executor.mover import Mover
from wangtimer.executor.own_queue_presence import Presence, TakenQueues
from wangtimer.executor.puller import Puller
from wangtimer.executor.quarantine import Quarantine
from wangtimer.executor.readings.acceptance import AcceptanceReading
from wangtimer.executor.readings.failure import DeadLetterReading, RetryReading
from wangtimer.executor.reply_reader import ReplyReader
from wangtimer.executor.request_maker import RequestMaker, Stamp
from wangtimer.executor.room import LaneRoom, Room
from wangtimer.executor.sender import Sender
from wangtimer.executor.settler import AfterSettled, Settler
from wangtimer.executor.shared import SharedSource, shared_signings, shared_targets
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.executor.stamps.acknowledgement import AcknowledgementStamp
from wangtimer.executor.stamps.cloud_event import CloudEventStamp
from wangtimer.executor.stamps.numbers import NumbersStamp
from wangtimer.executor.steps.misfire_step import MisfireStep
from wangtimer.executor.steps.numbers_step import NumbersStep
from wangtimer.executor.steps.overlap_step import OverlapStep
from wangtimer.executor.steps.pause_step import PauseStep
from wangtimer.executor.steps.shared_step import SharedStep
from wangtimer.executor.turnstile import Turnstile
from wangtimer.executor.verifier import Verifier
from wangtimer.executor.waits import Waits
from wangtimer.executor.wanted import Wanted
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.sql.continuities import ContinuityStore
from wangtimer.wiring.features import FeatureParts
from wangtimer.wiring.parts import PartOf, once

# A renewal that hangs longer would cost the lease.
KEEPER_TIMEOUT_S = 1.0

part: "PartOf[FiringParts]" = once


class FiringParts(FeatureParts):
    """The way of a firing."""

    claims = part(lambda parts: Claims(f"{gethostname()}:{os.getpid()}", parts.settings.callback_most_held))
    room = part(Room, most=lambda parts: parts.settings.callback_most_mb * 1_000_000)
    one_at_a_time = part(lambda _: Turnstile().one)
    fire_rule = part(
        FireRule,
        timeout_ms=lambda parts: parts.settings.callback_timeout_ms,
        retry=lambda parts: parts.usual_retry,
    )

    @once
    def keeper_slices(self) -> SliceStore:
        """The slices, over a connection of its own."""
        own = RedisConnection(self.settings.store_url, timeout_s=KEEPER_TIMEOUT_S)
        own.bring_time_to(self.clock)
        return SliceStore(own, self.keys, self.clock, self.leases)

    keeper = part(
        Keeper,
        slices=lambda parts: parts.keeper_slices,
        renew_every_s=lambda parts: parts.settings.renew_every_ms / 1_000,
    )
    settler = part(
        Settler,
        every_s=lambda parts: parts.settings.settle_every_ms / 1_000,
        are_calls_waiting=lambda parts: lambda: parts.engine.has_calls_waiting,
    )

    @once
    def after_settled(self) -> tuple[AfterSettled, ...]:
        """What follows once SQL has outcomes, in this order."""
        return LetNextGo(self.overlaps.end), *self._added("after_settled")

    mover = part(Mover, lease_s=lambda parts: parts.settings.running_lease_ms / 1_000)
    taken_queues = part(TakenQueues, taken=lambda parts: lambda: parts.broker.app.amqp.queues.consume_from)
    presence = part(Presence, queues=lambda parts: parts.taken_queues.own_names())
    lane_reader = part(
        LaneReader,
        seconds_since_reconnect=lambda parts: lambda: parts.slices.seconds_since_reconnect,
        is_mine=lambda parts: parts.taken_queues.has,
    )
    puller = part(
        Puller,
        room_in=lambda parts: parts.make(LaneRoom).room_in,
        send_feed_lanes=lambda parts: parts.broker.send_feed_lanes,
    )

    sql_rest = part(SqlRest)
    verifier = part(Verifier)
    signings = part(lambda parts: parts.make(shared_signings))
    targets = part(lambda parts: parts.make(shared_targets))
    shared = part(SharedSource)
    asker = part(Asker, also=lambda parts: parts.shared.refresh)
    wanted = part(Wanted)
    continuities = part(ContinuityStore, monotonic=lambda parts: parts.clock.monotonic)

    waits = part(Waits)
    quarantine = part(
        Quarantine,
        is_safe=lambda parts: parts.keeper.may_send,
        longest_s=lambda parts: 2 * parts.fire_rule.timeout_ms / 1_000,
    )
    request_maker = part(
        RequestMaker,
        is_connected=lambda parts: parts.consumers_seen.is_connected,
        fault_of=lambda parts: parts.tls.fault_of,
    )
    sender = part(
        Sender,
        disabled_hosts=lambda parts: parts.make(
            DisabledHosts, note_answer=lambda key: parts.answer_teller.note(key, None)
        ),
    )

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

    @once
    def stamps(self) -> tuple[Stamp, ...]:
        """What writes into requests, in this order, beside their owners."""
        acknowledged = (AcknowledgementStamp(self.ack_tokens),) if self.ack_tokens.keys else ()
        return CloudEventStamp(), NumbersStamp(), *acknowledged, *self._added("stamps")

    @once
    def reply_reader(self) -> ReplyReader:
        """Turns answers into outcomes; what has a say on them, in this order."""
        clock = self.clock
        accepted = (AcceptanceReading(clock),) if self.ack_tokens.keys else ()
        retry = RetryReading(self.retries_replica, self.fire_rule.retry, self.chance, clock)
        return ReplyReader(
            (*accepted, *self._added("after_success")),
            (retry, *self._added("after_failure"), DeadLetterReading(clock)),
            AlertMarks(partial(attrgetter("known"), self.alerted_replica), clock),
            clock,
        )

    def _added(self, name: str) -> list[Any]:
        """Return what the features of the list add to one of these lists."""
        return [part for parts_of in added("firing", name) for part in parts_of(self)]

    tell_strain = part(lambda parts: parts.strain_mark.tell)

    @once
    def executor(self) -> Executor:
        """Fires chunks; starts its engine, keeper, settler, mover, puller and throttle."""
        executor = self.make(Executor)
        self._start_threads(executor)
        return executor

    def _start_threads(self, executor: Executor) -> None:
        """Start what works beside the executor."""
        favour_punctuality()
        self.throttle.try_to_read_rules()
        self.ways_out.warm_up()
        self.ways_out.start()
        self.engine.start()
        self.puller.fire_by(executor.fire_pulled)
        self.mover.relief_loop.start()
        for of in (
            *(self.throttle, self.keeper, self.settler, self.mover, self.puller, self.egress_watch),
            *(self.health_teller, self.control_teller, self.answer_teller, self.alert_teller),
        ):
            of.loop.start()
