"""The conditions that select an app's timers for a list or a bulk change."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.asked.conditions import NameText, NextBefore, StatusWord, TagText, wanted_timers
from wangtimer.api.http.field_types import Given
from wangtimer.store.sql.timer_lists import TimerFilter


class FilterFields(Given):
    """Which of an app's timers: those that meet all conditions."""

    name: Annotated[NameText | None, Field(description="this very name")] = None
    name_prefix: Annotated[NameText | None, Field(alias="namePrefix")] = None
    name_contains: Annotated[NameText | None, Field(alias="nameContains", description="in either case")] = (
        None
    )
    status: StatusWord | None = None
    tag: TagText | None = None
    next_before: NextBefore = None

    def wanted_of(self, app: str, path: str = "") -> TimerFilter:
        """Return the filter of an app's timers; raises `Refused` for a moment that cannot be read.

        `path` is the prefix of these fields' names, such as "filter.".
        """
        return wanted_timers(
            app,
            self.name,
            self.name_prefix,
            self.name_contains,
            self.status,
            self.tag,
            self.next_before,
            path,
        )
