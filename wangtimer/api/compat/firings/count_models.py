"""Models of counts of firings."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.envelope import Answer, Sent


class CountData(Sent):
    """Numbers of firings by status."""

    pending: Annotated[int, Field(description="no outcome yet")]
    succeeded: int
    failed: int
    skipped: int


class CountAnswer(Answer):
    """How many firings match the filters."""

    data: CountData
