"""Calls that remember what became of them, and the clocks they run by."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition

from tests.patience import patience
from wangtimer.callback import Call, DeliveryEngine, Egress, Limits, Reply, Request, Tls
from wangtimer.callback.permits import Permit, Permits
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK, EgressRules, OwnServer, read_egress
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import AS_DEPLOYED, Timeouts
from wangtimer.testing.doubles import NoLimits


def egress_of(rules: str = PUBLIC_AND_LOOPBACK, *own_servers: OwnServer) -> Egress:
    """Return a judge by these rules: targets of tests are on loopback."""
    return Egress(EgressRules(read_egress(rules), own_servers))


def engine_of(
    clock: Clock | None = None,
    egress: Egress | None = None,
    limits: Limits | None = None,
    name_servers: Sequence[str] = (),
    permits: Permits | None = None,
    tls: Tls | None = None,
) -> DeliveryEngine:
    """Return an engine that was not started; what is not given is as deployed, without limits of calls."""
    return DeliveryEngine(
        clock or MachineClock(),
        egress or egress_of(),
        limits or Limits(),
        name_servers,
        permits or NoLimits(),
        tls or Tls(""),
    )


class MachineClock:
    """This machine's own time."""

    def now_ms(self) -> float:
        return time.time() * 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ClockByHand(MachineClock):
    """Moments move by hand only; costs and time-outs are real."""

    def __init__(self, now_ms: float) -> None:
        self.at_ms = now_ms

    def now_ms(self) -> float:
        return self.at_ms


@dataclass(slots=True, eq=False)
class PlainCall:
    """A call whose listeners are handed in."""

    request: Request
    due_at_ms: float
    may_send: Callable[[], bool]
    on_held_back: Callable[[Call], None]
    on_reply: Callable[[Call, Reply], None]
    on_no_room: Callable[[Call, SharedLane], None] = lambda _call, _lane: None
    timeouts: Timeouts = AS_DEPLOYED
    permits: tuple[Permit, ...] = ()
    is_written: bool = False
    has_waited: bool = False
    is_counted: bool = True

    def on_written(self) -> None:
        self.is_written = True


class Outcomes:
    """Makes calls and records how each ended."""

    def __init__(self) -> None:
        self.replies: list[tuple[Call, Reply]] = []
        self.held_back: list[Call] = []
        self.without_room: list[SharedLane] = []
        self._changed = Condition()

    def call(
        self,
        url: str,
        due_at_ms: float = 0,
        *,
        method: str = "POST",
        headers: tuple[tuple[str, str], ...] = (),
        body: bytes = b"{}",
        app: str = "app",
        may_send: Callable[[], bool] = lambda: True,
        timeout_ms: int | None = None,
        timeouts: Timeouts = AS_DEPLOYED,
    ) -> "PlainCall":
        request = Request(url, method, headers, body, app=app)
        return PlainCall(
            request,
            due_at_ms,
            may_send,
            self._add_held_back,
            self._add_reply,
            self._add_without_room,
            timeouts if timeout_ms is None else Timeouts(timeout_ms),
        )

    def wait(self, number: int = 1, timeout_s: float = 8) -> list[Reply]:
        """Return the replies, in order, once there are `number` ends."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.ends >= number, timeout_s * patience())
        assert came, f"{self.ends} of {number} calls ended"
        return [reply for _, reply in self.replies]

    @property
    def ends(self) -> int:
        return len(self.replies) + len(self.held_back) + len(self.without_room)

    def _add_reply(self, call: Call, reply: Reply) -> None:
        with self._changed:
            self.replies.append((call, reply))
            self._changed.notify_all()

    def _add_without_room(self, _call: Call, lane: SharedLane) -> None:
        with self._changed:
            self.without_room.append(lane)
            self._changed.notify_all()

    def _add_held_back(self, call: Call) -> None:
        with self._changed:
            self.held_back.append(call)
            self._changed.notify_all()
