"""When a consumer connects again after its connection ended."""

import threading
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from wangtimer.client import Consumer, consumer
from wangtimer.client.consumer import FIRST_PAUSE_S, LONGEST_PAUSE_S

CONNECTIONS = 9


class Pauses(threading.Event):
    """An event that notes how long it would be waited for, and is set after the last."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        if len(self.seconds) == CONNECTIONS:
            self.set()
        return self.is_set()


class Quiet(Consumer):
    """Its connections bring no firing, and last so long, s."""

    lasts_s = 0.0
    now_s = 0.0

    def _events(self) -> Iterator[Mapping[str, Any]]:
        self.now_s += self.lasts_s
        yield from ()


@pytest.mark.parametrize(
    ("lasts_s", "last_pause_s"), [(0.0, LONGEST_PAUSE_S), (LONGEST_PAUSE_S + 1, FIRST_PAUSE_S)]
)
def test_only_connections_that_end_soon_are_made_ever_more_slowly(
    monkeypatch: pytest.MonkeyPatch, lasts_s: float, last_pause_s: float
) -> None:
    quiet = Quiet("http://127.0.0.1:1", "work", lambda _call: None, key="")
    quiet.lasts_s = lasts_s
    quiet._is_stopping = pauses = Pauses()
    monkeypatch.setattr(consumer, "time", SimpleNamespace(monotonic=lambda: quiet.now_s))
    monkeypatch.setattr(consumer, "random", SimpleNamespace(uniform=lambda *_: 1.0))
    quiet._read_for_ever()
    assert pauses.seconds[0] == FIRST_PAUSE_S
    assert pauses.seconds[-1] == last_pause_s
