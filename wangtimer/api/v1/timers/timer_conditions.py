"""The conditions by which v1 lists an app's timers, and changes many of them."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.http.field_types import Given, GivenMoment, moment, number
from wangtimer.api.http.moments import read_moment_field
from wangtimer.store.sql.timer_lists import ListedStatus, TimerFilter

KeyText = Annotated[str, Field(min_length=1, max_length=128)]


class TimerConditions(Given):
    """Which of an app's timers: those that all of these hold of."""

    key: Annotated[KeyText | None, Field(description="this very key")] = None
    key_prefix: Annotated[KeyText | None, Field(alias="keyPrefix", description="the key begins with it")] = (
        None
    )
    key_contains: Annotated[
        KeyText | None, Field(alias="keyContains", description="the key has it, in either case")
    ] = None
    status: Annotated[
        Literal["disabled", "enabled", "finished"] | None, Field(description="timers of this status alone")
    ] = None
    tag: Annotated[str | None, Field(min_length=1, max_length=64, description="timers with this tag")] = None
    next_before: Annotated[
        GivenMoment,
        BeforeValidator(number),
        moment("only those with a moment to come up to this one"),
        Field(alias="nextBefore"),
    ] = None

    def wanted_of(self, app: str, path: str = "") -> TimerFilter:
        """Return what is asked for of an app's timers; raises `Refused` for a moment that cannot be read.

        `path` is what stands before the names of these fields, as "filter." does.
        """
        before = None
        if self.next_before is not None:
            before = read_moment_field(self.next_before, f"{path}nextBefore")
        status = None if self.status is None else ListedStatus(self.status)
        return TimerFilter(app, self.key, self.key_prefix, self.key_contains, status, self.tag, before)
