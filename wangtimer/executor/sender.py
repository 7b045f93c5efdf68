"""The sender: hands calls to the delivery engine, and what ended them to the settler."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wangtimer.callback import Call, Delivery, Reply
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.errors import UnopenedSecrets
from wangtimer.core.flow.dead_letter import HOST_DISABLED, NOT_MADE
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.call_options import AS_DEPLOYED
from wangtimer.executor.attempt import Attempt
from wangtimer.executor.claim import Held
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.puller import lanes_of
from wangtimer.executor.quarantine import ALONE_AFTER, DIED_ALONE, Quarantine, Quarantined
from wangtimer.executor.ready import Ready
from wangtimer.executor.reply_reader import ReplyReader
from wangtimer.executor.request_maker import RequestMaker
from wangtimer.executor.settler import Finished, Settler
from wangtimer.executor.waits import Waits

# The error on record of a firing whose host is disabled.
HOST_DISABLED_ERROR = (
    "not called: the host failed for days and is disabled until it answers, or somebody enables it"
)

NONE_PAUSED: Mapping[Member, SharedLane] = {}


class Sent(NamedTuple):
    """How many of a part were handed to the engine, `to_other_host` of them to call another target than their lane's.

    `unmade`: members for which no request could be made, and why; `unopened`: those whose secrets could not be opened.
    """

    calls: int
    to_other_host: int
    unmade: dict[Member, str]
    unopened: dict[Member, str]


class Sender:
    """Sends members that are surely still held; members on which two executors died go alone."""

    def __init__(
        self,
        engine: Delivery,
        keeper: Keeper,
        settler: Settler,
        quarantine: Quarantine,
        waits: Waits,
        request_maker: RequestMaker,
        reply_reader: ReplyReader,
        disabled_hosts: DisabledHosts,
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._settler = settler
        self._quarantine = quarantine
        self._waits = waits
        self._requests = request_maker
        self._replies = reply_reader
        self._disabled_hosts = disabled_hosts
        # What each attempt asks in the engine's thread.
        self.may_send = keeper.may_send
        self.pause_of = waits.pause_of
        self.move = waits.move
        self.signed_anew = request_maker.signed_anew

    def send(
        self,
        ready: Sequence[Ready],
        deaths: Mapping[Member, int],
        paused: Mapping[Member, SharedLane] = NONE_PAUSED,
    ) -> Sent:
        """Submit what is ready; a member on which an executor died while it ran alone is recorded as failed.

        `paused` were found paused, so overlap was not asked about them: they go into these lanes, though the pause may
        have ended. All are of one claim. Members that another part is now responsible for are handed on. Raises
        `EngineStopped`: then the engine has none of these.
        """
        if not ready:
            return Sent(0, 0, {}, {})
        claim = ready[0].held.claim
        has_permits = claim.has_permits
        calls: list[Attempt] = []
        quarantined = []
        unmade: dict[Member, str] = {}
        unopened: dict[Member, str] = {}
        lanes_behind: dict[WayKey, SharedLane | None] = {}
        may_wait = bool(paused) or self._waits.are_any
        are_any_disabled = self._disabled_hosts.are_any
        for firing in ready:
            died = deaths.get(firing.held.member, 0)
            if died >= DIED_ALONE:
                self.fail(
                    firing.held,
                    firing.due_at,
                    "each executor that ran it died, the last of them while it ran alone",
                    firing.bucket,
                    place=firing.order.where.place,
                )
                continue
            # A lane may be far behind, and most of an app's firings go there: no request is made for them.
            lane = paused.get(firing.held.member) if may_wait else None
            if lane is None and may_wait:
                lane = self.pause_of(firing.held, firing.order.app, firing.order.where.host)
            disabled = self._disabled_for(firing) if are_any_disabled and lane is None else None
            if disabled is not None:
                if not self._disabled_hosts.may_try(disabled):
                    self._fail_unasked(firing)
                    continue
            elif lane is None and may_wait and died < ALONE_AFTER:
                lane = self._waits.behind(firing, lanes_behind)
            if lane is not None:
                self.move(firing.held, lane, firing.due_at)
                continue
            try:
                attempt = self._attempt(firing)
            except UnopenedSecrets as error:
                unopened[firing.held.member] = str(error)
                continue
            except Exception as error:
                unmade[firing.held.member] = reason_of("no request can be made of it", error)
                continue
            if attempt is None:
                continue
            if died >= ALONE_AFTER:
                quarantined.append(Quarantined(firing.held, attempt))
            else:
                if has_permits:
                    attempt.permits = claim.take_permit()
                calls.append(attempt)
        self._engine.submit(calls)
        claim.hand_on([call.held.member for call in calls])
        if quarantined:
            self._quarantine.take(quarantined)
            claim.hand_on([alone.held.member for alone in quarantined])
        to_other_host = 0
        if isinstance(claim.stands_in, SharedLane):
            requests = [(call.held, call.request) for call in calls]
            to_other_host = sum(
                _leads_to_other_host(held, request.host, request.app, request.part)
                for held, request in requests
            )
        return Sent(len(calls) + len(quarantined), to_other_host, unmade, unopened)

    def _disabled_for(self, ready: Ready) -> HostKey | None:
        return self._disabled_hosts.held_by(ready.order.where.way)

    def stop(self, timeout_s: float) -> list[Call]:
        """Let calls under way end; return those not sent. Then nothing more is sent."""
        return self._engine.stop(timeout_s)

    def settle_all(self) -> None:
        """Record what has ended."""
        self._settler.settle_all()

    def ask_again(self, attempt: Attempt) -> None:
        """Send a member whose lease may be over, if a renewal shows that it is still held; let a paused one wait."""
        lane = self.pause_of(attempt.held, attempt.request.app, attempt.request.host)
        if lane is not None:
            self.move(attempt.held, lane, attempt.due_at_ms)
        elif attempt.held.claim.holds(attempt.held.member):
            self._keeper.ask(attempt.held, if_mine=lambda: self._engine.submit([attempt]))

    def take(self, attempt: Attempt, reply: Reply) -> None:
        """Queue the outcome to be recorded, and tell the puller that there may be room."""
        self._settler.take(self._replies.finished(attempt, reply))
        if self._quarantine.tried is attempt.held:
            self._settler.hurry()
        if self._disabled_hosts.are_any:
            self._disabled_hosts.learn(attempt.request.way, reply)
        self._waits.note_ended(attempt.held, attempt.queue, attempt.request)

    def _attempt(self, ready: Ready) -> Attempt | None:
        """Return the call to submit; None where its order makes no valid request: the member has then failed."""
        held, due_at, order, bucket, *_ = ready
        try:
            made = self._requests.make(ready)
        except ValueError as error:
            self.fail(held, due_at, str(error), bucket, place=order.where.place)
            return None
        if order.timeouts != AS_DEPLOYED:
            self._keeper.keep_for(held, due_at, order.timeouts)
        return Attempt(self, held, due_at, bucket, order, self._waits.queue_of(order.app), made)

    def fail(
        self,
        held: Held,
        due_at: int,
        error: str,
        bucket: int,
        reason: str = NOT_MADE,
        host: str = "",
        place: AlertPlace = NOWHERE,
    ) -> None:
        """Queue the outcome "failed", without another attempt; `place` is whose it is, and where it would have gone."""
        self._settler.take(self._replies.failed(held, due_at, error, bucket, reason, host, place))
        held.claim.hand_on([held.member])

    def skip(self, held: Held, reason: str, bucket: int, place: AlertPlace) -> None:
        """Queue the outcome "skipped", for this reason."""
        outcome = Outcome(held.member, bucket, FiringStatus.SKIPPED, held.member.fire_at, error=reason)
        self._settler.take(Finished(held, self._replies.noted(outcome, place)))
        held.claim.hand_on([held.member])

    def _fail_unasked(self, ready: Ready) -> None:
        host, place = ready.order.where.host, ready.order.where.place
        self.fail(ready.held, ready.due_at, HOST_DISABLED_ERROR, ready.bucket, HOST_DISABLED, host, place)


def within_room(ready: Sequence[Ready], most: int) -> tuple[list[Ready], list[Ready]]:
    """Return the members that go now, at most `most` of them to the lane's own target, and those that stay."""
    if len(ready) <= most:
        return list(ready), []
    going: list[Ready] = []
    staying: list[Ready] = []
    for firing in ready:
        if _leads_to_other_host(
            firing.held, firing.order.where.host, firing.order.app, firing.order.where.part
        ):
            going.append(firing)
        elif most > 0:
            most -= 1
            going.append(firing)
        else:
            staying.append(firing)
    return going, staying


def _leads_to_other_host(held: Held, host: str, app: str, part: str) -> bool:
    """Tell whether a call leads to another target than its lane's, because the timer's URL has changed since."""
    lane = held.claim.stands_in
    if not isinstance(lane, SharedLane) or lane.paused is not None:
        return False
    here = (*lanes_of(host, app, 0, part), SharedLane.of_way(app, host))
    return lane.in_queue(0) not in here
