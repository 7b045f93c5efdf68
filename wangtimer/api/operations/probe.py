"""Asks a part that may be away or frozen. The asker waits no longer than it wants to."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Told = TypeVar("Told")


class Probe(Generic[Told]):
    """Asks one part, one question at a time: a frozen part holds one thread in all, not one per request."""

    def __init__(self, question: Callable[[], Told]) -> None:
        self._question = question
        self._lock = threading.Lock()
        self._asking: Future[Told] | None = None

    def ask(self) -> "Future[Told]":
        """Return the future answer to the question under way, or else to a new one."""
        with self._lock:
            if self._asking is None or self._asking.done():
                self._asking = Future()
                threading.Thread(target=self._run, args=(self._asking,), name="probe", daemon=True).start()
            return self._asking

    def _run(self, answer: "Future[Told]") -> None:
        try:
            told = self._question()
        except Exception as error:
            answer.set_exception(error)
        else:
            answer.set_result(told)
