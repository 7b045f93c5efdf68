"""The throttle: gets permits for calls to which limits apply, a few milliseconds' calls of a limit in one script.

It sends calls of what is paused to the lanes of their pauses: a pause is a limit that leaves no call.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from uuid import uuid4

import structlog

from wangtimer.base.loop import Loop
from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.permits import PermitOrder, PermitStore
from wangtimer.store.replica import Replica, Replicas

log = structlog.get_logger()

# Calls that ask within this time share one script for each limit.
GATHER_S = 0.003
# How often the rules of operators are read, never for a firing; and the same while no app is limited or paused.
READ_EVERY_S, READ_NONE_EVERY_S = 2.0, 4.0
# The same while this process knows no rules yet: no call is made until then.
READ_FIRST_EVERY_S = 0.5
# A permit is for a call that begins within this: Redis holds it that much longer than a call may take.
BEGINS_WITHIN_S = 1.0

OnPermit = Callable[[PermitAnswer], None]


@dataclass(slots=True)
class Asking:
    """A call that asks for permits, and those that it has by now."""

    app: str
    host: str
    has_waited: bool
    permits: tuple[Permit, ...]
    longest_ms: int
    answer: OnPermit

    def permit_of(self, lane: SharedLane) -> Permit | None:
        """Return its permit of this limit, which may be for a shorter call."""
        return next((permit for permit in self.permits if permit.lane == lane), None)

    def take(self, permit: Permit) -> None:
        """Have this permit, in place of one of the same limit."""
        self.permits = (*(held for held in self.permits if held.lane != permit.lane), permit)


# A limit, and how long the calls may take that ask it together.
AskedLimit = tuple[SharedLane, int]


@dataclass(slots=True)
class Returned:
    """The permits that come back to a limit, `unused` of them unused."""

    names: list[str] = field(default_factory=list)
    unused: int = 0


class Throttle:
    """One thread a process; any thread may use it. It does nothing for calls to which no limit and no pause applies.

    * A call asks one limit after the other, the host's first. Each round of a few ms' calls is one trip. Who is refused
      gives back what it has got by then, so nobody waits for a limit while it holds a permit of another.
    * Until this process has read the rules once, every call counts as limited and gets no permit.
    * Permits that could not be given back, since Redis is away, are given back when it answers, or end by themselves.
    """

    def __init__(
        self,
        permits: PermitStore,
        replicas: Replicas,
        limits_replica: Replica[CallLimits],
        pauses_replica: Replica[Pauses],
        clock: Clock,
    ) -> None:
        self._permits = permits
        self._replicas = replicas
        self._limits = limits_replica
        self._pauses = pauses_replica
        self._clock = clock
        self._read_at = float("-inf")
        self._asked: list[Asking] = []
        self._returned: dict[SharedLane, Returned] = {}
        self._lock = Lock()
        self.loop = Loop("throttle", self.run_once)

    def may_begin(self, app: str, host: str, permits: Sequence[Permit], longest_ms: int) -> bool:
        """Tell whether a call needs no other permits than these; none may while this process knows no rules yet."""
        if not self._replicas.are_known:
            return False
        if not self._limits.known.has_any and not self._pauses.known.names:  # as of most calls
            return True
        is_paused = self._pauses.known.lane_of(app, host) is not None
        return not is_paused and not self._lacking(app, host, permits, longest_ms)

    def is_open(self, app: str, host: str) -> bool:
        """Tell whether no pause holds calls of this app to this host; False while this process knows no rules yet."""
        return self._replicas.are_known and self._pauses.known.lane_of(app, host) is None

    def needs_permits(self, lane: SharedLane) -> bool:
        """Tell whether firings from the lane of a limit need its permits."""
        return not self._replicas.are_known or self.limits.limit_of(lane) is not None

    @property
    def limits(self) -> CallLimits:
        """All limits, as this process last read them; none if it never did."""
        return self._limits.known

    def holds(self, lane: SharedLane) -> bool:
        """Tell whether nothing is to be taken from a lane, since all in it is paused, or the rules are not known."""
        return not self._replicas.are_known or self._pauses.known.hold(lane)

    def ask(
        self,
        app: str,
        host: str,
        has_waited: bool,
        held: tuple[Permit, ...],
        longest_ms: int,
        answer: OnPermit,
    ) -> None:
        """Ask soon for the permits that a call needs beside those held, which are given back if it does not get all.

        While others wait for a limit, only who has waited in a lane gets its permit. What is paused is sent away. A
        permit that is for a shorter call is prolonged.
        """
        with self._lock:
            self._asked.append(Asking(app, host, has_waited, held, longest_ms, answer))
        self.loop.wake()

    def give_back(self, permits: Sequence[Permit], *, is_unused: bool) -> None:
        """Give back permits, soon.

        A used permit is given back to a limit of calls at once only: a rate has counted it for good.
        """
        if self._return(permits, is_unused):
            self.loop.wake()

    def take_all(self, wishes: Mapping[SharedLane, int]) -> dict[SharedLane, tuple[list[Permit], float]]:
        """Return up to so many permits for firings to be pulled now from each of these limits' lanes, in one trip.

        The second of each is in how many seconds the limit on calls a second leaves another one; 0 if it does now. A
        limit that all queues share is counted in the lane of the common queue. Raises `StoreAway`.
        """
        asked = [
            (lane, replace(order, waited=most))
            for lane, most in wishes.items()
            if (order := self._order(lane.in_queue(0))) is not None
        ]
        taken: dict[SharedLane, tuple[list[Permit], float]] = {lane: ([], 0.0) for lane in wishes}
        if asked:
            asked_at = self._clock.monotonic()
            try:
                permitted = self._permits.carry_out([order for _, order in asked])
            except StoreAway:
                self._keep_returned([order for _, order in asked])
                raise
            for (lane, order), given in zip(asked, permitted, strict=True):
                taken[lane] = _permits(given.to_waited, asked_at, order), given.wait_ms / 1_000
        return taken

    @property
    def has_wants(self) -> bool:
        """Whether something is to be asked or given back."""
        return bool(self._asked or self._returned)

    def read_rules(self) -> None:
        """Read the rules; raises `StoreAway`."""
        self._replicas.read()

    def try_to_read_rules(self) -> None:
        """Read the rules; what cannot be read stops nothing, and is read later."""
        try:
            self.read_rules()
        except StoreAway as error:
            log.info("rules_not_read", error=str(error))
        except Exception:
            log.exception("rules_not_read")

    def carry_out(self) -> None:
        """Ask and give back what has gathered; while Redis is away nobody gets an answer but "unknown".

        Each round asks one limit for each call, in one trip: as many rounds as limits apply to a call.
        """
        with self._lock:
            asked, self._asked = self._asked, []
            returned = list(self._returned)
        while asked or returned:
            together: defaultdict[AskedLimit, list[Asking]] = defaultdict(list)
            for asking in asked:
                lane = self._next_lane(asking)
                if lane is not None:
                    together[lane, asking.longest_ms].append(asking)
            lanes = {lane for lane, _ in together}
            asked = self._ask_round(together, [lane for lane in returned if lane not in lanes])
            returned = []

    def _next_lane(self, asking: Asking) -> SharedLane | None:
        """Return the lane of the limit to be asked for this call next; answer it if there is none."""
        if not self._replicas.are_known:
            self._refuse(asking, None)
            return None
        paused_in = self._pauses.known.lane_of(asking.app, asking.host)
        if paused_in is not None:
            self._refuse(asking, paused_in)
            return None
        lacking = self._lacking(asking.app, asking.host, asking.permits, asking.longest_ms)
        if not lacking:
            asking.answer(asking.permits)
            return None
        return lacking[0]

    def _ask_round(
        self, together: Mapping[AskedLimit, list[Asking]], returned: Sequence[SharedLane]
    ) -> list[Asking]:
        """Ask each of these limits, and give back to those of `returned`; return the calls that got a permit."""
        orders = []
        for lane, longest_ms in (*together, *((lane, 0) for lane in returned)):
            order, asked = self._order(lane), together.get((lane, longest_ms), ())
            if order is not None:
                held = [permit.name for asking in asked if (permit := asking.permit_of(lane)) is not None]
                new = [asking.has_waited for asking in asked if asking.permit_of(lane) is None]
                orders.append(
                    replace(
                        order,
                        waited=sum(new),
                        fresh=len(new) - sum(new),
                        longest_ms=longest_ms,
                        prolonged=tuple(held),
                    )
                )
        if not orders:
            return []
        asked_at = self._clock.monotonic()
        try:
            permitted = self._permits.carry_out(orders)
        except Exception as error:
            for asked in together.values():
                for asking in asked:
                    self._refuse(asking, None)
            if isinstance(error, StoreAway):
                log.info("no_permits_without_redis", limits=len(orders), error=str(error))
                self._keep_returned(orders)
                return []
            raise
        served: list[Asking] = []
        for order, given in zip(orders, permitted, strict=True):
            to_waited = _permits(given.to_waited, asked_at, order)
            to_fresh = _permits(given.to_fresh, asked_at, order)
            for asking in together.get((order.lane, order.longest_ms), ()):
                mine, shorter = to_waited if asking.has_waited else to_fresh, asking.permit_of(order.lane)
                if shorter is not None:
                    asking.take(shorter._replace(longest_ms=order.longest_ms))
                    served.append(asking)
                elif mine:
                    asking.take(mine.pop(0))
                    served.append(asking)
                else:
                    self._refuse(asking, order.lane)
        return served

    def _keep_returned(self, orders: Sequence[PermitOrder]) -> None:
        """Give these permits back once more, when Redis answers: those of long calls would last for many minutes.

        Their part of a second is not given back again: the order may have been carried out.
        """
        with self._lock:
            for order in orders:
                if order.back and order.limit.at_once is not None:
                    self._returned.setdefault(order.lane, Returned()).names.extend(order.back)

    def _refuse(self, asking: Asking, answer: SharedLane | None) -> None:
        """Answer a call that does not get all its permits, and give back those that it has."""
        self.give_back(asking.permits, is_unused=True)
        asking.answer(answer)

    def _lacking(self, app: str, host: str, permits: Sequence[Permit], longest_ms: int) -> list[SharedLane]:
        """Return the limits of which a call has no permit for so long; a rate alone asks nobody how long."""
        held = {
            permit.lane
            for permit in permits
            if permit.longest_ms >= longest_ms or not self._counts_at_once(permit.lane)
        }
        return [lane for lane in self.limits.lanes_of(app, host) if lane not in held]

    def _counts_at_once(self, lane: SharedLane) -> bool:
        limit = self.limits.limit_of(lane)
        return limit is not None and limit.at_once is not None

    def _return(self, permits: Sequence[Permit], is_unused: bool) -> bool:
        """Note what comes back; tell whether somebody counts some of it."""
        is_any = False
        for permit in permits:
            limit = self.limits.limit_of(permit.lane)
            if limit is None or (limit.at_once is None and not is_unused):
                continue
            is_any = True
            with self._lock:
                returned = self._returned.setdefault(permit.lane, Returned())
                returned.names.append(permit.name)
                returned.unused += is_unused
        return is_any

    def _order(self, lane: SharedLane) -> PermitOrder | None:
        """Return an order for a limit that gives back what comes back to it; None where the limit is gone."""
        with self._lock:
            back = self._returned.pop(lane, Returned())
        limit = self.limits.limit_of(lane)
        if limit is None:
            return None
        return PermitOrder(lane, limit, uuid4().hex, back=tuple(back.names), unused=back.unused)

    def run_once(self) -> float:
        """Ask and give back what has gathered; read the rules when it is time. Return in how many seconds it is again.

        Until the rules are known, who asks waits for the next reading of them.
        """
        if self.has_wants and self._replicas.are_known:
            self._clock.sleep(GATHER_S)
            self.carry_out()
        if self._clock.monotonic() >= self._next_read_at:
            self._read_at = self._clock.monotonic()
            self.try_to_read_rules()
            self.carry_out()
        return max(0.0, self._next_read_at - self._clock.monotonic())

    @property
    def _next_read_at(self) -> float:
        if not self._replicas.are_known:
            return self._read_at + READ_FIRST_EVERY_S
        is_any = self.limits.has_any or self._pauses.known.names
        return self._read_at + (READ_EVERY_S if is_any else READ_NONE_EVERY_S)


def _permits(names: Iterable[str], asked_at: float, order: PermitOrder) -> list[Permit]:
    return [Permit(name, asked_at + BEGINS_WITHIN_S, order.lane, order.longest_ms) for name in names]
