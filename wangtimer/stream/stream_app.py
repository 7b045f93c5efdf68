"""The stream as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from weakref import WeakValueDictionary

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from wangtimer import VERSION
from wangtimer.api.document import errors_page
from wangtimer.api.http.browser_rules import SECURITY_HEADERS
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.failures import Fault
from wangtimer.api.v1.problems import CODES_PAGE
from wangtimer.core.errors import WangTimerError
from wangtimer.stream.door import Door
from wangtimer.stream.events_endpoint import EventsEndpoint
from wangtimer.stream.problems import crowded, fault_response, problem_response
from wangtimer.stream.stream import Stream, StreamBounds
from wangtimer.stream.stream_document import stream_document
from wangtimer.stream.stream_redis import StreamRedis
from wangtimer.stream.words import VERBS, Desk, read_words
from wangtimer.wiring import Wiring

# A thousand words, each with an error of some length.
MOST_BODY_BYTES = 1_048_576
# Bodies that are being read, and s that one may take: nobody holds the memory of more.
MOST_BODIES = 64
# Of them of one app.
MOST_BODIES_OF_APP = 8
BODY_S = 30.0
SLOW_BODY = f"the body did not arrive within {BODY_S:.0f} s; send less at once"


def stream_of(wiring: Wiring, door: Door) -> Stream:
    """Return the work of a process; nothing is opened yet."""
    s = wiring.settings
    bounds = StreamBounds(
        s.stream_connections,
        s.stream_connections_per_app,
        s.stream_held_mb * 1_000_000,
        s.stream_slow_s,
    )
    redis = StreamRedis(s.store_url)
    accepted = wiring.accepted_firings
    return Stream(redis, wiring.consumer_lists, wiring.keys, accepted, bounds, door.why_ended)


def create_app(
    wiring: Wiring, abort: Callable[[Scope], None], on_start: Callable[[Stream], None]
) -> Starlette:
    """Return the application; `on_start` gets the stream once it works."""
    door = Door(wiring)
    stream = stream_of(wiring, door)
    bodies = asyncio.Semaphore(MOST_BODIES)
    # Kept while one of an app's bodies is being read.
    bodies_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
    # Anybody may read these, so they are made once.
    errors_html = errors_page.errors_page()
    document = orjson.dumps(stream_document(VERSION))
    # This process has no account of the broker.
    after = replace(wiring.long_work.after, end_overlaps=partial(wiring.overlaps.end, has_broker=False))
    long_work = replace(wiring.long_work, after=after)
    desk = Desk(stream, long_work, wiring.accepted_firings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await stream.start()
        on_start(stream)
        yield
        await stream.stop()

    async def words(request: Request) -> Response:
        try:
            admitted = await stream.at_the_door(door.admit, request)
            verb = request.path_params["verb"]
            if verb not in VERBS:
                return _unknown_path()
            of_app = bodies_of.setdefault(admitted.app, asyncio.Semaphore(MOST_BODIES_OF_APP))
            if of_app.locked():
                return crowded("as many requests of this app are being read as are at once; send it again")
            if bodies.locked():
                return crowded("as many requests are being read as this process reads at once; send it again")
            async with of_app, bodies, asyncio.timeout(BODY_S):
                body = await _body_of(request)
            if body is None:
                return fault_response(
                    Fault(ErrorCode.BODY_TOO_LARGE, "the body is over 1 MiB; send less at once")
                )
            items = await desk.record(admitted.app, verb, read_words(body))
        except WangTimerError as error:
            return problem_response(error)
        except TimeoutError:
            return Response(SLOW_BODY, 408, {"Connection": "close"}, "text/plain")
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        return Response(orjson.dumps({"items": items}), media_type="application/json")

    async def health(_request: Request) -> Response:
        text = {"status": "ok" if stream.is_listening else "Redis is away", "consumers": stream.groups.number}
        return JSONResponse(text, 200 if stream.is_listening else 503)

    async def errors(_request: Request) -> Response:
        """Explain the codes here too: clients resolve a problem's `type` against the address that they called."""
        headers = dict(SECURITY_HEADERS) | {"Content-Security-Policy": errors_page.POLICY}
        return HTMLResponse(errors_html, headers=headers)

    async def described(_request: Request) -> Response:
        return Response(document, headers=dict(SECURITY_HEADERS), media_type="application/json")

    return Starlette(
        routes=[
            Route(CODES_PAGE, errors, methods=["GET"]),
            Route("/openapi.json", described, methods=["GET"]),
            # Proxies lead this path to the stream, and `/openapi.json` to the API.
            Route("/v1/consumers/openapi.json", described, methods=["GET"]),
            Route("/v1/consumers/{group}/events", EventsEndpoint(stream, door, abort), methods=["GET"]),
            Route("/v1/consumers/{group}:{verb}", words, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http, Exception: _fault},
    )


async def _body_of(request: Request) -> bytes | None:
    """Return the whole body; None where it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY_BYTES:
            return None
    return body


def _http(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == 405:
        fault = Fault(
            ErrorCode.WRONG_METHOD, "not a method of this path; the Allow header names those it has"
        )
        return fault_response(fault, dict(error.headers or {}))
    return _unknown_path()


def _unknown_path() -> Response:
    text = "there is nothing at this path; the stream has /v1/consumers/{group}/events and its words"
    return fault_response(Fault(ErrorCode.UNKNOWN_PATH, text))


def _fault(_request: Request, _error: Exception) -> Response:
    return fault_response(Fault(ErrorCode.INTERNAL, "a fault of the service; its log says which"))
