"""Health: is this process alive, do SQL, store and broker answer, and does somebody look for what is due?"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Generic, TypeVar

from flask import Response
from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.http.api_models import Answer, ErrorAnswer, Sent, send
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import asking_nothing
from wangtimer.api.http.request_context import present_caller
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.errors import StoreAway
from wangtimer.window.scheduler import LOOK_AHEAD_MS
from wangtimer.wiring import Wiring

Value = TypeVar("Value")


class Probe(Generic[Value]):
    """Asks one part, one question at a time: a frozen part holds one thread in all, not one per request."""

    def __init__(self, question: Callable[[], Value]) -> None:
        self._question = question
        self._lock = threading.Lock()
        self._asking: Future[Value] | None = None

    def ask(self) -> "Future[Value]":
        """Return the future answer to the question under way, or else to a new one."""
        with self._lock:
            if self._asking is None or self._asking.done():
                self._asking = Future()
                threading.Thread(target=self._run, args=(self._asking,), name="probe", daemon=True).start()
            return self._asking

    def _run(self, answer: "Future[Value]") -> None:
        try:
            told = self._question()
        except Exception as error:
            answer.set_exception(error)
        else:
            answer.set_result(told)


# s; beat ticks each second. As long as a worker that is started anew, or a standby, may take.
MOST_S = 10.0


class LastTick:
    """When the scheduler last looked, as Redis has it.

    A Redis that was just emptied has no mark: what this process saw last counts then, or when it was started.
    """

    def __init__(self, wiring: Callable[[], Wiring]) -> None:
        self._wiring = wiring
        self._seen_at: float | None = None

    def seconds_since(self) -> float:
        """Return how long ago that was. Raises `StoreAway`."""
        wiring = self._wiring()
        now, until = wiring.clock.monotonic(), wiring.agenda.looked_until()
        if until is not None:
            since = max(0.0, (wiring.clock.now_ms() - (until - LOOK_AHEAD_MS)) / 1_000)
            self._seen_at = now - since
        elif self._seen_at is None:
            self._seen_at = now
        return now - self._seen_at


# A load balancer's own time-out is seldom shorter.
READY_WITHIN_S = 2.0
TICKS = "ticks"
NO_TICKS = "ready, but nothing is fired: no tick has come for 10 s; look at beat and scheduler"


class PartHealth(Sent):
    """Whether one part answers, and its error if not: shown to keys with the scope `metrics:read`."""

    ok: bool
    error: str = ""


class PartsHealth(Sent):
    """The parts without which no timer can be made, and `ticks`, without which none is fired.

    `ticks` is not ok once no beat and scheduler have looked for 10 s. The API takes timers all the same, and is ready.
    """

    sql: PartHealth
    store: PartHealth
    broker: PartHealth
    ticks: PartHealth


class ReadyAnswer(Answer):
    """Whether this process can serve."""

    data: PartsHealth


class HealthViews:
    """The two probes for an operator's tools."""

    def __init__(self, wiring: Callable[[], Wiring], within_s: float = READY_WITHIN_S) -> None:
        self._within_s = within_s
        self._probes = {
            "sql": Probe(lambda: wiring().check_sql()),
            "store": Probe(lambda: wiring().check_store()),
            "broker": Probe(lambda: wiring().check_broker()),
        }
        self._ticks = Probe(LastTick(wiring).seconds_since)

    def alive(self) -> Response:
        """Tell that this process is alive. No other part is asked."""
        return send(Answer())

    def ready(self) -> Response:
        """Tell whether SQL, store and broker answer: 503 unless each does within two seconds. Ticks are told beside."""
        asked = {name: probe.ask() for name, probe in self._probes.items()}
        ticked = self._ticks.ask()
        everything: list[Future[Any]] = [*asked.values(), ticked]
        wait(everything, self._within_s)
        health = {name: self._health(answer) for name, answer in asked.items()}
        health[TICKS] = self._health_of_ticks(ticked)
        if not present_caller().may(Scope.METRICS_READ):
            # Errors have addresses in them.
            health = {name: part.model_copy(update={"error": ""}) for name, part in health.items()}
        return _answer(health)

    def _health_of_ticks(self, answer: Future[float]) -> PartHealth:
        health = self._health(answer)
        if not health.ok or answer.result() <= MOST_S:
            return health
        return PartHealth(
            ok=False,
            error=f"nobody has looked for what is due for {answer.result():.0f} s; look at beat and scheduler",
        )

    def _health(self, answer: Future[Any]) -> PartHealth:
        if not answer.done():
            return PartHealth(ok=False, error=f"no answer within {self._within_s:g} s")
        error = answer.exception()
        if error is None:
            return PartHealth(ok=True)
        return PartHealth(
            ok=False, error=str(error) if isinstance(error, StoreAway) else type(error).__name__
        )


def health_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of health."""
    views = HealthViews(wiring)
    routes = APIBlueprint("health", __name__, abp_tags=[{"name": "health"}])
    alive: dict[str | int, Any] = {200: Answer, 400: ErrorAnswer, 500: ErrorAnswer}
    ready: dict[str | int, Any] = {
        200: ReadyAnswer,
        400: ErrorAnswer,
        500: ErrorAnswer,
        503: ReadyAnswer,
    }
    routes.get(
        "/healthz",
        operation_id="isAlive",
        summary="Is this process alive?",
        description="It answers without asking any other part.",
        responses=alive,
    )(asking_nothing(views.alive))
    routes.get(
        "/readyz",
        operation_id="isReady",
        summary="Can this process serve?",
        description="Whether SQL, store and broker answer: 503 unless each does within two seconds. `ticks` is not ok "
        "where nothing has been fired for 10 s because no beat and scheduler run; the API takes timers all the same.",
        responses=ready,
    )(asking_nothing(views.ready))
    return routes


def _answer(health: Mapping[str, PartHealth]) -> Response:
    parts = PartsHealth(**health)
    away = [name for name, part in health.items() if not part.ok and name != TICKS]
    if not away:
        return send(ReadyAnswer(msg="" if parts.ticks.ok else NO_TICKS, data=parts))
    code = ErrorCode.NOT_READY
    msg = f"request: {', '.join(away)} not ready; data has the answer of each part"
    return send(ReadyAnswer(code=code.number, msg=msg, data=parts), code.status)
