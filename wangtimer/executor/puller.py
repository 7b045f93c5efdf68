"""The puller: takes firings out of lanes as this process has room for them."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import structlog

from wangtimer.base.loop import Loop
from wangtimer.callback.permits import Permit
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.slicing import SharedLane, SliceOrLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import MARGIN_S, Batch, Claim, Claims, Fired
from wangtimer.executor.lane_limits import LaneLimits
from wangtimer.executor.lane_reader import LaneReader
from wangtimer.executor.lane_turns import LaneTurns
from wangtimer.executor.throttle import Throttle
from wangtimer.store.redis.lanes import Pulled, PullOrder

log = structlog.get_logger()

# How often every lane of the index is looked at: firings may wait for a process that died, or be other processes'.
LOOK_EVERY_S = 1.0
# The same, after a look found no lane and while this process sends nobody to one: another process may have died.
LOOK_IN_VAIN_EVERY_S = 4.0
# Hosts with their app whose lanes this process keeps at hand.
LANES_KEPT = 4_096
# While this process has no room, a look only takes back leases that ran out and sees who waits: that has time.
LOOK_WITHOUT_ROOM_EVERY_S = 3.0
# The pause after a call of a lane ended: more calls end within it.
GATHER_S = 0.005
# The pause after a lane that failed: the others wait no longer for it.
PAUSE_S = 0.05
MOST_A_PULL = 1_000
# When a lane is so far behind, firings go to it as soon as they are claimed; else only those without room do.
BEHIND_MS = 1_000

# Lanes that one trip pulls at most.
LANES_A_TRIP = 100
# Another app's lane waits for a trip until its turn comes: after one that took longer, half as many lanes send in one.
LONGEST_TRIP_S = 0.2
# The lane whose room is that of the whole process.
_OF_ALL = SharedLane.of_pause("all")

FirePulled = Callable[[Sequence[Batch]], Sequence[Fired]]


class Puller:
    """One thread a process, however many lanes there are.

    A look, and the end of a call, put lanes in line. They are pulled many in one trip, and apps take turns: what comes
    in line meanwhile waits for one trip, and not for all that stand there. `is_mine` tells whether this process takes
    the firings of a lane's queue; lanes of other queues are left alone. `known` are the lanes of the last look, which
    may be behind, with when the first of each was due (ms UTC).
    """

    def __init__(
        self,
        lane_reader: LaneReader,
        claims: Claims,
        room_in: Callable[[SharedLane], int],
        clock: Clock,
        callback_timeout_ms: int,
        send_feed_lanes: Callable[[], None],
        throttle: Throttle,
    ) -> None:
        self._claims = claims
        self._room_in = room_in
        self._clock = clock
        self._longest_s = callback_timeout_ms / 1_000 + MARGIN_S
        self._reader = lane_reader
        self._send_feed_lanes = send_feed_lanes
        self._throttle = throttle
        self._limits = LaneLimits(throttle, clock)
        self.known: dict[SharedLane, int | None] = {}
        # Lanes that may have room; any thread adds some.
        self._freed: dict[SharedLane, None] = {}
        self._turns = LaneTurns()
        # Lanes in line from which something is to be pulled even without room, with their tokens in the index.
        self._looks: dict[SharedLane, str] = {}
        # How many lanes may send in one trip.
        self._most_sending = 1
        self._most: dict[SharedLane, int] = {}
        self._last_look_at = float("-inf")
        self._looked_at: dict[SharedLane, float] = {}
        self._expects_until = float("-inf")
        self._is_stopped = False
        self._fire: FirePulled
        self.loop = Loop("puller", self.look_or_pull, pause_s=PAUSE_S)

    def fire_by(self, fire: FirePulled) -> None:
        """Set the function that sends what was pulled."""
        self._fire = fire

    def stop(self) -> None:
        """Pull nothing any more: this process ends."""
        self._is_stopped = True

    def give_permits_back(self) -> None:
        """Give back now what calls have left, since this process ends; what fails ends by itself."""
        try:
            self._throttle.carry_out()
        except Exception:
            log.exception("permits_not_given_back")

    def is_behind(self, lane: SharedLane) -> bool:
        """Tell whether firings in a lane were due `BEHIND_MS` ago or longer, as far as this process knows."""
        first = self.known.get(lane)
        return first is not None and first < self._clock.now_ms() - BEHIND_MS

    def expect(self) -> None:
        """Learn that this process sends a firing to a lane, which is in the index soon; quick, from any thread."""
        was_idle = self.rest_s > LOOK_EVERY_S
        # The first look may come before the lane is in the index.
        self._expects_until = self._clock.monotonic() + 2 * LOOK_EVERY_S
        if was_idle:
            self.loop.wake()

    @property
    def rest_s(self) -> float:
        """How long after a look the next one comes."""
        is_quiet = not self.known and self._clock.monotonic() >= self._expects_until
        return LOOK_IN_VAIN_EVERY_S if is_quiet else LOOK_EVERY_S

    def note_ended(
        self, host: str, app: str, stood_in: SliceOrLane | None = None, queue: int = 0, part: str = ""
    ) -> None:
        """Learn that a call ended, so that there may be room; quick, from the engine's thread."""
        if self.known:
            lanes = _lanes_with_room(host, app, queue, part)
            if isinstance(stood_in, SharedLane) and stood_in not in lanes:
                lanes = (*lanes, stood_in)
            for lane in lanes:
                if lane in self.known:
                    self._limits.note_ended(lane)
                    self._pull_soon(lane)

    def note_unused(self, lane: SharedLane) -> None:
        """Learn that a firing of a limit's lane could not use its permit: another one may; quick, from any thread.

        The lane of a host is pulled at once, so that its other apps' calls go. That of an app waits a little: else each
        would find the permit that it lacks taken by the other, again and again.
        """
        if lane not in self.known:
            return
        if lane.limited_host is not None:
            self._pull_soon(lane)
        else:
            self._limits.note_unused(lane)
            self.loop.wake()

    @property
    def has_lanes_to_pull(self) -> bool:
        """Whether some lane is to be pulled before the next look."""
        return bool(self._turns or self._freed) or self._limits.next_at <= self._clock.monotonic()

    def look_or_pull(self) -> float | None:
        """Look if it is time, then pull from the lanes whose turn it is. Return in how many seconds it is time again.

        Raises `StoreAway`.
        """
        if self._is_stopped:
            return None
        if self._clock.monotonic() >= self._last_look_at + self.rest_s:
            try:
                self.look()
            finally:
                self._last_look_at = self._clock.monotonic()
        elif self.has_lanes_to_pull and not self._turns:
            self._clock.sleep(GATHER_S)
        self.pull_next()
        if self._turns or self._freed:
            return 0.0
        next_at = min(self._last_look_at + self.rest_s, self._limits.next_at)
        return max(0.0, next_at - self._clock.monotonic())

    def look(self) -> None:
        """Put every lane of the index in line; raises `StoreAway`.

        Where firings wait and this process looked lately, it is pulled only if there is room.
        """
        index = self._reader.index()
        self.known = {lane: self.known.get(lane) for lane in index}
        self._most = {lane: most for lane, most in self._most.items() if lane in index}
        self._looked_at = {lane: at for lane, at in self._looked_at.items() if lane in index}
        self._limits.keep(index)
        lately = self._clock.monotonic() - LOOK_WITHOUT_ROOM_EVERY_S
        for lane, token in index.items():
            # One in which nothing waits is looked at, to be struck out.
            if self.known[lane] is None or self._looked_at.get(lane, lately) <= lately:
                self._looks[lane] = token
            self._turns.add(lane, is_freed=False)

    def pull_next(self) -> None:
        """Pull from lanes in one trip, as their turns come; raises `StoreAway`.

        Of the lanes that may have room by now, those of a limit on calls a second come last.
        """
        freed = list(self._freed)
        for lane in freed:
            self._freed.pop(lane, None)
        for lane in (*sorted(freed, key=self._limits.has_rate), *self._limits.take_ripe()):
            self._turns.add(lane, is_freed=True)
        began = self._clock.monotonic()
        wishes = self._take_turns()
        if not wishes:
            return
        looks = {lane: token for lane in wishes if (token := self._looks.pop(lane, None)) is not None}
        empty = {}
        for lane, pulled in self._pull(wishes, looks).items():
            if pulled.is_empty and lane in looks:
                empty[lane] = looks[lane]
                self.known.pop(lane, None)
        if empty:
            self._reader.forget(empty)
        self._learn_pace(sum(wish > 0 for wish in wishes.values()), self._clock.monotonic() - began)

    def _learn_pace(self, sending: int, took_s: float) -> None:
        if took_s > LONGEST_TRIP_S:
            self._most_sending = max(1, min(sending, self._most_sending) // 2)
        elif sending and took_s < LONGEST_TRIP_S / 2:
            self._most_sending = min(LANES_A_TRIP, 2 * self._most_sending)

    def _room_for(self, lane: SharedLane) -> int:
        """Return how many firings of the lane could be sent at once; none while an operator paused them."""
        return 0 if self._is_stopped or self._throttle.holds(lane) else self._room_in(lane)

    def _pull_soon(self, lane: SharedLane) -> None:
        self._freed[lane] = None
        self.loop.wake()

    def _pull(
        self, wishes: Mapping[SharedLane, int], looks: Mapping[SharedLane, str]
    ) -> dict[SharedLane, Pulled]:
        """Take and send as many as there is room for; return what was found, lane by lane.

        Where a limit leaves no call, only a look pulls: to take leases back, and to see who waits.
        """
        permits = self._limits.take(wishes)
        try:
            return self._pull_with(
                permits, {lane: wish for lane, wish in wishes.items() if lane in looks or permits[lane] != []}
            )
        finally:
            for left in permits.values():
                self._throttle.give_back(left or (), is_unused=True)

    def _take_turns(self) -> dict[SharedLane, int]:
        """Take the next lanes out of the line; return how many firings to take from each, at least from one.

        As many lanes as can all have what they wish for, since they share the room of their app and of the process.
        The next ones are pulled after these: then it is known how much is left.
        """
        wishes: dict[SharedLane, int] = {}
        left: dict[SharedLane, int] = {}
        held = sending = 0
        for _ in range(LANES_A_TRIP):
            lane = self._turns.first
            if lane is None:
                break
            room = self._room_for(lane)
            if room > 0 or lane in self._looks:
                wish = self._limits.wish(lane, room) if self._limits.count_for(lane) else room
                shared = _shared_by(lane) if wish > 0 else ()
                for sharer in shared:
                    if sharer not in left:
                        left[sharer] = self._room_in(sharer)
                held += self._most_of(lane, wish)
                sending += wish > 0
                if wishes and (held > MOST_A_PULL or any(left[sharer] < wish for sharer in shared)):
                    break
                if sending > self._most_sending and wish > 0:
                    break
                for sharer in shared:
                    left[sharer] -= wish
                wishes[lane] = wish
            self._turns.pop()
        return wishes

    def _pull_with(
        self, permits: Mapping[SharedLane, list[Permit] | None], wishes: Mapping[SharedLane, int]
    ) -> dict[SharedLane, Pulled]:
        """Pull from these lanes in one trip. Permits that go with the calls are taken out of their lists."""
        rooms = {}
        for lane, wish in wishes.items():
            mine = permits[lane]
            rooms[lane] = wish if mine is None else len(mine)
            self._looked_at[lane] = self._clock.monotonic()
        sent_at = self._clock.monotonic()
        pulled = self._reader.pull(
            [
                PullOrder(lane, self._claims.new_id(), self._reader.take_room(self._most_of(lane, room)))
                for lane, room in rooms.items()
            ]
        )
        batches = []
        for order, found in pulled:
            mine = permits[order.lane]
            self._note(order.lane, found, is_limited=mine is not None)
            if found.taken:
                members, until = (entry.member for entry in found.taken), sent_at + self._longest_s
                claim = Claim(
                    order.lane, order.claim_id, members, sent_at, until, self._claims.give_room, mine or ()
                )
                self._claims.add(claim)
                batches.append(
                    Batch(order.lane, claim, Chunk(order.lane, found.dues), found.taken, rooms[order.lane])
                )
        self._send(batches, permits)
        if any(found.is_to_be_fed for _, found in pulled):
            self._send_feed_lanes()
        return {order.lane: found for order, found in pulled}

    def _most_of(self, lane: SharedLane, room: int) -> int:
        """Return how many to pull: as many as there is room for, more while the lane's firings are not wanted."""
        return min(MOST_A_PULL, max(room, self._most.get(lane, 0))) if room > 0 else 0

    def _note(self, lane: SharedLane, pulled: Pulled, *, is_limited: bool) -> None:
        self.known[lane] = pulled.next_at
        if is_limited:
            self._limits.note_pull(lane, len(pulled.taken), pulled.waiting)

    def _send(self, batches: Sequence[Batch], permits: Mapping[SharedLane, list[Permit] | None]) -> None:
        """Send what was pulled. Permits that no call has taken are in their lists again."""
        if not batches:
            return
        try:
            fired = self._fire(batches)
        finally:
            for batch in batches:
                mine = permits[batch.lane]
                if mine is not None:
                    mine[:] = batch.claim.take_permits()
        for batch, what in zip(batches, fired, strict=True):
            self._go_on(batch.lane, len(batch.taken), what)

    def _go_on(self, lane: SharedLane, taken: int, fired: Fired) -> None:
        """Pull again at once if some firings were not wanted, or called another target: no call of this lane will end.

        Firings that were put off are no reason: while SQL is away that would put off the whole lane.
        """
        self._most.pop(lane, None)
        if fired.waits_since is not None:
            self.known[lane] = min(fired.waits_since, self.known[lane] or fired.waits_since)
        sent_here = fired.sent - fired.to_other_host
        if sent_here + fired.waiting + fired.put_off < taken:
            self._pull_soon(lane)
            if not sent_here:
                self._most[lane] = 2 * taken


def _shared_by(lane: SharedLane) -> tuple[SharedLane, ...]:
    """Return the lanes whose room the firings of a lane take part of: that of its app, and that of the process."""
    return (_OF_ALL,) if lane.app is None else (_OF_ALL, SharedLane.of_app(lane.app))


# These are looked at for each call: most of them go to few hosts.
@lru_cache(maxsize=LANES_KEPT)
def lanes_of(host: str, app: str, queue: int = 0, part: str = "") -> tuple[SharedLane, ...]:
    """Return the lanes in which a call of this app, which has this queue, may wait for room or for a limit."""
    return (
        SharedLane.of_way(app, host, part),
        SharedLane.of_app(app),
        SharedLane.of_host_limit(host).in_queue(queue),
        SharedLane.of_app_at_host(app, host),
        SharedLane.of_limit(app),
    )


@lru_cache(maxsize=LANES_KEPT)
def _lanes_with_room(host: str, app: str, queue: int, part: str) -> tuple[SharedLane, ...]:
    """Return the lanes for which there may be room once a call of this app has ended."""
    return (*lanes_of(host, app, queue, part), SharedLane.of_way(app, host))
