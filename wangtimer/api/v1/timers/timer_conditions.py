"""The conditions that select an app's timers for a list or a bulk change in v1."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from wangtimer.api.http.field_types import Given
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.timer_terms.timer_field_types import NameText, NextBefore, StatusWord, TagText
from wangtimer.api.v1.apps.host_names import host_at_any_port
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.store.sql.timer_lists import ListedStatus, TimerFilter


class TimerConditions(Given):
    """Which of an app's timers: those that meet all conditions."""

    our_words: ClassVar[Mapping[str, str] | None] = {
        "name": "key",
        "namePrefix": "keyPrefix",
        "prefix": "keyPrefix",
        "nameContains": "keyContains",
        "state": "status",
        "statuses": "status",
        "label": "tag",
        "url": "host",
        "pageSize": "limit",
        "offset": "cursor",
    }

    key: Annotated[NameText | None, Field(description="this very key")] = None
    key_prefix: Annotated[NameText | None, Field(description="the key begins with this")] = None
    key_contains: Annotated[
        NameText | None, Field(description="the key contains this; case does not matter")
    ] = None
    status: Annotated[StatusWord | None, Field(description="timers with this status")] = None
    tag: Annotated[TagText | None, Field(description="timers with this tag")] = None
    next_before: NextBefore = None
    host: Annotated[
        str | None,
        Field(
            max_length=LANE_CHARACTERS,
            description="the URL that it calls, itself or through a named target, has this host, or host and port",
            examples=["shop.example"],
        ),
    ] = None

    def wanted_of(self, app: str | None, path: str = "") -> TimerFilter:
        """Return the filter of an app's timers, None: of all apps'; raises `Refused` for a moment that cannot be read.

        `path` is the prefix of these fields' names, such as "filter.".
        """
        before = (
            None if self.next_before is None else read_moment_field(self.next_before, f"{path}nextBefore")
        )
        if self.host is not None:
            host_at_any_port(self.host, f"{path}host")
        return TimerFilter(
            app,
            self.key,
            self.key_prefix,
            self.key_contains,
            None if self.status is None else ListedStatus(self.status),
            self.tag,
            before,
            host=None if self.host is None else self.host.lower(),
        )
