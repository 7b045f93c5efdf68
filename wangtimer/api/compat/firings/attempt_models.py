"""One firing with its attempts: models of the query and the answer."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from wangtimer.api.asked.firing_types import (
    AttemptLateness,
    AttemptStatus,
    ConnectMs,
    DurationMs,
    FirstByteMs,
    Number,
    Output,
)
from wangtimer.api.compat.answers import RecordData
from wangtimer.api.http.envelope import Answer, Sent
from wangtimer.api.http.field_types import App, Given, GivenMoment, Id, moment, number
from wangtimer.api.http.refusals import NAMED_BY_ID


class FiringQuery(Given):
    """Which firing: of a timer at a moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Annotated[Id, BeforeValidator(number)]
    fire_at: Annotated[
        GivenMoment, BeforeValidator(number), moment("its scheduled moment"), Field(alias="fireAt")
    ]


class AttemptData(Sent):
    """One attempt; durations in ms from the start of its call."""

    attempt: Number
    sent_at_ms: Annotated[int | None, Field(description="null: not a byte was sent")]
    lateness_ms: AttemptLateness
    connect_ms: ConnectMs
    first_byte_ms: FirstByteMs
    cost_ms: DurationMs
    http_status: int | None
    output: Output
    error: str
    status_name: AttemptStatus


class HistoryData(RecordData):
    """A firing and its attempts so far, the first one first."""

    attempts: list[AttemptData]


class HistoryAnswer(Answer):
    """A firing with its attempts."""

    data: HistoryData
