"""The sender: hands one call a member to the delivery engine, and turns replies into outcomes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import NamedTuple

from wangtimer.callback import Call, Delivery, Reply, Request
from wangtimer.callback.permits import Permit
from wangtimer.callback.reply import TIME_OVER
from wangtimer.callback.told import retry_after_ms
from wangtimer.core import fail_points
from wangtimer.core.alerts.alert_marks import AlertMarks
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.errors import UnopenedSecrets
from wangtimer.core.fail_points import Step
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.dead_letter import (
    BROKEN_OFF,
    HOST_DISABLED,
    NOT_CONNECTED,
    NOT_MADE,
    NOT_TAKEN,
    REFUSED,
    TIMED_OUT,
    Failure,
    of_status,
)
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.origin import Origin, part_of_path, part_of_target, read_url
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.reply_control import CONTROL, read_control
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.core.messages.message_place import is_message_url
from wangtimer.core.retry import SAY_WHEN, RetryPolicy
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget, form_through
from wangtimer.core.timers.secret_parts import secret_texts, without
from wangtimer.core.timers.timeouts import AS_DEPLOYED, Timeouts
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.claim import MARGIN_S, Held
from wangtimer.executor.disabled_hosts import DisabledHosts
from wangtimer.executor.fire_rule import FireRule
from wangtimer.executor.keeper import Keeper
from wangtimer.executor.mover import Move, Mover
from wangtimer.executor.place_of_call import place_of
from wangtimer.executor.prepare import refuse_unacknowledged, request_of, stamps_of
from wangtimer.executor.puller import Puller, lanes_of
from wangtimer.executor.quarantine import ALONE_AFTER, DIED_ALONE, Quarantine, Quarantined
from wangtimer.executor.settler import Finished, Settler
from wangtimer.executor.shared import CallOf
from wangtimer.messaging.message import Message
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.replica import Replica

# s; a call that waited longer in this process gets a new timestamp and signature. Receivers allow 300, of which most is
# left for clocks that differ. With 1 each call of a burst was signed twice, 18 % of the engine's samples.
OLDEST_TIMESTAMP_S = 30
# The answer of a target that goes on to work.
ACCEPTED = 202
# The error on record of a firing that was answered with 410.
GONE_ERROR = (
    "HTTP 410: gone for good; the timer is disabled if it has moments to come and was not changed since"
)
# The error on record of a firing whose host is disabled.
HOST_DISABLED_ERROR = (
    "not called: the host failed for days and is disabled until it answers, or somebody enables it"
)

NONE_PAUSED: Mapping[Member, SharedLane] = {}


class Ready(NamedTuple):
    """A member to be sent as its definition says, not before `due_at` (ms UTC); `bucket` is its row's.

    `signing` is how its app's calls are signed; `target` is what its definition names, whole; None: none. `continuity`
    is what a numbered timer's call tells; None: it tells nothing.
    """

    held: Held
    due_at: int
    definition: Definition
    bucket: int
    signing: AppSigning
    target: NamedTarget | None = None
    continuity: Continuity | None = None

    @property
    def origin(self) -> Origin:
        """Where the call goes."""
        return origin_of(self.definition, self.target)

    @property
    def host_port(self) -> str:
        """The same, as lanes name it."""
        return self.origin.host_port

    @property
    def part(self) -> str:
        """The part of its host that it calls; a broker has none."""
        if self.target is None:
            url = self.definition.notify.url
            return "" if is_message_url(url) else part_of_path(read_url(url)[1])
        return "" if is_message_url(self.target.call.url) else part_of_target(self.target.name)

    @property
    def way(self) -> WayKey:
        """Its app, and the part of a host whose health its calls show."""
        return self.definition.app, self.origin.key + self.part

    @property
    def place(self) -> AlertPlace:
        """The same, as rules of alerts see it."""
        return place_of(self.definition, self.target)


def origin_of(definition: Definition, target: NamedTarget | None) -> Origin:
    """Return where a timer's calls go."""
    return read_url(definition.notify.url if target is None else target.call.url)[0]


class Sent(NamedTuple):
    """How many of a part were handed to the engine, `elsewhere` of them to call another target than their lane's.

    `unmade`: members for which no request could be made, and why; `unopened`: those whose secrets could not be opened.
    """

    calls: int
    elsewhere: int
    unmade: dict[Member, str]
    unopened: dict[Member, str]


class LanesBehind:
    """Which lanes are behind, and have firings to go first: looked up once for an app and a part of a host."""

    def __init__(self, puller: Puller, queue_of: Callable[[str], int], engine: Delivery) -> None:
        self._puller = puller
        self._queue_of = queue_of
        self._engine = engine
        self._known: dict[WayKey, SharedLane | None] = {}

    def of(self, ready: Ready) -> SharedLane | None:
        """Return the lane in which a member is to wait; None for a member pulled from a lane."""
        if isinstance(ready.held.claim.stands_in, SharedLane):
            return None
        way = ready.way
        if way not in self._known:
            self._known[way] = self._behind(ready, way)
        return self._known[way]

    def _behind(self, ready: Ready, way: WayKey) -> SharedLane | None:
        app, host = way[0], ready.host_port
        lanes = lanes_of(host, app, self._queue_of(app), ready.part)
        behind = next(filter(self._puller.is_behind, lanes), None)
        others = SharedLane.of_way(app, host)
        # Beyond so many parts of a host the others share a lane.
        if behind is None and self._puller.is_behind(others) and self._engine.health_of(way) is None:
            return others
        return behind


class Sender:
    """Sends members that are surely still held; members on which two executors died go alone."""

    def __init__(
        self,
        slices: SliceStore,
        engine: Delivery,
        keeper: Keeper,
        settler: Settler,
        mover: Mover,
        puller: Puller,
        clock: Clock,
        rule: FireRule,
        random: Random,
        call_of: CallOf,
        queue_of: Callable[[str], int],
        note_gone: Callable[[int, tuple[int, int]], None],
        note_control: Callable[[int, str], None],
        ack_token_of: Callable[[Member], str],
        marks: AlertMarks,
        disabled_hosts: DisabledHosts,
        pauses: Replica[Pauses],
        retries: Replica[Mapping[str, RetryPolicy]],
    ) -> None:
        self._ack_token_of = ack_token_of
        self._note_gone = note_gone
        self._note_control = note_control
        self._disabled_hosts = disabled_hosts
        self._pauses = pauses
        self._retries = retries
        self._call_of = call_of
        self._queue_of = queue_of
        self._marks = marks
        self._engine = engine
        self._keeper = keeper
        self._settler = settler
        self._mover = mover
        self._puller = puller
        self._quarantine = Quarantine(slices, engine, clock, self.may_send, 2 * rule.timeout_ms / 1_000)
        self._clock = clock
        self._rule = rule
        self._lease_s = rule.running_lease_ms / 1_000
        self._random = random

    def send(
        self,
        ready: Sequence[Ready],
        deaths: Mapping[Member, int],
        paused: Mapping[Member, SharedLane] = NONE_PAUSED,
    ) -> Sent:
        """Submit what is ready; a member on which an executor died while it ran alone is recorded as failed.

        `paused` were so when overlaps were judged: they were not, and wait in these lanes, whatever is paused by now.
        Members that another part is now responsible for are handed on. Raises `EngineStopped`: then the engine has
        none of these.
        """
        calls, quarantined = [], []
        unmade: dict[Member, str] = {}
        unopened: dict[Member, str] = {}
        behind = LanesBehind(self._puller, self._queue_of, self._engine)
        may_wait = bool(paused) or self.are_any_paused or self._puller.knows_lanes
        for one in ready:
            died = deaths.get(one.held.member, 0)
            if died >= DIED_ALONE:
                self.fail(
                    one.held,
                    one.due_at,
                    "each executor that ran it died, the last of them while it ran alone",
                    one.bucket,
                    place=one.place,
                )
                continue
            # A lane may be far behind, and most of an app's firings go there: no request is made for them.
            app = one.definition.app
            lane = paused.get(one.held.member) if may_wait else None
            if lane is None and may_wait:
                lane = self.pause_of(one.held, app, one.host_port)
            disabled = self._disabled_for(one) if lane is None else None
            if disabled is not None:
                if not self._disabled_hosts.may_try(disabled):
                    self._fail_unasked(one)
                    continue
            elif lane is None and may_wait and died < ALONE_AFTER:
                lane = behind.of(one)
            if lane is not None:
                self.move(one.held, lane, one.due_at)
                continue
            try:
                attempt = self._attempt(one)
            except UnopenedSecrets as error:
                unopened[one.held.member] = str(error)
                continue
            except Exception as error:
                unmade[one.held.member] = reason_of("no request can be made of it", error)
                continue
            if attempt is None:
                continue
            if died >= ALONE_AFTER:
                quarantined.append(Quarantined(one.held, attempt))
            else:
                attempt.permits = one.held.claim.take_permit()
                calls.append(attempt)
        self._engine.submit(calls)
        _hand_on(call.held for call in calls)
        self._quarantine.take(quarantined)
        _hand_on(one.held for one in quarantined)
        elsewhere = sum(
            _leads_elsewhere(one.held, one.request.host, one.request.app, one.request.part) for one in calls
        )
        return Sent(len(calls) + len(quarantined), elsewhere, unmade, unopened)

    def _disabled_for(self, one: Ready) -> HostKey | None:
        disabled = self._disabled_hosts
        return disabled.held_by(one.way) if disabled.are_any else None

    @property
    def are_any_paused(self) -> bool:
        """Whether something is paused."""
        return bool(self._pauses.known.names)

    def may_send(self, held: Held) -> bool:
        """Tell whether the member is held, with a second of its lease surely left."""
        return held.claim.is_safe(held.member, self._clock.monotonic(), self._lease_s)

    def pause_of(self, held: Held, app: str, host: str) -> SharedLane | None:
        """Return the lane in which a member waits until what an operator paused goes on; None if it is not paused."""
        lane = self._pauses.known.lane_of(app, host, held.member.timer_id)
        return None if lane is None else lane.in_queue(self._queue_of(app))

    def ask_again(self, attempt: "Attempt") -> None:
        """Send a member whose lease may be over, if a renewal shows that it is still held; let a paused one wait."""
        lane = attempt.paused_in
        if lane is not None:
            self.move(attempt.held, lane, attempt.due_at_ms)
        elif attempt.held.claim.holds(attempt.held.member):
            self._keeper.ask(attempt.held, if_mine=lambda: self._engine.submit([attempt]))

    def move(self, held: Held, lane: SharedLane, due_at: int) -> None:
        """Move a member without room to a lane, which is one of its queue, outside this process."""
        stood_in = held.claim.stands_in
        if isinstance(stood_in, SharedLane) and stood_in.is_of_limit and lane.is_of_limit:
            self._puller.note_unused(stood_in)
        self._mover.take(Move(held, lane, due_at))
        self._puller.expect()
        _hand_on([held])

    def take(self, attempt: "Attempt", reply: Reply) -> None:
        """Queue the outcome to be recorded, and tell the puller that there may be room."""
        outcome = self.noted(self._outcome(attempt, reply), attempt.place)
        hide = partial(_hidden, attempt.secrets, reply) if attempt.secrets else None
        self._settler.take(Finished(attempt.held, outcome, self._telling(attempt, reply, outcome), hide))
        if self._quarantine.is_trying(attempt.held):
            self._settler.hurry()
        request, stood_in = attempt.request, attempt.held.claim.stands_in
        if self._disabled_hosts.are_any:
            self._disabled_hosts.learn(request.way, reply)
        self._puller.note_ended(request.host, request.app, stood_in, attempt.queue, request.part)

    def _attempt(self, ready: Ready) -> "Attempt | None":
        """Return the call to submit; None where its definition makes no valid request: the member has then failed."""
        held, due_at, definition, bucket, signing, target, continuity = ready
        signs_at = max(due_at, self._clock.now_ms())
        keys, timestamp_s = signing.keys_at(signs_at), int(signs_at // 1_000)
        try:
            call = self._call_of(definition, target)
            form = form_through(target, definition)
            zone = definition.schedule.timezone if form.templates else ""
            timeouts = definition.timeouts if target is None else target.timeouts_of(definition.timeouts)
            token = "" if timeouts.ack_ms is None else self._ack_token_of(held.member)
            if not token:
                refuse_unacknowledged(call.url)
            request = request_of(
                call,
                definition.app,
                held.member,
                keys,
                timestamp_s,
                form,
                zone,
                token,
                timeouts.ack_ms,
                continuity,
                None if target is None else part_of_target(target.name),
            )
        except ValueError as error:
            self.fail(held, due_at, str(error), bucket, place=ready.place)
            return None
        if timeouts != AS_DEPLOYED:
            self._keep_for(held, due_at, timeouts)
        return Attempt(
            self,
            held,
            due_at,
            request,
            bucket,
            timeouts,
            keys,
            timestamp_s,
            definition.keep_output if target is None else target.keep_output_of(definition.keep_output),
            secret_texts(call, form.body_is_base64) if definition.notify.sealed or target is not None else (),
            self._queue_of(definition.app),
            definition.retry if target is None else target.retry_of(definition.retry),
            (definition.version, 0 if target is None else target.version),
            token,
            form.allow_control,
            "" if target is None else target.name,
        )

    def _keep_for(self, held: Held, due_at: int, timeouts: Timeouts) -> None:
        """Renew the lease for as long as a call may take that has time-outs of its own."""
        usual_ms = self._rule.timeout_ms
        waits_ms = max(0.0, due_at - self._clock.now_ms()) + usual_ms
        # Connecting has its part of a call's usual time.
        longest_ms = timeouts.longest_ms(usual_ms, usual_ms)
        held.claim.keep_until(self._clock.monotonic() + (waits_ms + longest_ms) / 1_000 + MARGIN_S)

    def now_s(self) -> int:
        """Return the present second, s UTC."""
        return int(self._clock.now_ms() // 1_000)

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
        now = int(self._clock.now_ms())
        outcome = Outcome(
            held.member,
            bucket,
            FiringStatus.FAILED,
            due_at,
            error=error,
            made_at=now,
            notes=(Failure(reason, host, now).note,),
        )
        self._settler.take(Finished(held, self.noted(outcome, place)))
        _hand_on([held])

    def noted(self, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Return the outcome, marked if the judge of alerts is to see it."""
        return self._marks.noted(outcome, place)

    def _fail_unasked(self, ready: Ready) -> None:
        host, place = ready.host_port, ready.place
        self.fail(ready.held, ready.due_at, HOST_DISABLED_ERROR, ready.bucket, HOST_DISABLED, host, place)

    def _outcome(self, attempt: "Attempt", reply: Reply) -> Outcome:
        member = attempt.held.member
        status, due_at, error = FiringStatus.SUCCEEDED, attempt.due_at_ms, reply.shown_error
        if not reply.succeeded:
            retry = self._retry_of(attempt)
            if retry.is_gone(_whole_status(reply)):
                error = GONE_ERROR
            wait_ms = self._wait_ms(attempt, reply, retry)
            status = FiringStatus.FAILED if wait_ms is None else FiringStatus.PENDING
            due_at = due_at if wait_ms is None else int(self._clock.now_ms()) + wait_ms
        elif attempt.timeouts.ack_ms is not None and attempt.is_accepted_by(reply):
            status, due_at = FiringStatus.ACCEPTED, int(self._clock.now_ms()) + attempt.timeouts.ack_ms
        control = ""
        if reply.told and reply.succeeded and attempt.allows_control:
            control, error = self._control(attempt, reply)
        sent_at = int(reply.sent_at_ms) if reply.was_sent else None
        outcome = Outcome(
            member,
            attempt.bucket,
            status,
            due_at,
            sent_at,
            None if sent_at is None else sent_at - member.fire_at,
            int(reply.cost_ms),
            reply.http_status,
            reply.output if attempt.keep_output.keeps(reply.succeeded) else "",
            error,
            reply.connect_ms,
            reply.first_byte_ms,
            reply.host_failing_ms,
            None if reply.was_sent else int(reply.sent_at_ms),
        )
        if status is FiringStatus.FAILED:
            return outcome.with_note(_failure(attempt.request, reply, self._clock).note)
        return outcome.with_note((CONTROL, control)) if control else outcome

    def _control(self, attempt: "Attempt", reply: Reply) -> tuple[str, str]:
        """Return what an answer makes of its timer, as text, and what is wrong with it; one of both is empty."""
        try:
            now, member = int(self._clock.now_ms()), attempt.held.member
            control = read_control(reply.told, attempt.versions[0], now, member.fire_at).text
        except ValueError as fault:
            return "", str(fault)
        return control, ""

    def _telling(self, attempt: "Attempt", reply: Reply, outcome: Outcome) -> Callable[[], None] | None:
        """Return what is to be told once the outcome has taken effect: what the answer makes of its timer."""
        timer_id = outcome.member.timer_id
        if control := outcome.note(CONTROL):
            return partial(self._note_control, timer_id, control)
        if not reply.succeeded and self._retry_of(attempt).is_gone(_whole_status(reply)):
            return partial(self._note_gone, timer_id, attempt.versions)
        return None

    def _retry_of(self, attempt: "Attempt") -> RetryPolicy:
        """Return the policy of a call. Rules are known here: before, no call begins."""
        return attempt.retry or self._retries.known.get(attempt.request.app) or self._rule.retry

    def _wait_ms(self, attempt: "Attempt", reply: Reply, retry: RetryPolicy) -> int | None:
        """Return how long a failed firing waits for its next attempt; None: there is none."""
        if reply.is_refused:
            return None
        asked_ms = None
        if reply.told and reply.http_status in SAY_WHEN:
            asked_ms = retry_after_ms(reply.told, self._clock.now_ms())
        return retry.wait_ms(attempt.held.member.attempt, self._random, _whole_status(reply), asked_ms)


class Attempt:
    """One member on its way: the engine's call, one object a firing; signed with `keys` as of `timestamp_s`.

    `queue` is the number of its app's queue, `versions` those of its timer and of the target
    that it names (0: none). `retry` None: as its app does, else as the deployment does. `ack_token` is what its target
    acknowledges it by; "": its answer is the outcome. `allows_control`: its answer may change its timer.
    `target`: the name of the one it goes through; "": none.
    """

    __slots__ = (
        "_keys",
        "_sender",
        "_timestamp_s",
        "ack_token",
        "allows_control",
        "bucket",
        "due_at_ms",
        "held",
        "keep_output",
        "permits",
        "queue",
        "request",
        "retry",
        "secrets",
        "target",
        "timeouts",
        "versions",
    )

    def __init__(
        self,
        sender: Sender,
        held: Held,
        due_at_ms: int,
        request: Request,
        bucket: int,
        timeouts: Timeouts,
        keys: Sequence[bytes],
        timestamp_s: int,
        keep_output: KeepOutput,
        secrets: Sequence[str],
        queue: int,
        retry: RetryPolicy | None,
        versions: tuple[int, int],
        ack_token: str,
        allows_control: bool,
        target: str,
    ) -> None:
        self._sender = sender
        self.allows_control = allows_control
        self.target = target
        self.ack_token = ack_token
        self.versions = versions
        self.retry = retry
        self.queue = queue
        self._keys = keys
        self._timestamp_s = timestamp_s
        self.bucket = bucket
        self.held = held
        self.due_at_ms = due_at_ms
        self.request = request
        self.timeouts = timeouts
        self.keep_output = keep_output
        self.secrets = (*secrets, ack_token) if ack_token else secrets
        self.permits: tuple[Permit, ...] = ()

    is_counted = True

    @property
    def has_waited(self) -> bool:
        """Whether it was pulled from a lane."""
        return isinstance(self.held.claim.stands_in, SharedLane)

    @property
    def place(self) -> AlertPlace:
        """Whose it is, and where it goes."""
        return AlertPlace(self.request.app, self.request.host, self.target)

    @property
    def paused_in(self) -> SharedLane | None:
        """The lane in which it waits until what an operator paused goes on; None if it is not paused."""
        return self._sender.pause_of(self.held, self.request.app, self.request.host)

    def is_accepted_by(self, reply: Reply) -> bool:
        """Whether its target is to say later that it is done; who gets a message says nothing else."""
        return bool(self.ack_token) and (isinstance(self.request, Message) or reply.http_status == ACCEPTED)

    def may_send(self) -> bool:
        """Tell whether the member may be sent: its lease surely lasts, and it is not paused.

        A signature that is old by now is made anew.
        """
        fail_points.before(Step.SEND)
        if not self._sender.may_send(self.held) or self.paused_in is not None:
            return False
        if self._keys:
            self._renew_signature()
        return True

    def _renew_signature(self) -> None:
        now_s = self._sender.now_s()
        if now_s > self._timestamp_s + OLDEST_TIMESTAMP_S:
            stamps = stamps_of(self.held.member, self.request.body, self._keys, now_s, self.ack_token)
            self.request = self.request.with_stamps(stamps)
            self._timestamp_s = now_s

    def on_written(self) -> None:
        """Hold its body no longer: an answer may take minutes, and other apps' requests need the room."""
        self.held.claim.empty([self.held.member])
        self.request = self.request.without_body()

    def on_held_back(self, _call: Call) -> None:
        """Check the lease again, then send; or let it wait for a pause to end."""
        self._sender.ask_again(self)

    def on_no_room(self, _call: Call, lane: SharedLane) -> None:
        """Let it wait in a lane."""
        self._sender.move(self.held, lane.in_queue(self.queue), self.due_at_ms)

    def on_reply(self, _call: Call, reply: Reply) -> None:
        """Record its outcome."""
        fail_points.after(Step.SEND)
        self._sender.take(self, reply)


def _whole_status(reply: Reply) -> int | None:
    """Return the status of a whole answer; None where it broke off, for then no answer counts."""
    return None if reply.error else reply.http_status


def _hidden(secrets: Sequence[str], reply: Reply, outcome: Outcome) -> Outcome:
    """Return an outcome without these secrets of its call; its error has some only where it quotes an answer."""
    is_quoted = reply.told or reply.broker is not None
    error = without(secrets, outcome.error) if is_quoted else outcome.error
    return outcome._replace(output=without(secrets, outcome.output), error=error)


def failure_of(reply: Reply) -> str:
    """Return in a word why a call failed."""
    if reply.is_refused:
        return REFUSED
    if reply.broker is not None:
        return NOT_TAKEN
    if not reply.was_sent:
        return NOT_CONNECTED
    if reply.error:
        return TIMED_OUT if reply.error.startswith(TIME_OVER) else BROKEN_OFF
    return BROKEN_OFF if reply.http_status is None else of_status(reply.http_status)


def _failure(request: Request, reply: Reply, clock: Clock) -> Failure:
    """Return how a call failed for good; it names no host where its URL leads nowhere."""
    failed_at = int(clock.now_ms())
    if request.fault:
        return Failure(NOT_MADE, "", failed_at)
    return Failure(failure_of(reply), request.host, failed_at)


def within_room(ready: Sequence[Ready], most: int) -> tuple[list[Ready], list[Ready]]:
    """Return the members that go now, at most `most` of them to the lane's own target, and those that stay."""
    if len(ready) <= most:
        return list(ready), []
    going: list[Ready] = []
    staying: list[Ready] = []
    for one in ready:
        if _leads_elsewhere(one.held, one.host_port, one.definition.app, one.part):
            going.append(one)
        elif most > 0:
            most -= 1
            going.append(one)
        else:
            staying.append(one)
    return going, staying


def _leads_elsewhere(held: Held, host: str, app: str, part: str) -> bool:
    """Tell whether a call leads to another target than its lane's, because the timer's URL has changed since."""
    lane = held.claim.stands_in
    if not isinstance(lane, SharedLane) or lane.paused is not None:
        return False
    here = (*lanes_of(host, app, 0, part), SharedLane.of_way(app, host))
    return lane.in_queue(0) not in here


def _hand_on(held: Iterable[Held]) -> None:
    for claim, member in held:
        claim.hand_on([member])
