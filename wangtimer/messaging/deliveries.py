"""The ways a firing goes out of a process: over HTTP, or as a message to one of the brokers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from threading import Lock, Thread

from wangtimer.callback import Call, DeliveryEngine, EngineStopped
from wangtimer.callback.health import Health
from wangtimer.callback.timed_engine import TimedEngine
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.core.messages.message_place import broker_host
from wangtimer.messaging.message import Message


class Deliveries:
    """One engine for HTTP and one for each broker, as one. What is for a broker not set up here, HTTP fails."""

    def __init__(self, http: DeliveryEngine, brokers: Mapping[str, TimedEngine]) -> None:
        self._http = http
        self._brokers = dict(brokers)
        self._by_host = {broker_host(name): engine for name, engine in brokers.items()}
        self._engines: list[TimedEngine] = [http, *self._brokers.values()]
        self._submitting = Lock()
        self._is_stopped = False

    def start(self) -> None:
        """Start all of them; once."""
        for engine in self._engines:
            engine.start()

    def submit(self, calls: Iterable[Call]) -> None:
        """Take calls to send at their moments; EngineStopped after `stop`: then none of these was taken."""
        apart: dict[TimedEngine, list[Call]] = defaultdict(list)
        for call in calls:
            apart[self._engine_of(call)].append(call)
        with self._submitting:
            if self._is_stopped:
                raise EngineStopped("the engines are stopped and took none of these calls; put them back")
            for engine, part in apart.items():
                engine.submit(part)

    def stop(self, timeout_s: float) -> list[Call]:
        """Take no more calls; return those not sent, as each engine does; all of them within `timeout_s`."""
        with self._submitting:
            self._is_stopped = True
        left: list[Call] = []
        stopping = [
            Thread(target=lambda engine=engine: left.extend(engine.stop(timeout_s)), daemon=True)
            for engine in self._engines
        ]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        return left

    @property
    def has_calls_waiting(self) -> bool:
        """Whether calls have come due and wait for a place."""
        return any(engine.has_calls_waiting for engine in self._engines)

    def room_in(self, lane: SharedLane) -> int:
        """Return how many more calls of a lane could start at once; of a lane of no one host, as the fullest has."""
        host = lane.host or lane.name
        if host in self._by_host:
            return self._by_host[host].room_in(lane)
        if lane.host:
            return self._http.room_in(lane)
        return min(engine.room_in(lane) for engine in self._engines)

    def failing(self) -> dict[WayKey, Health]:
        """Return the parts of hosts and brokers that are failing now, for an app's calls each."""
        return {key: health for engine in self._engines for key, health in engine.failing().items()}

    def health_of(self, key: WayKey) -> Health | None:
        """Return the health of a part of a host or broker for an app's calls; None if it has none of its own."""
        return next(
            (health for engine in self._engines if (health := engine.health_of(key)) is not None), None
        )

    def _engine_of(self, call: Call) -> TimedEngine:
        message = call.request
        engine = self._by_host.get(message.host) if isinstance(message, Message) else None
        if engine is None:
            return self._http
        message.fault = ""
        return engine
