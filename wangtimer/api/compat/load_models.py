"""Models of the future load: query and answer."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.asked.coming_load import Minutes
from wangtimer.api.http.envelope import Answer, Sent
from wangtimer.api.http.field_types import AppOrAll, Given


class LoadQuery(Given):
    """Which app's future firings, and how far ahead."""

    app: AppOrAll
    minutes: Minutes = None


class LoadMinute(Sent):
    """A minute that has firings."""

    minute: Annotated[str, Field(examples=["2026-11-20T18:16:00.000Z"], description="its start")]
    minute_ms: int
    total: int
    apps: Annotated[dict[str, int], Field(description="firings by app")]


class LoadAnswer(Answer):
    """The firings planned in each future minute, retries included."""

    data: Annotated[list[LoadMinute], Field(description="minutes without firings are left out")]
    total: int
    planned_until_ms: Annotated[
        int, Field(description="every schedule is planned up to this moment; later firings may be missing")
    ]
