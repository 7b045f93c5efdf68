"""Models of queries for records."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from wangtimer.api.compat.numbered_pages import NumberedPage, PageIndex, PageSize, numbered_page
from wangtimer.api.http.field_types import PAGE, App, Cursor, Given, Id, Limit, flag, number
from wangtimer.api.http.refusals import NAMED_BY_ID, given_once


class RecordsQuery(Given):
    """Which page of a timer's firings; `id` or `timerID` says which timer."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("status", "statuses"), "GET /v1/firings has it"),
        **NAMED_BY_ID,
    }

    app: App
    id: Annotated[Id | None, BeforeValidator(number)] = None
    timer_id: Annotated[
        Id | None, BeforeValidator(number), Field(alias="timerID", description="xTimer's name for id")
    ] = None
    pending: Annotated[bool, BeforeValidator(flag), Field(description="also show planned future firings")] = (
        False
    )
    limit: Limit = PAGE
    cursor: Cursor | None = None

    page_index: PageIndex = None
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage | None:
        """The numbered page, if the query asks for one."""
        return numbered_page(self.page_index, self.page_size, self.model_fields_set)

    @property
    def timer(self) -> int:
        """The timer's id, from either name; raises `Refused`."""
        return given_once(("id", self.id), ("timerID", self.timer_id))
