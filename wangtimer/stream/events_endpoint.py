"""GET /v1/consumers/{group}/events: a consumer's connection, which lasts."""

from collections.abc import Callable

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused, shown
from wangtimer.core.errors import WangTimerError
from wangtimer.core.messages.consumer_group import GROUP_CHARACTERS, ConsumerGroup, is_group
from wangtimer.stream.consumer import Consumer, closing_text
from wangtimer.stream.door import Admitted, Door
from wangtimer.stream.problems import crowded, problem_response
from wangtimer.stream.stream import Stream

log = structlog.get_logger()

USUAL_WINDOW, MOST_WINDOW = 10, 1_000
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # nginx would keep events back.
    (b"x-accel-buffering", b"no"),
]


class EventsEndpoint:
    """`abort` breaks off the connection of a scope: to one that reads nothing not even the end can be written."""

    def __init__(self, stream: Stream, door: Door, abort: Callable[[Scope], None]) -> None:
        self._stream = stream
        self._door = door
        self._abort = abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        request = Request(scope, receive)
        try:
            admitted = await self._stream.at_the_door(self._door.admit, request)
            group, window = _asked(request, admitted)
        except WangTimerError as error:
            await problem_response(error)(scope, receive, send)
            return
        if (refusal := self._refusal(admitted.app)) is not None:
            await refusal(scope, receive, send)
            return
        await self._serve(Consumer(group, window, admitted.key_id), scope, receive, send)

    def _refusal(self, app: str) -> Response | None:
        groups, bounds = self._stream.groups, self._stream.bounds
        if self._stream.is_stopping:
            return crowded("this process stops; connect again")
        if groups.number >= bounds.connections:
            return crowded("as many consumers are connected as this process takes; connect again in 5 s")
        if groups.connected[app] >= bounds.connections_per_app:
            return crowded(
                f"app {app!r} has as many consumers connected here as it may; close some, and connect again"
            )
        return None

    async def _serve(self, consumer: Consumer, scope: Scope, receive: Receive, send: Send) -> None:
        self._stream.join(consumer)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            consumer.say_nothing()  # so that the head is sent, and who waits for it knows
            await consumer.serve(send, receive, self._stream.bounds.slow_s)
            text = closing_text(consumer.why_over)
            await send({"type": "http.response.body", "body": text, "more_body": False})
        except TimeoutError:
            log.info("consumer_reads_nothing", app=consumer.group.app, group=consumer.group.name)
            consumer.end("the consumer reads nothing")
            self._abort(scope)
        finally:
            await self._stream.leave(consumer)


def _asked(request: Request, admitted: Admitted) -> tuple[ConsumerGroup, int]:
    """Return what is asked for; raises `Refused`."""
    name = request.path_params["group"]
    if not is_group(name):
        reason = f"{shown(name)} is no name of a group"
        mend = f"write {GROUP_CHARACTERS} letters, digits, _ . and - at most"
        raise Refused(ErrorCode.BAD_VALUE, "group", reason, mend, part=Part.PATH)
    unknown = sorted(set(request.query_params) - {"window"})
    if unknown:
        mend = "window is the only parameter"
        raise Refused(ErrorCode.UNKNOWN_FIELD, unknown[0][:64], "unknown field", mend, part=Part.QUERY)
    text = request.query_params.get("window", str(USUAL_WINDOW))
    if not (text.isascii() and text.isdecimal() and len(text) <= 4 and 1 <= int(text) <= MOST_WINDOW):
        mend = f"write 1 to {MOST_WINDOW}"
        raise Refused(ErrorCode.BAD_VALUE, "window", f"it is {shown(text)}", mend, part=Part.QUERY)
    return ConsumerGroup(admitted.app, name), int(text)
