"""What features do beside the way of a firing."""

from random import Random

from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.pace import Pace
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.zones import DAY_MS
from wangtimer.executor.note_teller import NoteTeller
from wangtimer.features.alerts.alert_judge import FORGET_EVERY_S, AlertJudge
from wangtimer.features.alerts.alert_teller import AlertTeller
from wangtimer.features.alerts.alert_trial import AlertTrial
from wangtimer.features.alerts.mailer import Mailer
from wangtimer.features.controls.control_applier import ControlApplier, GoneStopper
from wangtimer.features.failing_hosts.host_judge import JUDGE_EVERY_S, HostJudge
from wangtimer.features.long_work import AfterWords, LongWork, PresentOrders, Retries
from wangtimer.features.overlaps import Overlaps
from wangtimer.store.redis.consumers import ConsumerWords
from wangtimer.store.redis.process_marks import AckGrace
from wangtimer.store.redis.quotas import ControlPace
from wangtimer.store.sql.accepted_firings import AcceptedFirings
from wangtimer.store.sql.alert_troubles import AlertTroubles
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.continuities import ContinuityStore
from wangtimer.store.sql.firings_to_cancel import FiringsToCancel
from wangtimer.store.sql.on_settled import ReplyControlStore
from wangtimer.wiring.parts import PartOf, once
from wangtimer.wiring.stages import StageParts

part: "PartOf[FeatureParts]" = once


class FeatureParts(StageParts):
    """The work of features."""

    usual_retry = part(lambda parts: RetryPolicy(parts.settings.most_attempts))

    @once
    def alert_judge(self) -> AlertJudge:
        """Says which troubles are to be told."""
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
        """Tells the messages of alert rules."""
        server = self.settings.mail_server
        mailer = None if server is None else Mailer(server, self.settings.callback_authorities)
        return AlertTeller(
            self.alert_rules,
            self.alert_messages,
            self._signing_of,
            self.deliveries,
            mailer,
            self.clock,
            lambda: bool(self.alerted_replica.known.late_ms),
            self.tls.fault_of,
        )

    def _signing_of(self, app: str) -> AppSigning:
        """Return how an app signs, from SQL; raises `StoreAway`, ValueError."""
        found = self.signing_store.needed([app], int(self.clock.now_ms()))
        if app in found.bad:
            raise ValueError(found.bad[app])
        return found[app]

    chance = part(lambda _: Random())

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

    accepted_firings = part(lambda parts: AcceptedFirings(parts.database))

    @once
    def ack_grace(self) -> AckGrace:
        """Whether firings end of which nothing was said in time."""
        # Under load sweeps may come a minute late.
        return AckGrace(self.replica_texts, 60_000 + 3_000 * self.settings.sweep_every_s)

    @once
    def long_work(self) -> LongWork:
        """Takes what targets say of accepted firings, and ends those of which nothing is said."""
        return LongWork(
            self.accepted_firings,
            PresentOrders(self.timers, self.target_store),
            self.ack_tokens,
            self.ack_grace,
            self.clock,
            Retries(self.apps.retries, self.usual_retry, self.chance),
            AlertMarks(self.alerted_replica.lately, self.clock),
            AfterWords(self.hot, self.consumer_words.tell, self.overlaps.end),
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
    reply_controls = part(lambda parts: ReplyControlStore(parts.database))

    @once
    def control_applier(self) -> ControlApplier:
        """Does what answers make of timers."""
        pace = ControlPace(self.redis, self.keys, self.clock, self.app_directory)
        stop_gone = GoneStopper(self.timer_lists, self.target_store, self.batches).stop
        return ControlApplier(
            self.reply_controls, self.timer_lists, self.registrar, self.clock, pace, self.audit, stop_gone
        )
