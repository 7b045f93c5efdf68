"""What callers may ask of records."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from wangtimer.api.field_types import PAGE, App, Cursor, Given, Id, Limit, flag, number
from wangtimer.api.numbered_pages import NumberedPage, PageIndex, PageSize, numbered_page
from wangtimer.api.refusals import given_once


class RecordsQuery(Given):
    """Which page of a timer's firings; `id` or `timerID` says which timer."""

    app: App
    id: Annotated[Id | None, BeforeValidator(number)] = None
    timer_id: Annotated[
        Id | None, BeforeValidator(number), Field(alias="timerID", description="xTimer's name of id")
    ] = None
    pending: Annotated[
        bool, BeforeValidator(flag), Field(description="show the planned firings still to come, too")
    ] = False
    limit: Limit = PAGE
    cursor: Cursor | None = None

    page_index: PageIndex = None
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage | None:
        """The page by number, if one is asked for."""
        return numbered_page(self.page_index, self.page_size, self.model_fields_set)

    @property
    def timer(self) -> int:
        """The timer's id, under whichever name it came; raises `Refused`."""
        return given_once(("id", self.id), ("timerID", self.timer_id))
