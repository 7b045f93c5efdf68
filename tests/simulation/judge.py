"""The promises, held against what happened."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

from tests.simulation.evidence import Change, Evidence, Sent, pending
from tests.simulation.fault import Kind
from tests.simulation.fleet import SETTINGS, Fleet
from tests.simulation.policy_rules import is_final, most_attempts, shortest_pause_ms
from tests.simulation.scenario import ACTIVE_MS, APP, HOST
from tests.simulation.simulated_engine import Answer
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.executor.verifier import LONGEST_WAIT_MS
from wangtimer.store.redis.clock import WITH_SCRIPTS_S
from wangtimer.store.redis.permits import MARGIN_MS
from wangtimer.testing.doubles.hand_clock import START_MS

Violation = tuple[str, str]

# A one-shot may be enabled late; well within what the registrar allows.
LATE_ONCE_MS = 50_000
# Renewing ends a minute after the last possible answer.
GIVEN_UP_MS = 60_000
# A single step that fails is no excuse: a lease bears it.
CUT_OFF_ERRORS = 2
LEASE_MS = SETTINGS.running_lease_ms
FROZEN = (Kind.FREEZE_BEFORE, Kind.FREEZE_AFTER)
FORGETTING = (Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK)
CLOCK_STEPS = (Kind.REDIS_CLOCK_BACK, Kind.REDIS_CLOCK_AHEAD)
# A process' belief of Redis' clock may be so far from it.
SKEW_MS = 40
# A firing is armed this often at most, and once more for each time SQL could not be asked.
MOST_ARMED = 14
ARMED_AGAIN_MS = 2_500
# A slice in which only leases run is closed at once, and looked at again when one ends: 269 in the worst of
# 10,000 runs, one of four migrators.
MOST_TRIGGERS = 320
# A sweep tells Redis of a change that the API did not.
TOLD_MS = 8_000
# Two sweeps, one running lease of waiting, and slow ways between.
REPAIR_MS = 22_000
# Where it cannot be asked whether to send, the next look comes this much later at the most.
ASKED_TO_VERIFY = ("outbox.holds", "firings.rows", "timers.definitions")
CALM_LATE_MS, SLOW_LATE_MS = 2_500, 9_000
# What was claimed before the step is sent by the clock before it: a lead, and the time between two looks at the clock.
UNKNOWN_STEP_MS = SETTINGS.lead_ms + WITH_SCRIPTS_S * 1_000 + 50
# After Redis forgot which calls are under way.
FORGOTTEN_MS = SETTINGS.callback_timeout_ms + MARGIN_MS
# A call with a permit leaves so late at most: where Redis hung, or its process was frozen.
LATE_SEND_S = 6.0
# An app over its limit is late as a whole.
LIMITED_LATE_MS = 180_000
# Processes read what is paused, and what goes on again, every 4 s at most; a look at the lanes follows within 3 s.
PAUSE_COUNTS_MS = 5_000
# Where calls find no room by chance, each time again: so often in a row, once a second.
AWAY_LATE_MS = 60_000


def judge(fleet: Fleet) -> list[Violation]:
    """Return every promise that was broken."""
    evidence, sim = fleet.evidence, fleet.sim
    found = [*sim.failures, *evidence.violations, *fleet.feeders.violations]
    found += _lost(fleet)
    found += _early(evidence)
    found += _second_sends(evidence)
    found += _unwanted(evidence)
    found += _cancelled(evidence)
    found += _left_over(fleet)
    found += _late(evidence, bool(fleet.scenario.limits), _paused_ms(evidence))
    found += _hot(evidence)
    found += _over_the_limit(fleet)
    found += _though_paused(evidence)
    found += _against_the_policy(fleet)
    return found


def is_quiet(fleet: Fleet) -> bool:
    """Tell whether all is done: no message, nothing pending, nothing in Redis, nothing still to be planned."""
    sim = fleet.sim
    if any(queue.messages for queue in sim.queues.values()) or pending(fleet.evidence.rows):
        return False
    return not _left_over(fleet) and all(key in fleet.evidence.rows for key in _expected(fleet))


def latenesses_ms(evidence: Evidence) -> dict[Member, float]:
    """Return how late each attempt was first sent; one planned or enabled late is late from then on."""
    first: dict[Member, float] = {}
    for sent in evidence.sends:
        first.setdefault(sent.member, sent.by_redis)
    return {member: moment - _wanted_at(evidence, member) for member, moment in first.items()}


def _wanted_at(evidence: Evidence, member: Member) -> float:
    due_at = evidence.due_at.get(member, member.fire_at)
    changes = evidence.history.get(member.timer_id, ())
    enabled_at = [one.by_redis for one in changes if one.status is TimerStatus.ENABLED]
    return max(due_at, min(enabled_at, default=0.0), evidence.settled.get(_before(member), 0.0))


def _before(member: Member) -> Member:
    return member._replace(attempt=member.attempt - 1)


def _expected(fleet: Fleet) -> Iterator[tuple[int, int]]:
    """Every moment of every timer that was enabled then, from its schedule alone."""
    evidence = fleet.evidence
    for timer_id, timer in evidence.timers.items():
        schedule = timer.definition.schedule
        changes = evidence.history.get(timer_id, [])
        enabled = [one.by_redis for one in changes if one.status is TimerStatus.ENABLED]
        if not enabled:
            continue
        if isinstance(schedule, Once):
            if min(enabled) <= schedule.at_ms + LATE_ONCE_MS and _was_on(evidence, timer_id, schedule.at_ms):
                yield timer_id, schedule.at_ms
            continue
        for moment in schedule.moments(START_MS, START_MS + 2 * ACTIVE_MS, 1_000):
            if evidence.status_at(timer_id, moment) is TimerStatus.ENABLED and min(enabled) < moment:
                yield timer_id, moment


def _was_on(evidence: Evidence, timer_id: int, at_ms: int) -> bool:
    later = [one for one in evidence.history[timer_id] if one.by_redis >= at_ms]
    return evidence.status_at(timer_id, at_ms) is TimerStatus.ENABLED or any(
        one.status is TimerStatus.ENABLED and one.by_redis <= at_ms + LATE_ONCE_MS for one in later
    )


def _lost(fleet: Fleet) -> Iterator[Violation]:
    evidence = fleet.evidence
    for key in _expected(fleet):
        if key not in evidence.rows:
            yield "LOST-NEVER-PLANNED", f"timer {key[0]} at {_s(key[1])}"
    sent = {_key(one.member) for one in evidence.sends}
    for row in evidence.rows.values():
        firing = row.firing
        schedule = evidence.timers[firing.timer_id].definition.schedule
        is_asked = firing.kind is FiringKind.MANUAL or firing.member.key in evidence.cancelled
        if not is_asked and not schedule.matches(firing.fire_at):
            yield "INVENTED", str(firing.member)
        if firing.status is FiringStatus.PENDING:
            yield "LOST", f"{firing.member} due {_s(firing.due_at)}, {_standing_of(evidence, firing.member)}"
        elif firing.status is not FiringStatus.SKIPPED and _key(firing.member) not in sent:
            yield "NOT-SENT", f"{firing.member}: {firing.status}"


def _standing_of(evidence: Evidence, member: Member) -> str:
    """Where the member stands in Redis."""
    redis = evidence.sim.redis.server
    found = []
    for slice_, sets in redis.table("slices").items():
        for name in ("due", "armed", "running"):
            if any(_key(one) == _key(member) for one in getattr(sets, name)):
                agenda = redis.table("agenda").get(slice_)
                found.append(f"{slice_.tag} {name} (agenda: {agenda and _s(agenda)})")
    return ", ".join(found) or "in no slice"


def _key(member: Member) -> tuple[int, int]:
    return member.timer_id, member.fire_at


def _early(evidence: Evidence) -> Iterator[Violation]:
    for sent in evidence.sends:
        due_at = evidence.due_at.get(sent.member, sent.member.fire_at)
        if sent.by_redis < due_at and not _is_step_unknown(evidence, sent):
            yield "EARLY", f"{sent.member} by {due_at - sent.by_redis:.1f} ms"


def _is_step_unknown(evidence: Evidence, sent: Sent) -> bool:
    """Tell whether the sender could not know yet that Redis' clock was put back: too soon, or it was cut off since."""
    for put_back_at in evidence.sim.redis.put_back_at:
        if put_back_at <= sent.moment <= put_back_at + UNKNOWN_STEP_MS:
            return True
        hits = (hit for hit in sent.process.hits if hit.moment <= sent.moment)
        if put_back_at <= sent.moment and any(hit.moment + hit.lasts_ms >= put_back_at for hit in hits):
            return True
    return False


def _second_sends(evidence: Evidence) -> Iterator[Violation]:
    for first, second in second_sends(evidence):
        reason = excuse(evidence, first, second)
        evidence.sim.log("judge", "second send", f"{second.member}: {reason or 'no excuse'}")
        if not reason:
            moments = (
                f"{_s(first.moment)} by {first.process.name}, {_s(second.moment)} by {second.process.name}"
            )
            after = "-AFTER-ITS-RECORD" if second.moment > evidence.settled.get(second.member, 1e18) else ""
            yield f"SENT-TWICE{after}", f"{second.member}: {moments}"


def second_sends(evidence: Evidence) -> Iterator[tuple[Sent, Sent]]:
    """Yield every send of an attempt that had been sent before, with the one before."""
    last: dict[Member, Sent] = {}
    for sent in evidence.sends:
        if sent.member in last:
            yield last[sent.member], sent
        last[sent.member] = sent


def excuse(evidence: Evidence, first: Sent, second: Sent) -> str:
    """Return why an attempt may have been sent a second time, "" if it may not."""
    settled_at = evidence.settled.get(first.member, float("inf"))
    if settled_at < second.claimed_at:
        return ""  # whoever had looked would have known
    if _was_frozen_at(second, 0) or _was_frozen_at(first, LEASE_MS // 2):
        return "frozen at the send"
    for moment, kind in evidence.sim.world_events:
        if kind in FORGETTING and first.claimed_at - 3_000 <= moment <= second.moment:
            return str(kind)
    if not first.is_told and second.moment - first.moment > GIVEN_UP_MS:
        return "its engine hung"
    recorded_at = min(settled_at, evidence.parked.get(first.member, float("inf")))
    return "" if recorded_at < second.claimed_at else _cut_short(first, min(second.moment, recorded_at + 1))


def _was_frozen_at(sent: Sent, least_ms: float) -> bool:
    """Tell whether the sender was frozen between its last look at its lease and the send, for so long at least."""
    return any(
        hit.what == "freeze"
        and hit.label == "target.send"
        and hit.lasts_ms >= least_ms
        and hit.moment <= sent.moment <= hit.moment + hit.lasts_ms + 10
        for hit in sent.process.hits
    )


def _cut_short(first: Sent, until: float) -> str:
    """Return what kept the first sender from recording."""
    errors = []
    for hit in first.process.hits:
        if hit.moment > until:
            continue
        if hit.what == "crash" and first.moment <= hit.moment:
            return "died"
        if hit.what == "freeze" and hit.moment + hit.lasts_ms >= first.moment:
            return "frozen"
        if hit.what == "error" and first.moment - LEASE_MS <= hit.moment:
            errors.append(hit.label)
    return f"cut off at {', '.join(errors)}" if len(errors) >= CUT_OFF_ERRORS else ""


def _unwanted(evidence: Evidence) -> Iterator[Violation]:
    """Being switched off counts for whoever claims after Redis was told, unless Redis forgot it.

    What somebody asked for after a timer was disabled is fired all the same.
    """
    forgotten_at = [moment for moment, kind in evidence.sim.world_events if kind in FORGETTING]
    longest_ms = sum(REPAIR_MS + fault.lasts_ms for fault in evidence.sim.struck)
    for sent in evidence.sends:
        timer_id = sent.member.timer_id
        changes = [one for one in evidence.history.get(timer_id, ()) if one.moment <= sent.moment]
        told = [
            at
            for at, version in evidence.told.get(timer_id, ())
            if changes and version == changes[-1].version
        ]
        if not changes or changes[-1].status is TimerStatus.ENABLED:
            continue
        if _was_asked_for_since(evidence.rows[_key(sent.member)].firing, changes[-1]):
            continue
        if sent.claimed_at - changes[-1].moment > TOLD_MS + longest_ms:
            yield (
                "UNWANTED",
                f"{sent.member} sent {_s(sent.moment)}, {changes[-1].status} and Redis never told",
            )
        if not told or min(told) >= sent.claimed_at:
            continue
        if not any(min(told) <= moment <= sent.moment for moment in forgotten_at):
            yield (
                "UNWANTED",
                f"{sent.member} sent {_s(sent.moment)}, {changes[-1].status} told {_s(min(told))}",
            )


def _was_asked_for_since(firing: Firing, change: Change) -> bool:
    """Tell whether somebody asked for a firing when its timer had been disabled."""
    if firing.kind is not FiringKind.MANUAL or change.status is not TimerStatus.DISABLED:
        return False
    return firing.asked_at is None or firing.asked_at >= change.disabled_at


def _cancelled(evidence: Evidence) -> Iterator[Violation]:
    """Being cancelled counts for whoever claims after Redis was told; what was sent all the same is on record."""
    forgotten_at = [moment for moment, kind in evidence.sim.world_events if kind in FORGETTING]
    for sent in evidence.sends:
        key = _key(sent.member)
        if key not in evidence.cancelled:
            continue
        cancelled_at, version = evidence.cancelled[key]
        told = [at for at, told in evidence.told.get(key[0], ()) if told >= version and at >= cancelled_at]
        if not told or min(told) >= sent.claimed_at:
            if evidence.rows[key].is_cancelled and not evidence.sim.struck:
                yield "RECORDED-AS-CANCELLED", f"{sent.member} sent {_s(sent.moment)}"
        elif not any(min(told) <= moment <= sent.moment for moment in forgotten_at):
            yield "SENT-THOUGH-CANCELLED", f"{sent.member} sent {_s(sent.moment)}, told {_s(min(told))}"


def _left_over(fleet: Fleet) -> list[Violation]:
    redis = fleet.sim.redis.server
    found = []
    for slice_, sets in redis.table("slices").items():
        is_known = slice_ in redis.table("agenda") or slice_ in redis.table("lanes")
        left = [one for name in ("due", "armed", "running") for one in getattr(sets, name)]
        if is_known or not fleet.sim.struck:
            found += [("LEFT-IN-SLICE", f"{slice_.tag} {one}, on agenda: {is_known}") for one in left]
        else:
            found += [("LOST-IN-SLICE", f"{slice_.tag} {one}") for one in left if _is_awaited(fleet, one)]
    found += [("LEFT-ON-AGENDA", slice_.tag) for slice_ in redis.table("agenda")]
    found += [("LEFT-IN-INDEX", lane.key) for lane in redis.table("lanes")]
    found += [("LEFT-AS-A-REST", lane.key) for lane in redis.table("rests")]
    found += [("LEFT-IN-OUTBOX", member) for member in redis.table("outbox")]
    return found


def _over_the_limit(fleet: Fleet) -> Iterator[Violation]:
    """No target has more calls at once than its limits, and none is called faster, unless Redis forgot some.

    Exception: a process was frozen between its last look and the send, so that its permit had ended.
    """
    for limit in fleet.scenario.limits:
        yield from _over(limit, fleet.evidence)


def _over(limit: CallLimit, evidence: Evidence) -> Iterator[Violation]:
    sim = evidence.sim
    forgotten_at = [moment for moment, kind in sim.world_events if kind in FORGETTING]
    if any(fault.label == "target.send" and fault.kind in FROZEN for fault in sim.struck):
        return
    calls = sorted((one for one in evidence.under_way), key=lambda one: one[0])
    for number, (began_at, _, _) in enumerate(calls):
        if any(moment <= began_at <= moment + FORGOTTEN_MS for moment in forgotten_at):
            continue
        at_once = sum(ends_at > began_at for _, ends_at, _ in calls[: number + 1])
        if limit.at_once is not None and at_once > limit.at_once:
            yield "OVER-THE-LIMIT", f"{at_once} calls at once at {_s(began_at)}, {limit.at_once} allowed"
        if limit.per_second is not None and not forgotten_at:
            for first in range(number):
                lasted_s = (began_at - calls[first][0]) / 1_000
                most = limit.per_second * (lasted_s + LATE_SEND_S) + limit.burst
                if number - first + 1 > most:
                    yield "OVER-THE-RATE", f"{number - first + 1} calls in {lasted_s:.1f} s to {_s(began_at)}"
                    return


def _though_paused(evidence: Evidence) -> Iterator[Violation]:
    """Nothing is sent from seconds after a pause until its end; later where something struck meanwhile."""
    struck = evidence.sim.struck
    counts_ms = PAUSE_COUNTS_MS + bool(struck) * TOLD_MS + sum(REPAIR_MS + fault.lasts_ms for fault in struck)
    for (since, pauses), (until, _) in pairwise([*evidence.pauses, (inf, None)]):
        assert pauses is not None
        for sent in evidence.sends:
            is_within = since + counts_ms < sent.moment < until
            if is_within and pauses.lane_of(APP, HOST, sent.member.timer_id) is not None:
                yield "SENT-THOUGH-PAUSED", f"{sent.member} at {_s(sent.moment)}, paused at {_s(since)}"


def _paused_ms(evidence: Evidence) -> float:
    """Return for how long something was paused in all."""
    times = pairwise([*evidence.pauses, (evidence.sim.now_ms, None)])
    return sum(until - since for (since, pauses), (until, _) in times if pauses and pauses.names)


def _against_the_policy(fleet: Fleet) -> Iterator[Violation]:
    """No firing has more attempts than its policy, none too soon after the one before, and each is on record."""
    evidence, policy = fleet.evidence, fleet.scenario.policy
    sends: dict[tuple[int, int], dict[int, list[Sent]]] = {}
    for sent in evidence.sends:
        sends.setdefault(_key(sent.member), {}).setdefault(sent.member.attempt, []).append(sent)
    for key, attempts in sends.items():
        if max(attempts) > most_attempts(policy):
            yield "OVER-ITS-POLICY", f"{key}: attempt {max(attempts)} of {most_attempts(policy)}"
        for number in sorted(attempts)[1:]:
            yield from _out_of_turn(evidence, policy, attempts.get(number - 1, []), attempts[number][0])
        for number in range(1, evidence.rows[key].firing.attempt):
            member = Member(*key, number)
            if member not in evidence.settled and member not in evidence.parked:
                yield "NOT-ON-RECORD", str(member)


def _out_of_turn(
    evidence: Evidence, policy: RetryPolicy, before: list[Sent], sent: Sent
) -> Iterator[Violation]:
    """Some call of the attempt before must have failed as the policy tries again, and so long before."""
    failed = [one for one in before if not _ends_it(policy, one.answer)]
    if not failed:
        yield "AFTER-A-FINAL-ANSWER", str(sent.member)
    elif not any(kind in CLOCK_STEPS for _, kind in evidence.sim.world_events):
        number = sent.member.attempt - 1
        soonest = min(_tried_again_at(policy, number, one) for one in failed)
        if sent.by_redis < soonest - SKEW_MS:
            yield "TOO-SOON", f"{sent.member} by {soonest - sent.by_redis:.0f} ms"


def _ends_it(policy: RetryPolicy, answer: Answer) -> bool:
    return answer.after_ms < SETTINGS.callback_timeout_ms and is_final(policy, answer.http_status)


def _tried_again_at(policy: RetryPolicy, attempt: int, sent: Sent) -> float:
    """Return when the next attempt may be made at the soonest, by Redis' clock."""
    timeout_ms = SETTINGS.callback_timeout_ms
    status = sent.answer.http_status if sent.answer.after_ms < timeout_ms else None
    pause_ms = shortest_pause_ms(policy, attempt, status, sent.answer.asked_s)
    return sent.by_redis + min(sent.answer.after_ms, timeout_ms) + pause_ms


def _is_awaited(fleet: Fleet, member: Member) -> bool:
    """Tell whether a member is no ghost: one that came late, or came back, and is over, goes with its slice's keys."""
    row = fleet.evidence.rows.get(_key(member))
    return row is not None and row.firing.status is FiringStatus.PENDING


def _late(evidence: Evidence, is_limited: bool, paused_ms: float) -> Iterator[Violation]:
    """Without a fault all is on time; with faults it is late by what they last, and by the time to repair them."""
    sim = evidence.sim
    bound_ms = SLOW_LATE_MS if sim.is_slow else CALM_LATE_MS
    if sim.struck:
        bound_ms = sum(REPAIR_MS + fault.lasts_ms for fault in sim.struck)
        bound_ms += LONGEST_WAIT_MS * any(fault.label in ASKED_TO_VERIFY for fault in sim.struck)
    bound_ms += (
        paused_ms
        + PAUSE_COUNTS_MS * bool(evidence.pauses)
        + AWAY_LATE_MS * evidence.has_lanes
        + LIMITED_LATE_MS * is_limited
    )
    for member, late_ms in latenesses_ms(evidence).items():
        if late_ms > bound_ms:
            yield "LATE", f"{member} by {late_ms / 1_000:.1f} s"


def _hot(evidence: Evidence) -> Iterator[Violation]:
    sim = evidence.sim
    for member, times in evidence.armed.most_common(1):
        if times > MOST_ARMED + sim.sql.away_ms / ARMED_AGAIN_MS:
            yield "ARMED-AGAIN-AND-AGAIN", f"{member}: {times} times"
    if evidence.triggers > MOST_TRIGGERS:
        yield "TOO-MANY-TRIGGERS", str(evidence.triggers)


def _s(moment: float) -> str:
    return f"{(moment - START_MS) / 1_000:.3f}"
