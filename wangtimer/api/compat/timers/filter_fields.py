"""The conditions by which an app's timers are listed, and changed together."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.http.field_types import Given, GivenMoment, moment, number
from wangtimer.api.http.moments import read_moment_field
from wangtimer.store.sql.timer_lists import ListedStatus, TimerFilter

Text = Annotated[str, Field(min_length=1, max_length=128)]


class FilterFields(Given):
    """Which of an app's timers: those that all of these hold of."""

    name: Annotated[Text | None, Field(description="this very name")] = None
    name_prefix: Annotated[Text | None, Field(alias="namePrefix")] = None
    name_contains: Annotated[Text | None, Field(alias="nameContains", description="in either case")] = None
    status: Literal["disabled", "enabled", "finished"] | None = None
    tag: Annotated[str | None, Field(min_length=1, max_length=64)] = None
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
        return TimerFilter(
            app,
            self.name,
            self.name_prefix,
            self.name_contains,
            None if self.status is None else ListedStatus(self.status),
            self.tag,
            None if self.next_before is None else read_moment_field(self.next_before, f"{path}nextBefore"),
        )
