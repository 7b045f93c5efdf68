"""The conditions by which v1 lists an app's timers, and changes many of them."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.asked.conditions import NameText, NextBefore, StatusWord, TagText, wanted_timers
from wangtimer.api.http.field_types import Given
from wangtimer.store.sql.timer_lists import TimerFilter


class TimerConditions(Given):
    """Which of an app's timers: those that all of these hold of."""

    key: Annotated[NameText | None, Field(description="this very key")] = None
    key_prefix: Annotated[NameText | None, Field(alias="keyPrefix", description="the key begins with it")] = (
        None
    )
    key_contains: Annotated[
        NameText | None, Field(alias="keyContains", description="the key has it, in either case")
    ] = None
    status: Annotated[StatusWord | None, Field(description="timers of this status alone")] = None
    tag: Annotated[TagText | None, Field(description="timers with this tag")] = None
    next_before: NextBefore = None

    def wanted_of(self, app: str, path: str = "") -> TimerFilter:
        """Return what is asked for of an app's timers; raises `Refused` for a moment that cannot be read.

        `path` is what stands before the names of these fields, as "filter." does.
        """
        return wanted_timers(
            app,
            self.key,
            self.key_prefix,
            self.key_contains,
            self.status,
            self.tag,
            self.next_before,
            path,
        )
