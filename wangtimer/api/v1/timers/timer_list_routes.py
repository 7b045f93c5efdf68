"""Lists of timers over v1, filtered, sorted and in pages; the conditions select timers of a bulk change too."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent, by_word
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import bad_value
from wangtimer.api.timer_terms.timer_field_types import NameText, NextBefore, StatusWord, TagText
from wangtimer.api.timer_terms.timer_page import TimerPage
from wangtimer.api.v1.parameters import AnyAppHeader, host_at_any_port
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.timers.timer_answers import ShownTimer, timer_fields
from wangtimer.api.v1.value_types import ListPage, Text
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import ListedStatus, Order, SortKey, TimerFilter


class TimerConditions(Given):
    """Which of an app's timers: those that meet all conditions."""

    our_words: ClassVar[Mapping[str, str] | None] = by_word(
        key="name",
        keyPrefix="namePrefix prefix",
        keyContains="nameContains",
        status="state statuses",
        tag="label",
        host="url",
        limit="pageSize",
        cursor="offset",
    )

    key: NameText | None = None
    """this very key"""
    key_prefix: NameText | None = None
    """the key begins with this"""
    key_contains: NameText | None = None
    """the key contains this; case does not matter"""
    status: StatusWord | None = None
    """timers with this status"""
    tag: TagText | None = None
    """timers with this tag"""
    next_before: NextBefore = None
    host: Annotated[str | None, Field(max_length=LANE_CHARACTERS, examples=["shop.example"])] = None
    """the URL that it calls, itself or through a named target, has this host, or host and port"""

    def wanted_of(self, app: str | None, path: str = "") -> TimerFilter:
        """Return the filter of an app, None: of all; raises `Refused`. `path` stands before names, as "filter."."""
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


# Names of sort keys here, and in the store.
_SORTS = {"id": "id", "key": "name", "createdAt": "createdAt", "updatedAt": "updatedAt"}


class TimerListQuery(TimerConditions):
    """Which timers, in what order, and which page."""

    sort: Literal["id", "-id", "key", "-key", "createdAt", "-createdAt", "updatedAt", "-updatedAt"] = "id"
    """with a minus the largest comes first"""
    limit: Limit = PAGE
    cursor: Cursor | None = None

    @property
    def order(self) -> Order:
        """What `sort` says."""
        return Order(SortKey(_SORTS[self.sort.removeprefix("-")]), self.sort.startswith("-"))


class ShownLastOutcome(Sent):
    """What came of a timer's latest firing that was called or has ended."""

    fire_at: Text
    status: Literal["accepted", "succeeded", "failed", "skipped"]
    """accepted: its target is to say that it is done"""
    lateness_ms: int | None
    http_status: int | None
    error: str


class ListedTimer(ShownTimer):
    """A timer, with what came of it last."""

    last_outcome: Annotated[ShownLastOutcome | None, Field(description="null: nothing has fired yet")]


class ListedTimers(ListPage):
    """A page of timers."""

    items: list[ListedTimer]


class TimerListResource(Resource):
    """The list of an app's timers."""

    @Route("get", "/timers", "listTimers")
    def page(self, header: AnyAppHeader, query: TimerListQuery) -> ListedTimers:
        """List timers.

        Rows that come and go between two pages neither hide nor repeat others. Each has its next moment and its last
        outcome. A page is shorter where its timers take much CPU or have large calls; `nextCursor` leads to the rest.
        An operator who names no app gets the timers of all apps, sorted by id.
        """
        if header.app is None:
            _refuse_of_one_app(query)
        wiring = self.wiring()
        now, order = self.now(), query.order
        listed = cursors.of_list(f"v1 {header.app} {query.sort}", query)
        kind = str if order.key is SortKey.NAME else int
        behind = None if query.cursor is None else cursors.read(listed, query.cursor, kind)
        page = TimerPage(query.wanted_of(header.app), order, query.limit, behind)
        items, last = page.rows(wiring, now, partial(listed_timer, now))
        cursor = None if last is None else cursors.write(listed, *last)
        return ListedTimers(items=items, next_cursor=cursor)


def _refuse_of_one_app(query: TimerListQuery) -> None:
    """Raise `Refused` for what only the timers of one app are indexed for."""
    for field, is_asked in (
        ("tag", query.tag is not None),
        ("host", query.host is not None),
        ("sort", query.order.key is not SortKey.ID),
    ):
        if is_asked:
            raise bad_value(field, "not for all apps at once", f"name an app, or leave {field} out")


def listed_timer(now: int, timer: Timer, outcomes: Mapping[int, FiringRecord]) -> ListedTimer:
    """Return a timer as it is at `now` (ms UTC), with its last outcome, which is among these by timers' ids."""
    return ListedTimer.of(**timer_fields(timer, now), last_outcome=_last(outcomes.get(timer.id)))


def _last(record: FiringRecord | None) -> ShownLastOutcome | None:
    if record is None:
        return None
    return ShownLastOutcome.of(record, fire_at=record.firing.fire_at, status=record.firing.status.value)
