"""The asker: asks SQL for the present definitions when Redis was last told of changes too long ago."""

from collections import deque
from collections.abc import Callable, Iterable
from threading import Event

import structlog

from wangtimer.base.loop import Loop
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Definition
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

Definitions = dict[int, Definition]

# How long to wait for an answer: a chunk is claimed at least half a second before its moment.
PATIENCE_S = 0.25
# After SQL did not answer in time it is not asked for so long, so that not each chunk waits for it.
REST_S = 2.0


class Question:
    """The definitions a chunk has, and SQL's present ones; `answer` is None where SQL does not answer."""

    def __init__(self, held: Definitions) -> None:
        self.held = held
        self.answer: Definitions | None = None
        self.is_answered = Event()
        self.is_given_up = False


class Asker:
    """One thread asks, with one statement for all that wait: SQL that hangs makes no firing late.

    `also` is called before the answer, with the definitions: it may ask for more that may be old.
    """

    def __init__(
        self,
        timers: TimerStore,
        clock: Clock,
        also: Callable[[Iterable[Definition]], object],
    ) -> None:
        self._timers = timers
        self._clock = clock
        self._also = also
        self._questions: deque[Question] = deque()
        self._rests_until = float("-inf")
        # There is hardly ever a question: the first one starts it.
        self._loop = Loop("asker", self._answer_all)

    def ask(self, held: Definitions) -> Definitions | None:
        """Return these definitions as SQL has them now, without those it does not know; None if it does not answer."""
        if not held or self._clock.monotonic() < self._rests_until:
            return None
        question = Question(held)
        self._questions.append(question)
        self._loop.start()
        self._loop.wake()
        question.is_answered.wait(PATIENCE_S)
        if question.answer is None:
            question.is_given_up = True
            self._rests_until = self._clock.monotonic() + REST_S
            log.warning("definitions_may_be_old", timers=len(held))
        return question.answer

    def _answer_all(self) -> None:
        waiting = [self._questions.popleft() for _ in range(len(self._questions))]
        questions = [question for question in waiting if not question.is_given_up]
        held: Definitions = {}
        for question in questions:
            held |= question.held
        if not held:
            return
        try:
            current = self._current(held)
            self._also(current.values())
            for question in questions:
                question.answer = {
                    timer_id: current[timer_id] for timer_id in question.held if timer_id in current
                }
        except Exception as error:
            log.warning("definitions_not_asked", error=repr(error))
        finally:
            for question in questions:
                question.is_answered.set()

    def _current(self, held: Definitions) -> Definitions:
        versions = self._timers.versions(set(held))
        newer = {timer_id for timer_id, version in versions.items() if version > held[timer_id].version}
        current = {timer_id: held[timer_id] for timer_id in versions}
        return current | (self._timers.definitions(newer) if newer else {})
