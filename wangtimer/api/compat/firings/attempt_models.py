"""One firing with its attempts: what callers ask for, and how it is answered."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.compat.answers import RecordData
from wangtimer.api.http.envelope import Answer, Sent
from wangtimer.api.http.field_types import App, Given, GivenMoment, Id, moment, number
from wangtimer.api.http.refusals import NAMED_BY_ID


class FiringQuery(Given):
    """Which firing: a timer's, of a moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Annotated[Id, BeforeValidator(number)]
    fire_at: Annotated[
        GivenMoment, BeforeValidator(number), moment("its scheduled moment"), Field(alias="fireAt")
    ]


class AttemptData(Sent):
    """One attempt; durations in ms from when its call began."""

    attempt: Annotated[int, Field(description="from 1")]
    sent_at_ms: Annotated[int | None, Field(description="null: not a byte was sent")]
    lateness_ms: Annotated[int | None, Field(description="its send minus the firing's scheduled moment")]
    connect_ms: Annotated[
        int | None, Field(description="until the connection was open, 0 on one kept open; null: none was")
    ]
    first_byte_ms: Annotated[int | None, Field(description="until the answer began; null: none did")]
    cost_ms: Annotated[int | None, Field(description="until the answer ended, or there was to be none")]
    http_status: int | None
    output: Annotated[str, Field(description="the start of the target's answer")]
    error: str
    status_name: Annotated[
        Literal["succeeded", "failed", "skipped"], Field(description="failed also where another one follows")
    ]


class HistoryData(RecordData):
    """A firing, and its attempts so far, the first one first."""

    attempts: list[AttemptData]


class HistoryAnswer(Answer):
    """A firing with its attempts."""

    data: HistoryData
