"""The called service: notes what arrives and when, and answers as the test says."""

from collections.abc import Callable
from dataclasses import dataclass

from wangtimer.callback import Request
from wangtimer.testing.doubles import ScriptedAnswer as Answer

__all__ = ["Answer", "Arrival", "ScriptedTarget"]


@dataclass(frozen=True)
class Arrival:
    """One request, as the target saw it; moments in ms UTC."""

    at_ms: float
    request: Request
    process: str

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.request.headers)

    @property
    def firing_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def timer_id(self) -> int:
        return int(self.headers["X-WangTimer-Timer"])

    @property
    def fire_at(self) -> int:
        return int(self.headers["X-WangTimer-Fire-At"])

    @property
    def attempt(self) -> int:
        return int(self.headers["X-WangTimer-Attempt"])

    @property
    def late_ms(self) -> float:
        return self.at_ms - self.fire_at


class ScriptedTarget:
    """`answer` may be replaced by the test."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.answer: Callable[[Arrival], Answer] = lambda _arrival: Answer()

    def take(self, arrival: Arrival) -> Answer:
        self.arrivals.append(arrival)
        return self.answer(arrival)

    def of(self, timer_id: int) -> list[Arrival]:
        """Return what arrived for one timer."""
        return [arrival for arrival in self.arrivals if arrival.timer_id == timer_id]

    def moments(self, timer_id: int) -> list[int]:
        """Return the scheduled moments that arrived for one timer, in the order of their arrival."""
        return [arrival.fire_at for arrival in self.of(timer_id)]
