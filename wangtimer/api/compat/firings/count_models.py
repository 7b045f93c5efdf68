"""How counts of firings are answered."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.envelope import Answer, Sent


class CountData(Sent):
    """Firings by what became of them."""

    pending: Annotated[int, Field(description="no outcome yet")]
    succeeded: int
    failed: int
    skipped: int


class CountAnswer(Answer):
    """How many firings the filters leave."""

    data: CountData
