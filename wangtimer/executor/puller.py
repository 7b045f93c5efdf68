"""The puller: takes firings out of lanes as this process has room for them."""

from collections.abc import Callable, Sequence
from threading import Event, Thread

import structlog

from wangtimer.callback.permits import Permit
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import MARGIN_S, Claim, Claims, Fired
from wangtimer.executor.throttle import Throttle
from wangtimer.store.redis.lanes import LaneStore, Pulled
from wangtimer.store.redis.slices import GRACE_S, Taken

log = structlog.get_logger()

# How often every lane of the index is looked at: firings may wait for a process that died, or be other processes'.
LOOK_EVERY_S = 1.0
# The same, after a look found no lane and while this process sends nobody to one: another process may have died.
LOOK_IN_VAIN_EVERY_S = 3.0
LANES_A_LOOK = 1_000
# While this process has no room, a look only takes back leases that ran out and sees who waits: that has time.
LOOK_WITHOUT_ROOM_EVERY_S = 3.0
# The pause after a call of a lane ended: more calls end within it.
GATHER_S = 0.005
MOST_A_PULL = 1_000
# When a lane is so far behind, firings go to it as soon as they are claimed; else only those without room do.
BEHIND_MS = 1_000

# How often a lane is pulled whose app may make so many calls a second: the rate stores up those of twice this time.
RATE_EVERY_S = 0.05

# A limit that leaves no call, and says not when, is asked again after `RATE_EVERY_S`, then after twice that, up to
# this: permits may be on their way back, or be another process'.
ASK_IN_VAIN_EVERY_S = 0.8

# So many permits are taken at least, as more firings may wait by now than at the last pull.
FEW_PERMITS = 10

FireClaimed = Callable[[Claim, Chunk, Sequence[Taken], int], Fired]


class Puller:
    """One thread a process, however many lanes there are."""

    def __init__(
        self,
        lanes: LaneStore,
        claims: Claims,
        room_in: Callable[[SharedLane], int],
        clock: Clock,
        timeout_ms: int,
        seconds_since_reconnect: Callable[[], float],
        send_feed_lanes: Callable[[], None],
        throttle: Throttle,
    ) -> None:
        self._lanes = lanes
        self._claims = claims
        self._room_in = room_in
        self._clock = clock
        self._longest_s = timeout_ms / 1_000 + MARGIN_S
        self._seconds_since_reconnect = seconds_since_reconnect
        self._send_feed_lanes = send_feed_lanes
        self._throttle = throttle
        self._known: dict[SharedLane, int | None] = {}
        self._freed: dict[SharedLane, None] = {}
        # When the limit of a lane's app may leave the next call, s of the stop-watch.
        self._again_at: dict[SharedLane, float] = {}
        # The next pause of a lane whose limit left no call.
        self._pauses_s: dict[SharedLane, float] = {}
        self._most: dict[SharedLane, int] = {}
        # How many firings a limit's lane had at the last pull.
        self._crowds: dict[SharedLane, int] = {}
        self._looked_up_to = ""
        self._looked_at: dict[SharedLane, float] = {}
        self._expects_until = float("-inf")
        self._wake = Event()
        self._is_stopped = False
        self._fire: FireClaimed

    def start(self, fire: FireClaimed) -> None:
        """Begin to pull, until the process ends; `fire` sends what was pulled."""
        self.fire_by(fire)
        Thread(target=self._run, name="puller", daemon=True).start()

    def fire_by(self, fire: FireClaimed) -> None:
        """Set the function that sends what was pulled."""
        self._fire = fire

    def stop(self) -> None:
        """Pull nothing any more: this process ends."""
        self._is_stopped = True

    def is_behind(self, lane: SharedLane) -> bool:
        """Tell whether firings in a lane were due `BEHIND_MS` ago or longer, as far as this process knows."""
        first = self._known.get(lane)
        return first is not None and first < self._clock.now_ms() - BEHIND_MS

    def expect(self) -> None:
        """Learn that this process sends a firing to a lane, which is in the index soon; quick, from any thread."""
        was_idle = self.rest_s > LOOK_EVERY_S
        # The first look may come before the lane is in the index.
        self._expects_until = self._clock.monotonic() + 2 * LOOK_EVERY_S
        if was_idle:
            self._wake.set()

    @property
    def rest_s(self) -> float:
        """How long after a look the next one comes."""
        is_quiet = not self._known and self._clock.monotonic() >= self._expects_until
        return LOOK_IN_VAIN_EVERY_S if is_quiet else LOOK_EVERY_S

    def note_ended(self, host: str, app: str) -> None:
        """Learn that a call ended, so that there may be room; quick, from the engine's thread."""
        if self._known:
            for lane in lanes_of(host, app):
                if lane in self._known:
                    self._pauses_s.pop(lane, None)
                    self._pull_soon(lane)

    @property
    def has_freed(self) -> bool:
        """Whether some lane is to be pulled before the next look."""
        return bool(self._freed) or self._next_rate_at <= self._clock.monotonic()

    @property
    def _next_rate_at(self) -> float:
        return min(self._again_at.values(), default=float("inf"))

    def look(self) -> None:
        """Pull from every lane of the index, so many at a time; raises `StoreAway`."""
        index = self._lanes.index()
        self._known = {lane: self._known.get(lane) for lane in index}
        self._most = {lane: most for lane, most in self._most.items() if lane in index}
        self._looked_at = {lane: at for lane, at in self._looked_at.items() if lane in index}
        self._again_at = {lane: at for lane, at in self._again_at.items() if lane in index}
        self._pauses_s = {lane: pause_s for lane, pause_s in self._pauses_s.items() if lane in index}
        self._crowds = {lane: number for lane, number in self._crowds.items() if lane in index}
        in_order = sorted(index, key=lambda lane: (lane.key <= self._looked_up_to, lane.key))
        for lane in in_order[:LANES_A_LOOK]:
            self._looked_up_to = lane.key  # first, so that one bad lane holds up no other for ever
            if self._is_to_wait(lane):
                continue
            self._freed.pop(lane, None)
            pulled = self._pull(lane)
            if pulled is not None and pulled.is_empty:
                self._lanes.forget(lane, index[lane])
                self._known.pop(lane, None)

    def pull_freed(self) -> None:
        """Pull from lanes that may have room since a call ended, or by their limit, or whose first were not wanted.

        Raises `StoreAway`.
        """
        now = self._clock.monotonic()
        for lane in [lane for lane, at in self._again_at.items() if at <= now]:
            del self._again_at[lane]
            self._freed[lane] = None
        for lane in list(self._freed):
            self._freed.pop(lane, None)
            if self._room_in(lane) > 0:
                self._pull(lane, is_look=False)

    def _is_to_wait(self, lane: SharedLane) -> bool:
        """Tell whether a look would be in vain: firings wait, there is no room, and this process looked lately.

        A lane in which nothing waits is looked at, to be struck out.
        """
        if self._known.get(lane) is None:
            return False
        looked_at = self._looked_at.get(lane, float("-inf"))
        is_lately = self._clock.monotonic() - looked_at < LOOK_WITHOUT_ROOM_EVERY_S
        return is_lately and self._room_in(lane) <= 0

    def _pull_soon(self, lane: SharedLane) -> None:
        self._freed[lane] = None
        self._wake.set()

    def _pull(self, lane: SharedLane, is_look: bool = True) -> Pulled | None:
        """Take and send as many as there is room for; take more at a time while the firings are not wanted.

        Where a limit leaves no call, only a look pulls: to take leases back, and to see who waits.
        """
        room = 0 if self._is_stopped else self._room_in(lane)
        permits = self._permits_for(lane, min(room, MOST_A_PULL))
        if permits == [] and not is_look:
            return None
        self._looked_at[lane] = self._clock.monotonic()
        try:
            return self._pull_with(permits, lane, room if permits is None else len(permits))
        finally:
            self._give_back(lane, permits or [])

    def _permits_for(self, lane: SharedLane, most: int) -> list[Permit] | None:
        """Return the permits that the limit of the lane's app leaves for so many; None if it has no limit.

        Few are taken for a lane in which few wait: others' calls would be refused until the rest is given back.
        """
        app = lane.limited_app
        self._again_at.pop(lane, None)
        if app is None or not self._throttle.is_limited(app):
            return None
        if most <= 0:
            return []
        permits, wait_s = self._throttle.take(app, min(most, max(FEW_PERMITS, 2 * self._crowds.get(lane, 0))))
        self._ask_again(lane, wait_s, is_in_vain=not permits)
        return permits

    def _ask_again(self, lane: SharedLane, wait_s: float, *, is_in_vain: bool) -> None:
        """Set when the limit is asked again, unless it leaves another call now."""
        pause_s = self._pauses_s.pop(lane, RATE_EVERY_S)
        if wait_s:
            self._again_at[lane] = self._clock.monotonic() + max(RATE_EVERY_S, wait_s)
        elif is_in_vain:
            self._again_at[lane] = self._clock.monotonic() + pause_s
            self._pauses_s[lane] = min(2 * pause_s, ASK_IN_VAIN_EVERY_S)

    def _give_back(self, lane: SharedLane, permits: list[Permit]) -> None:
        app = lane.limited_app
        if app is not None and permits:
            self._throttle.give_back_all(app, permits)

    def _pull_with(self, permits: list[Permit] | None, lane: SharedLane, room: int) -> Pulled:
        """Pull as many as there is room for. Permits that go with the calls are taken out of the list."""
        most = min(MOST_A_PULL, max(room, self._most.get(lane, 0))) if room > 0 else 0
        if most > 0 and not self._claims.take_room(most, lambda: True, 0.0):
            most = 0
        claim_id = self._claims.new_id()
        pulled, sent_at = None, self._clock.monotonic()
        try:
            pulled = self._pulled(lane, claim_id, most)
        finally:
            self._claims.give_room(most - (len(pulled.taken) if pulled else 0))
        self._known[lane] = pulled.next_at
        if permits is not None:
            self._crowds[lane] = pulled.waiting + len(pulled.taken)
        if pulled.next_at is None:
            self._again_at.pop(lane, None)
        if pulled.taken:
            members = (one.member for one in pulled.taken)
            until = sent_at + self._longest_s
            claim = Claim(lane, claim_id, members, sent_at, until, self._claims.give_room, permits or ())
            self._claims.add(claim)
            try:
                fired = self._fire(claim, Chunk(lane, pulled.dues), pulled.taken, room)
            finally:
                if permits is not None:
                    permits[:] = claim.take_permits()
            self._go_on(lane, len(pulled.taken), fired)
        if pulled.is_to_be_fed:
            self._send_feed_lanes()
        return pulled

    def _go_on(self, lane: SharedLane, taken: int, fired: Fired) -> None:
        """Pull again at once if some firings were not wanted, or called another target: no call of this lane will end.

        Firings that were put off are no reason: while SQL is away that would put off the whole lane.
        """
        self._most.pop(lane, None)
        if fired.waits_since is not None:
            self._known[lane] = min(fired.waits_since, self._known[lane] or fired.waits_since)
        sent_here = fired.sent - fired.elsewhere
        if sent_here + fired.waiting + fired.put_off < taken:
            self._pull_soon(lane)
            if not sent_here:
                self._most[lane] = 2 * taken

    def _pulled(self, lane: SharedLane, claim_id: str, most: int) -> Pulled:
        keep_leases = self._seconds_since_reconnect() < GRACE_S
        try:
            return self._lanes.pull(lane, claim_id, most, keep_leases)
        except StoreAway as error:
            log.warning("pull_failed", lane=lane.key, error=str(error))
        return self._lanes.pull(lane, claim_id, most, keep_leases, is_again=True)

    def _run(self) -> None:
        looked_at = float("-inf")
        while not self._is_stopped:
            next_at = min(looked_at + self.rest_s, self._next_rate_at)
            self._wake.wait(max(0.0, next_at - self._clock.monotonic()))
            is_time_to_look = self._clock.monotonic() >= looked_at + self.rest_s
            try:
                if is_time_to_look:
                    try:
                        self.look()
                    finally:
                        looked_at = self._clock.monotonic()
                else:
                    self._clock.sleep(GATHER_S)
                    self._wake.clear()
                    self.pull_freed()
            except StoreAway as error:
                log.info("lanes_not_pulled", error=str(error))
            except Exception:
                log.exception("puller_stumbled")


def lanes_of(host: str, app: str) -> tuple[SharedLane, SharedLane, SharedLane]:
    """Return the lanes in which a call of this app to this host may wait."""
    return SharedLane.of_host(host), SharedLane.of_app(app), SharedLane.of_limit(app)
