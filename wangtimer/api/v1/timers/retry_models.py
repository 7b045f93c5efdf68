"""What v1's callers may say of retries, and how they are shown."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field
from pydantic.alias_generators import to_camel

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import bad_value, shown
from wangtimer.api.v1.value_types import (
    GivenDuration,
    Span,
    SpanText,
    duration,
    read_duration_field,
    text_or_none,
)
from wangtimer.api.v1.words_of_targets import ELSEWHERE_THAN_RETRIES, OF_BACKOFFS, OF_RETRIES
from wangtimer.core.retry import (
    LEAST_PAUSE_MS,
    MOST_ATTEMPTS,
    MOST_PAUSES_MS,
    Backoff,
    RetryPolicy,
)
from wangtimer.core.time.durations import show_duration

USUAL = RetryPolicy()
MOST_STATUSES = 30
_STATUS = re.compile(r"[345](?:\d\d|xx)", re.ASCII)


_Statuses = Annotated[list[Annotated[str, Field(max_length=8)]] | None, Field(max_length=MOST_STATUSES)]


class Retry(Given):
    """When a failed call is tried again. What is absent is as usual; in a change it stays, and null makes it usual."""

    example: ClassVar[str] = '{"attempts": 3}'
    words_here: ClassVar[Mapping[str, str]] = OF_RETRIES
    meant_elsewhere: ClassVar[Mapping[str, str]] = ELSEWHERE_THAN_RETRIES
    value_words: ClassVar[Mapping[str, Mapping[str, str]]] = {"backoff": OF_BACKOFFS}

    attempts: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_ATTEMPTS,
            description=f"how often a call is made at most; {USUAL.attempts} by default. 1: never again",
        ),
    ] = None
    backoff: Literal["exponential", "fixed"] | None = None
    """exponential, the default: each pause is twice the one before, spread by ±20 %. fixed: all are the same"""
    pause: Annotated[
        GivenDuration,
        duration(
            f"after the first attempt, or with fixed after each; {show_duration(USUAL.pause_ms)} by default",
            "1s",
        ),
    ] = None
    longest_pause: Annotated[
        GivenDuration,
        duration(
            f"pauses grow up to this; {show_duration(USUAL.longest_pause_ms)} by default, "
            "or `pause` where that is longer",
            "5m",
        ),
    ] = None
    pauses: Annotated[
        list[Annotated[str, Field(max_length=64), BeforeValidator(text_or_none)]] | None,
        Field(
            min_length=1,
            max_length=MOST_ATTEMPTS - 1,
            description="instead of the four above: each pause, so that there is one more attempt than pauses. "
            f"{MOST_PAUSES_MS // 3_600_000} h together at most",
            examples=[["1s", "1m", "1h"]],
        ),
    ] = None
    within: Annotated[
        GivenDuration,
        duration(
            "the pauses together are at most so long, before they are spread: further attempts are not made",
            "1h",
        ),
    ] = None
    final_statuses: Annotated[_Statuses, Field(examples=[["4xx"]])] = None
    """answers after which a call is not tried again: statuses, or classes of them"""
    retried_statuses: Annotated[_Statuses, Field(examples=[["409", "429"]])] = None
    """answers after which it is, though finalStatuses has their class"""

    def given(self) -> dict[str, Any]:
        """Return what is given, by the names of a policy's attributes; raises `Refused`."""
        asked: dict[str, Any] = {}
        for name, (attribute, read) in _READ.items():
            if name in self.model_fields_set:
                value = getattr(self, name)
                asked[attribute] = None if value is None else read(value, f"retry.{to_camel(name)}")
        return asked


def _statuses(words: list[str], field: str) -> tuple[str, ...]:
    """Return statuses in lower case, each once; raises `Refused`."""
    for word in words:
        if not _STATUS.fullmatch(word.lower()):
            mend = 'write statuses from 300 on, as in "404", or classes of them, as in "4xx"'
            raise bad_value(field, f"{shown(word)} is not a status of an answer", mend)
    return tuple(dict.fromkeys(word.lower() for word in words))


def _pause(text: str, field: str) -> int:
    pause_ms = read_duration_field(text, field)
    if LEAST_PAUSE_MS <= pause_ms <= MOST_PAUSES_MS:
        return pause_ms
    least, most = show_duration(LEAST_PAUSE_MS), f"{MOST_PAUSES_MS // 3_600_000}h"
    raise bad_value(field, f"it is {text[:30]}", f"write {least} to {most}")


def _pauses(texts: list[str], field: str) -> tuple[int, ...]:
    return tuple(_pause(text, f"{field}.{number}") for number, text in enumerate(texts))


# By the name of a field: the attribute of a policy that it says, and what reads it.
_READ: Mapping[str, tuple[str, Callable[[Any, str], Any]]] = {
    "attempts": ("attempts", lambda attempts, _: attempts),
    "backoff": ("backoff", lambda word, _: Backoff(word)),
    "pause": ("pause_ms", _pause),
    "longest_pause": ("longest_pause_ms", _pause),
    "within": ("within_ms", _pause),
    "pauses": ("pauses", _pauses),
    "final_statuses": ("final", _statuses),
    "retried_statuses": ("retried", _statuses),
}

GivenRetry = Annotated[
    Retry | None,
    Field(
        description="when a failed call is tried again; null: as its target says, else as its app does, else as the "
        "deployment does"
    ),
]


class ShownRetry(Sent):
    """When a failed call is tried again."""

    attempts: Annotated[int, Field(examples=[11])]
    """how often a call is made at most"""
    backoff: Backoff | None = None
    """not there where pauses are listed"""
    pause: Span | None = None
    """after the first attempt, or with fixed after each"""
    longest_pause: Span | None = None
    """pauses grow up to this; not there with fixed"""
    pauses: Annotated[list[SpanText] | None, Field(examples=[["1s", "1m"]])] = None
    """each pause, where they are listed"""
    within: Span | None = None
    """the pauses together are at most so long"""
    final_statuses: Annotated[list[str] | None, Field(examples=[["4xx"]])] = None
    """answers after which there is no other attempt"""
    retried_statuses: Annotated[list[str] | None, Field(examples=[["409"]])] = None
    """answers after which there is one all the same"""


def shown_retry(policy: RetryPolicy | None) -> ShownRetry | None:
    """Return a policy as answers show it; None where there is none."""
    if policy is None:
        return None
    grows = not policy.pauses
    is_exponential = policy.backoff is Backoff.EXPONENTIAL
    return ShownRetry.of(
        attempts=policy.most,
        backoff=policy.backoff if grows else None,
        pause=policy.pause_ms if grows else None,
        longest_pause=policy.longest_pause_ms if grows and is_exponential else None,
        pauses=policy.pauses or None,
        within=policy.within_ms,
        final_statuses=policy.final or None,
        retried_statuses=policy.retried or None,
    )
