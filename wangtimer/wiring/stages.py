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
from wangtimer.store.redis.quotas import ReplayQuota
from wangtimer.store.refresher import CopyRefresher
from wangtimer.store.sql.finished_timers import FinishedTimers
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore
from wangtimer.store.sql.timer_batches import TimerBatches
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
from wangtimer.window.trigger import ArmRule, CallbackProcesses, SliceReload, Trigger
from wangtimer.wiring.delivery import DeliveryParts
from wangtimer.wiring.parts import PartOf, once

part: "PartOf[StageParts]" = once


class StageParts(DeliveryParts):
    """The stages."""

    @once
    def calendar_follower(self) -> CalendarFollower:
        """Gives timers the new days of the calendars that they name."""
        return CalendarFollower(self.registrar, self.calendar_followers, self.clock, self.broker.send_follow)

    @once
    def rules_follower(self) -> RulesFollower:
        """Plans timers anew whose zone or built-in calendar has other rules than before."""
        return RulesFollower(self.registrar, ScheduleRuleStore(self.database, self.bad_timers), self.clock)

    @once
    def signing_changes(self) -> SigningChanges:
        """What apps change of how their calls are signed."""
        return SigningChanges(self.signing_store, self.signing_copies, self.clock, self.settings.lead_ms)

    @once
    def target_changes(self) -> TargetChanges:
        """What apps change of their named targets."""
        return TargetChanges(self.target_store, self.target_copies, self.clock, self.settings.lead_ms)

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
        """Makes firings of the moments of timers."""
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
        broker = self.broker
        takers = CallbackProcesses(
            broker.send_chunk, broker.waiting_chunks, self.app_queues.is_served, self.outbox_room.share
        )
        return Trigger(
            self.slices,
            self.agenda,
            SliceReload(self.firings, self.hot),
            self.clock,
            self._arm_rule(),
            Credits(self.settings.arm_credit),
            takers,
            self.stopping.is_set,
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

    @once
    def sweeper(self) -> Sweeper:
        """Repairs what a death or a lost message has left behind."""
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

    lane_feeder = part(lambda parts: LaneFeeder(parts.firings, parts.lanes, parts.lane_budget, parts.clock))
    app_stopper = part(lambda parts: AppStopper(parts.apps, parts.timer_lists, parts.batches, parts.clock))

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

    @once
    def _buckets(self) -> BucketRule:
        s = self.settings
        return BucketRule(s.firings_per_bucket, s.most_buckets, self.app_queues.number_of)
