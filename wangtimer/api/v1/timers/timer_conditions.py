"""The conditions that select an app's timers for a list or a bulk change in v1."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from wangtimer.api.asked.conditions import NameText, NextBefore, StatusWord, TagText, wanted_timers
from wangtimer.api.http.field_types import Given
from wangtimer.api.v1.apps.host_names import host_at_any_port
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.store.sql.timer_lists import TimerFilter


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
        wanted = wanted_timers(
            app,
            self.key,
            self.key_prefix,
            self.key_contains,
            self.status,
            self.tag,
            self.next_before,
            path,
        )
        if self.host is None:
            return wanted
        host_at_any_port(self.host, f"{path}host")
        return replace(wanted, host=self.host.lower())
