"""What callers may ask of records."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from wangtimer.api.codes import ErrorCode
from wangtimer.api.field_types import PAGE, App, Cursor, Given, Id, Limit, flag, number
from wangtimer.api.refusals import Refused


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

    @property
    def timer(self) -> int:
        """The timer's id, under whichever name it came; raises `Refused`."""
        given = [number for number in (self.id, self.timer_id) if number is not None]
        if len(given) != 1:
            code = ErrorCode.DUPLICATE_FIELD if given else ErrorCode.MISSING_FIELD
            raise Refused(
                code, "id", f"given {len(given)} times", "give the timer's number once, as id or timerID"
            )
        return given[0]
