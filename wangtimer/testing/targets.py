"""What targets are asked, and how they answer: as the test sets it, 200 by default."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

from wangtimer.testing.doubles import ScriptedAnswer

STATUSES = range(200, 600)
NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One attempt of one firing; moments are in the zone of its `WangTimer`.

    `key`        the timer's key (its name under the compatible paths), as it was when the call was made
    `app`        the app of the timer; `timer_id` is the timer's id
    `firing_id`  the header `webhook-id`: the same for every attempt of a firing
    `fire_at`    the scheduled moment; `at` is when this attempt was made
    `lateness`   how late: a first attempt after its moment, a later one after the end of its pause
    `attempt`    1 for the first
    `headers`    those of the timer's target and the service's own; the case of names does not matter
    `body`       as text; "" for none
    """

    key: str
    app: str
    timer_id: int
    firing_id: str
    fire_at: datetime
    at: datetime
    lateness: timedelta
    attempt: int
    method: str
    url: str
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body read as JSON; raises ValueError where it is not JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """A target's HTTP answer: its status, the text of its body, and how long after the request it comes.

    `retry_after` is the header of that name, seconds or an HTTP date, in an answer 429 or 503; `location` that of a
    redirect, `control` the header X-WangTimer-Control in an answer 2xx.

    An answer after more than the call's time-out counts as none: that is the timer's `target.timeout`, else the
    service's `callback_timeout` (10 s by default). Raises ValueError for a status outside 200 to 599 or a negative
    `after`.
    """

    status: int = 200
    body: str = ""
    after: timedelta = NO_TIME
    retry_after: str = ""
    location: str = ""
    control: str = ""

    def __post_init__(self) -> None:
        """Refuse an impossible answer."""
        if not isinstance(self.status, int) or self.status not in STATUSES:
            raise ValueError(f"a target cannot answer {self.status!r}; write a status from 200 to 599")
        if self.after < NO_TIME:
            raise ValueError(
                f"an answer cannot come {self.after} after its request; write a span of time from 0 on"
            )


# A status, an answer, or the error of the connection.
TargetOutcome = int | Answer | OSError | type[OSError]
# How targets may be set to answer; a function may also return None, which is 200.
Behaviour = TargetOutcome | Callable[[MadeCall], "TargetOutcome | None"]


class Targets:
    """The behaviours of targets. The last one that matches a URL counts."""

    def __init__(self) -> None:
        self._said: list[tuple[str, Behaviour]] = []

    def say(self, behaviour: Behaviour, url: str) -> None:
        """Set the behaviour of targets whose URL begins with `url`; raises TypeError, ValueError."""
        if not isinstance(behaviour, type) and callable(behaviour):
            self._said.insert(0, (url, behaviour))
            return
        _scripted(behaviour)
        self._said.insert(0, (url, behaviour))

    def answer(self, call: MadeCall) -> ScriptedAnswer:
        """Return the answer of the call's target; raises any error but `OSError` that a function raises."""
        behaviour = next((said for url, said in self._said if call.url.startswith(url)), 200)
        if isinstance(behaviour, type) or not callable(behaviour):
            return _scripted(behaviour)
        try:
            found = behaviour(call)
        except OSError as error:
            found = error
        return _scripted(200 if found is None else found)


def _told(answer: Answer) -> str:
    if answer.status < 300:
        return answer.control
    return answer.location if answer.status < 400 else answer.retry_after


def _scripted(outcome: object) -> ScriptedAnswer:
    if isinstance(outcome, Answer):
        after_ms = outcome.after / timedelta(milliseconds=1)
        header = _told(outcome)
        return ScriptedAnswer(outcome.status, outcome.body, after_ms, told=header)
    if isinstance(outcome, int) and not isinstance(outcome, bool):
        return _scripted(Answer(outcome))
    if isinstance(outcome, type) and issubclass(outcome, OSError):
        return _scripted(outcome())
    if isinstance(outcome, TimeoutError):
        return ScriptedAnswer(None, after_ms=inf)
    if isinstance(outcome, OSError):
        was_sent = not isinstance(outcome, ConnectionRefusedError)
        error = str(outcome) or type(outcome).__name__
        return ScriptedAnswer(None, after_ms=0.0, error=error, was_sent=was_sent)
    raise TypeError(
        f"a target cannot answer {outcome!r}; write a status such as 503, Answer(503, body=...), ConnectionError, "
        "TimeoutError, or a function of the call that returns one of these"
    )
