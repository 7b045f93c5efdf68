"""The broker in memory: it passes each message to its taker at once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.slicing import TriggerOrder


def _to_nobody(*_: object) -> None:
    """Lose a message."""


@dataclass(slots=True)
class MemoryBroker:
    """The takers of messages set `take_chunk`, `take_trigger` and so on. `count_waiting` says how many chunks wait."""

    take_chunk: Callable[[Chunk], object] = field(default=_to_nobody)
    take_trigger: Callable[[TriggerOrder], object] = field(default=_to_nobody)
    take_follow: Callable[[], object] = field(default=_to_nobody)
    take_controls: Callable[[], object] = field(default=_to_nobody)
    take_feed_lanes: Callable[[], object] = field(default=_to_nobody)
    count_waiting: Callable[[int], int] = field(default=lambda _queue: 0)

    def warm_up(self) -> None:
        pass

    def ping(self) -> None:
        pass

    def send_chunk(self, chunk: Chunk) -> None:
        self.take_chunk(chunk)

    def send_trigger(self, order: TriggerOrder) -> None:
        self.take_trigger(order)

    def send_follow(self) -> None:
        self.take_follow()

    def send_feed_lanes(self) -> None:
        self.take_feed_lanes()

    def send_apply_controls(self) -> None:
        self.take_controls()

    def waiting_chunks(self, queue: int = 0) -> int:
        return self.count_waiting(queue)
