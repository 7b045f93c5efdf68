"""A question to a part that may be away or frozen, asked so that nobody waits longer than he wants."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Told = TypeVar("Told")


class Probe(Generic[Told]):
    """Asks one part, one question at a time: a frozen part holds one thread, not one a look."""

    def __init__(self, question: Callable[[], Told]) -> None:
        self._question = question
        self._lock = threading.Lock()
        self._asking: Future[Told] | None = None

    def ask(self) -> "Future[Told]":
        """Return the answer to come: of the question under way, else of a new one."""
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
