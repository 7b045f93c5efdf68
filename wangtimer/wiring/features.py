"""What features do beside the way of a firing."""

from random import Random

from wangtimer.core.alerts.alert_rule import AlertMarks
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.pace import Pace
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.time.zones import DAY_MS
from wangtimer.executor.note_teller import NoteTeller
from wangtimer.features.alerts.alert_judge import FORGET_EVERY_S, AlertJudge
from wangtimer.features.alerts.alert_teller import AlertTeller
from wangtimer.features.alerts.alert_trial import AlertTrial
from wangtimer.features.alerts.mailer import Mailer
from wangtimer.features.controls.control_applier import ControlApplier, GoneStopper
from wangtimer.features.failing_hosts.host_judge import JUDGE_EVERY_S, HostJudge
from wangtimer.features.long_work import AfterWords, LongWork, Retries
from wangtimer.features.overlaps import Overlaps
from wangtimer.store.redis.consumers import ConsumerWords
from wangtimer.store.redis.process_marks import AckGrace
from wangtimer.store.redis.quotas import ControlPace
from wangtimer.store.sql.accepted_firings import AcceptedFirings
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.on_settled import ReplyControlStore
from wangtimer.wiring.parts import PartOf, once
from wangtimer.wiring.stages import StageParts

part: "PartOf[FeatureParts]" = once


class FeatureParts(StageParts):
    """The work of features."""

    usual_retry = part(lambda parts: RetryPolicy(parts.settings.most_attempts))
    chance = part(lambda _: Random())

    alert_judge = part(
        AlertJudge,
        pace=lambda parts: Pace(parts.clock, FORGET_EVERY_S),
        tell=lambda parts: parts.alerted_replica.tell,
    )
    alert_trial = part(AlertTrial)

    @once
    def mailer(self) -> Mailer | None:
        """Sends alerts as mail, where there is a server for that."""
        server = self.settings.mail_server
        return None if server is None else Mailer(server, self.settings.callback_authorities)

    alert_teller = part(
        AlertTeller,
        has_rules=lambda parts: lambda: bool(parts.alerted_replica.known.late_ms),
        tls_fault_of=lambda parts: parts.tls.fault_of,
    )

    host_judge = part(
        HostJudge,
        days_ms=lambda parts: parts.settings.host_disabled_after_days * DAY_MS,
        pace=lambda parts: Pace(parts.clock, JUDGE_EVERY_S),
    )

    @once
    def answer_teller(self) -> NoteTeller[HostKey, None]:
        """Tells of disabled hosts that answered."""
        return NoteTeller("answer", lambda noted: self.host_judge.note_answers(list(noted)), self.clock)

    begun_firings = part(BegunFirings)
    overlaps = part(Overlaps, alerted=lambda parts: parts.alerted_replica.lately)

    accepted_firings = part(AcceptedFirings)
    consumer_words = part(ConsumerWords)
    # Under load sweeps may come a minute late.
    ack_grace = part(AckGrace, silent_ms=lambda parts: 60_000 + 3_000 * parts.settings.sweep_every_s)
    long_work = part(
        LongWork,
        retries=lambda parts: Retries(parts.apps.retries, parts.usual_retry, parts.chance),
        marks=lambda parts: AlertMarks(parts.alerted_replica.lately, parts.clock),
        after=lambda parts: AfterWords(parts.hot, parts.consumer_words.tell, parts.overlaps.end),
    )

    @once
    def control_teller(self) -> NoteTeller[None, None]:
        """Asks for what answers make of timers."""
        return NoteTeller("control", lambda _: self.broker.send_apply_controls(), self.clock)

    reply_controls = part(ReplyControlStore)
    control_applier = part(
        ControlApplier,
        pace=lambda parts: parts.make(ControlPace),
        stop_gone=lambda parts: parts.make(GoneStopper).stop,
    )
