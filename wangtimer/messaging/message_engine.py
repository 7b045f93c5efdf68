"""The one thread of a process that sends messages to one broker, each at its exact moment."""

import heapq
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from wangtimer.callback.call import Call, is_allowed
from wangtimer.callback.limits import Limits
from wangtimer.callback.permits import Permits
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import TIME_OVER, BrokerAnswer, Reply
from wangtimer.callback.timed_engine import TimedEngine
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.core.messages.named_broker import NamedBroker
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import AS_DEPLOYED
from wangtimer.messaging.link import Confirm, Link, LinkBroken
from wangtimer.messaging.message import Message

_logger = logging.getLogger(__name__)

# s; from one attempt to connect to the next, whoever wants to send: no storm after an outage.
RECONNECT_S = 1.0
# s; how often an open connection is looked after: heartbeats.
LOOK_AFTER_S = 5.0
# s; a message waits so long for a broker that takes none for now to take it after all.
BLOCKED_PATIENCE_S = 1.0
# Answers on what an app may send where that are remembered: the file is not read again while the process runs.
MOST_JUDGED = 10_000


class _UnderWay(NamedTuple):
    """A message that was sent and is not confirmed; `began` in seconds of the stop-watch, `sent_at` in ms UTC."""

    call: Call
    flow: Flow
    sent_at: float
    began: float


class MessageEngine(TimedEngine):
    """Sends many messages without waiting for each, and tells what the broker says of them.

    * A broker that cannot be reached is tried once a second at most, in one go for all that wait. One that lets the
      attempt time out is left alone for as long again.
    * Once the connection breaks, what was not confirmed has failed: it may have been taken.
    * A message whose own, shorter time-out is over ends alone.
    * A confirm that does not come within the deployment's time-out ends the connection too: nobody knows whether it
      still works.
    * `refusal` tells, before each connection, why there may be none.
    """

    def __init__(
        self,
        broker: NamedBroker,
        link: Link,
        clock: Clock,
        limits: Limits,
        permits: Permits,
        refusal: Callable[[], str] = lambda: "",
    ) -> None:
        self._thread_name = f"broker-{broker.name}"
        super().__init__(clock, limits, permits)
        self._broker = broker
        self._link = link
        self._refusal = refusal
        self._fd: int | None = None
        self._numbers = 0
        self._under_way: dict[int, _UnderWay] = {}
        self._ends: list[tuple[float, int]] = []  # a heap of time-outs
        self._given_up: dict[int, float] = {}  # whose confirm may still come: when they began
        self._held: list[
            tuple[Call, Flow, float]
        ] = []  # wait for a connection, or for the broker; since when
        self._judged: dict[tuple[str, MessagePlace, str], str] = {}
        self._connect_at = 0.0
        self._is_wanted = False  # a message is to come, and may find the connection open
        self._look_after_at = 0.0

    def _prepare(self, call: Call, _in_s: float) -> None:
        """Write the message ahead of the moment, and ask for a connection; what fails then is tried again at it."""
        self._is_wanted = True
        with suppress(ValueError):
            self._link.prepare(_message_of(call))

    def _begin(self, call: Call, flow: Flow, _deadline_at: float) -> None:
        message = _message_of(call)
        why_not = self._why_not(message)
        if why_not:
            # Not for good: the next process may have read another file.
            reply = self._unsent(f"not sent: {why_not}")._replace(broker=BrokerAnswer.REJECTED)
            self._end(call, flow, reply, True)
        elif self._link.is_open and not self._link.why_blocked:
            self._flows.open_wide(flow)
            self._send(call, flow)
        else:
            self._held.append((call, flow, self._clock.monotonic()))

    def _why_not(self, message: Message) -> str:
        asked = (message.app, message.place, "" if message.task is None else message.task.task)
        why_not = self._judged.get(asked)
        if why_not is None:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            why_not = self._broker.why_not(*asked)
            if why_not:
                why_not += f": {_shown(*asked[1:])}, by the file that this process read at its start"
            self._judged[asked] = why_not
        return why_not

    def _send(self, call: Call, flow: Flow) -> None:
        if not self._link.is_open:
            self._held.append((call, flow, self._clock.monotonic()))
            return
        if not is_allowed(call):
            self._end(call, flow, None, True)
            return
        self._numbers += 1
        number, began = self._numbers, self._clock.monotonic()
        sent = self._under_way[number] = _UnderWay(call, flow, self._clock.now_ms(), began)
        try:
            self._link.send(number, _message_of(call))
        except ValueError as error:
            del self._under_way[number]
            reply = self._unsent(f"not sent: {error}")._replace(broker=BrokerAnswer.REJECTED)
            self._end(call, flow, reply, True)
            return
        except LinkBroken as error:
            self._break(error)
            return
        except Exception as error:
            _logger.exception("broker.message_not_sent", extra={"broker": self._broker.name})
            del self._under_way[number]
            reply = self._unsent(f"not sent: {type(error).__name__}")._replace(broker=BrokerAnswer.REJECTED)
            self._end(call, flow, reply, True)
            return
        timeout_ms = call.timeouts.total_ms or self._limits.timeout_ms
        heapq.heappush(self._ends, (sent.began + timeout_ms / 1_000, number))
        if call.timeouts != AS_DEPLOYED:
            call.on_written()

    def _act(self) -> None:
        now = self._clock.monotonic()
        if self._held:
            self._see_to_held(now)
        elif self._is_wanted and not self._link.is_open and now >= self._connect_at:
            with suppress(LinkBroken):
                self._connect()
        try:
            if self._link.is_open:
                self._link.flush()
                for confirm in self._link.confirms():
                    self._take(confirm)
        except LinkBroken as error:
            self._break(error)
        self._look_after_at = now + LOOK_AFTER_S
        self._end_late(self._clock.monotonic())

    def _see_to_held(self, now: float) -> None:
        """Connect for those that wait for it; send them, or let those fail that were tried."""
        if not self._link.is_open and now >= self._connect_at:
            held, self._held = self._held, []
            try:
                self._connect()
            except LinkBroken as error:
                for call, flow, _ in held:
                    self._end(call, flow, self._unsent(f"not sent: {error}"), False)
                return
            self._go_on_with(held)
        elif self._link.is_open and not self._link.why_blocked:
            held, self._held = self._held, []
            self._go_on_with(held)
        elif self._link.is_open:
            over = [held for held in self._held if now - held[2] >= BLOCKED_PATIENCE_S]
            self._held = [held for held in self._held if now - held[2] < BLOCKED_PATIENCE_S]
            why = f"not sent: the broker takes no messages now: {self._link.why_blocked}"
            for call, flow, _ in over:
                reply = self._unsent(why)._replace(broker=BrokerAnswer.TURNED_AWAY)
                self._end(call, flow, reply, False)

    def _go_on_with(self, held: list[tuple[Call, Flow, float]]) -> None:
        for call, flow, _ in held:
            self._flows.open_wide(flow)
            self._send(call, flow)

    def _connect(self) -> None:
        """Connect; raises `LinkBroken`. The next time is after as long as that took, and `RECONNECT_S` at least."""
        began, self._is_wanted = self._clock.monotonic(), False
        try:
            if why_not := self._refusal():
                raise LinkBroken(why_not)
            self._fd = self._link.open()
        finally:
            now = self._clock.monotonic()
            self._connect_at = now + max(RECONNECT_S, now - began)
        if self._fd is not None:
            self._sockets.watch(self._fd, lambda _events: None)

    def _take(self, confirm: Confirm) -> None:
        sent = self._under_way.pop(confirm.number, None)
        if sent is None:
            self._given_up.pop(confirm.number, None)
        else:
            self._end(sent.call, sent.flow, self._reply(sent, confirm.error, confirm.answer), True)

    def _break(self, error: LinkBroken) -> None:
        """Forget the connection; what was under way has failed, but for what the broker has confirmed."""
        self._forget_link()
        for confirm in self._link.confirms():
            self._take(confirm)
        lost, self._under_way, self._ends, self._given_up = self._under_way, {}, [], {}
        if lost:
            _logger.warning(
                "broker.connection_lost", extra={"broker": self._broker.name, "messages": len(lost)}
            )
        for sent in lost.values():
            self._end(
                sent.call, sent.flow, self._reply(sent, f"{error}; it may have been taken", None), False
            )

    def _forget_link(self) -> None:
        if self._fd is not None:
            with suppress(OSError, ValueError, KeyError):
                self._sockets.forget(self._fd)
            self._fd = None
        self._link.close()

    def _end_late(self, now: float) -> None:
        """End messages whose time is over, and the connection where a confirm does not come within ours."""
        while self._ends:
            ends_at, number = self._ends[0]
            sent = self._under_way.get(number)
            began = self._given_up.get(number) if sent is None else sent.began
            if began is not None and ends_at > now:
                return
            heapq.heappop(self._ends)
            if began is None:
                continue
            error = f"{TIME_OVER} {round((now - began) * 1_000)} ms without the broker's confirm"
            broken_at = began + self._limits.timeout_ms / 1_000
            if sent is None or broken_at <= now:
                self._break(LinkBroken(error))
                return
            del self._under_way[number]
            self._given_up[number] = began
            heapq.heappush(self._ends, (broken_at, number))
            self._end(sent.call, sent.flow, self._reply(sent, f"{error}; it may have been taken", None), True)

    def _acts_at(self) -> float:
        until = self._look_after_at if self._link.is_open else float("inf")
        if self._ends:
            until = min(until, self._ends[0][0])
        if self._is_wanted and not self._link.is_open:
            until = min(until, self._connect_at)
        if self._held:
            at = self._held[0][2] + BLOCKED_PATIENCE_S if self._link.is_open else self._connect_at
            until = min(until, at)
        return until

    def _cut_off(self) -> Iterator[tuple[Call, bool]]:
        self._forget_link()
        yield from ((call, True) for call, _, _ in self._held)
        yield from ((sent.call, False) for sent in self._under_way.values())

    def _reply(self, sent: _UnderWay, error: str, answer: BrokerAnswer | None) -> Reply:
        cost_ms = (self._clock.monotonic() - sent.began) * 1_000
        return Reply(sent.sent_at, cost_ms, None, "", error, broker=answer)

    def _unsent(self, error: str) -> Reply:
        return Reply(self._clock.now_ms(), 0.0, None, "", error, was_sent=False)


def _shown(place: MessagePlace, task: str) -> str:
    if place.kind is PlaceKind.EXCHANGE:
        return f"exchange {place.name!r} with routing key {place.routing_key!r}"
    return f"{place.kind} {place.name!r}" + (f", task {task!r}" if task else "")


def _message_of(call: Call) -> Message:
    message = call.request
    assert isinstance(message, Message), "only messages come here"
    return message
