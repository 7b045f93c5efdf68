"""The stages that a timer and its firings go through, and what keeps them in order."""

from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.planning import Ahead
from wangtimer.core.flow.slicing import BucketRule
from wangtimer.core.time.zones import DAY_MS
from wangtimer.features.signing_changes import SigningChanges
from wangtimer.features.target_changes import TargetChanges
from wangtimer.planning.migrator import Migrator, PlanRule
from wangtimer.planning.schedule_followers import CalendarFollower, RulesFollower
from wangtimer.store.redis.outbox import OutboxRoom
from wangtimer.store.redis.process_marks import StrainMark
from wangtimer.store.refresher import CopyRefresher
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
from wangtimer.window.trigger import ArmRule, CallbackProcesses, Trigger
from wangtimer.wiring.delivery import DeliveryParts
from wangtimer.wiring.parts import PartOf, once

part: "PartOf[StageParts]" = once


class StageParts(DeliveryParts):
    """The stages."""

    soon_ms = part(lambda parts: parts.settings.lead_ms + parts.settings.turn_ms)
    buckets = part(BucketRule, most=lambda parts: parts.settings.most_buckets)

    @once
    def near(self) -> NearRule:
        """What a request plans itself."""
        return NearRule(self.settings.near_s * 1_000, self.settings.plan_most_moments, self.soon_ms)

    registrar = part(Registrar)
    batches = part(Batches)
    stops = part(Stops)
    on_demand = part(OnDemand)
    app_stopper = part(AppStopper)
    signing_changes = part(SigningChanges)
    target_changes = part(TargetChanges)

    @once
    def plan_rule(self) -> PlanRule:
        """How timers are planned."""
        s = self.settings
        ahead = Ahead(s.step_s * 1_000, s.plan_most_moments, s.plan_dense_moments, 2 * s.window_ms)
        return PlanRule(ahead, s.plan_page_timers, s.near_s * 1_000, s.window_ms, s.plan_threads)

    calendar_follower = part(CalendarFollower, send_follow=lambda parts: parts.broker.send_follow)
    rules_follower = part(RulesFollower)
    strain_mark = part(StrainMark)
    migrator = part(
        Migrator,
        is_strained=lambda parts: parts.strain_mark.counts,
        may_plan=lambda parts: parts.rules_follower.may_plan,
    )

    scheduler = part(Scheduler, send_trigger=lambda parts: parts.broker.send_trigger)

    @once
    def arm_rule(self) -> ArmRule:
        """How firings are armed."""
        s = self.settings
        a_turn = max(1, s.catch_up_per_s * s.turn_ms // 1_000 // PAST_AT_ONCE)
        return ArmRule(s.lead_ms, s.turn_ms, s.lock_ms, s.chunk_size, s.callback_queue_most, a_turn)

    outbox_room = part(
        OutboxRoom,
        most_bytes=lambda parts: parts.settings.outbox_mb * 1_000_000,
        monotonic=lambda parts: parts.clock.monotonic,
    )
    takers = part(
        CallbackProcesses,
        waiting_chunks=lambda parts: parts.broker.waiting_chunks,
        is_served=lambda parts: parts.app_queues.is_served,
        outbox_share=lambda parts: parts.outbox_room.share,
    )
    trigger = part(Trigger, credits=lambda parts: Credits(parts.settings.arm_credit))

    feeder = part(Feeder)
    lane_feeder = part(LaneFeeder)
    sweeper = part(Sweeper)

    @once
    def copy_refreshers(self) -> tuple[CopyRefresher, ...]:
        """Tell Redis of what timers share."""
        return (
            CopyRefresher("signing", self.signing_store.changed_behind, self.signing_copies.put),
            CopyRefresher("target", self.target_store.changed_behind, self.target_copies.put, names=2),
        )

    purger = part(
        Purger,
        retention_ms=lambda parts: parts.settings.retention_days * DAY_MS,
        audited_ms=lambda parts: parts.settings.audit_days * DAY_MS,
    )
    finished_purger = part(FinishedPurger)
    total_counter = part(TotalCounter)
