"""Lists of timers over HTTP: filtered, sorted and in pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from wangtimer.api.asked.shared_types import NameText, NextBefore, StatusWord, TagText
from wangtimer.api.asked.timer_page import TimerPage
from wangtimer.api.compat.answers import LastOutcome, ListedTimerData, TimersAnswer
from wangtimer.api.compat.numbered_pages import NumberedPage, PageIndex, PageSize, numbered_page, page_at
from wangtimer.api.compat.tags import TIMERS
from wangtimer.api.compat.timers.timer_data import timer_fields
from wangtimer.api.compat.timers.timer_models import OfAnApp
from wangtimer.api.http import cursors
from wangtimer.api.http.field_types import PAGE, App, Cursor, Given, Limit
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import given_once
from wangtimer.api.http.serving import documented, serving
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import ListedStatus, Order, SortKey, TimerFilter
from wangtimer.wiring import Wiring


class FilterFields(Given):
    """Which of an app's timers: those that meet all conditions."""

    name: Annotated[NameText | None, Field(description="this very name")] = None
    name_prefix: NameText | None = None
    name_contains: Annotated[NameText | None, Field(description="in either case")] = None
    status: StatusWord | None = None
    tag: TagText | None = None
    next_before: NextBefore = None


class TimersQuery(FilterFields, OfAnApp):
    """Which of an app's timers, in what order, and which page."""

    sort: Annotated[
        Literal["id", "-id", "name", "-name", "createdAt", "-createdAt", "updatedAt", "-updatedAt"] | None,
        Field(
            description="with a minus the largest comes first; id by default, -id in numbered pages, as in xTimer"
        ),
    ] = None
    limit: Limit = PAGE
    cursor: Cursor | None = None
    page_index: PageIndex = None
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage | None:
        """The numbered page, if the query asks for one."""
        return numbered_page(self.page_index, self.page_size, self.model_fields_set)

    @property
    def sorted_by(self) -> str:
        """`sort`, or its default."""
        return self.sort or ("id" if self.numbered is None else "-id")

    @property
    def order(self) -> Order:
        """What `sorted_by` says."""
        return Order(SortKey(self.sorted_by.removeprefix("-")), self.sorted_by.startswith("-"))

    @property
    def wanted(self) -> TimerFilter:
        """The filter; raises `Refused` for a moment that cannot be read."""
        return TimerFilter(
            self.app,
            self.name,
            self.name_prefix,
            self.name_contains,
            None if self.status is None else ListedStatus(self.status),
            self.tag,
            None if self.next_before is None else read_moment_field(self.next_before, "nextBefore"),
        )


class NameQuery(Given):
    """Timers whose name contains a text; `name` or `fuzzyName` gives the text."""

    app: App
    name: NameText | None = None
    fuzzy_name: Annotated[NameText | None, Field(description="xTimer's name for name")] = None
    page_index: PageIndex = 1
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage:
        """The requested page; the first by default."""
        return page_at(self.page_index or 1, self.page_size)

    @property
    def text(self) -> str:
        """The text that a timer's name must contain, from either parameter; raises `Refused`."""
        return given_once(("name", self.name), ("fuzzyName", self.fuzzy_name))


@dataclass(frozen=True, slots=True)
class TimerListViews:
    """The lists of timers."""

    wiring: Callable[[], Wiring]

    def page(self, query: TimersQuery) -> TimersAnswer:
        """List an app's timers.

        They are sorted by id unless `sort` says otherwise. Rows that come and go between two pages neither hide nor
        repeat others. Each row has its next moment and its last outcome. A page is shorter where its timers take much
        CPU or have large calls; nextCursor leads to the rest.
        """
        if query.numbered is not None:
            return self._numbered(query.wanted, query.order, query.numbered)
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        order = query.order
        kind = str if order.key is SortKey.NAME else int
        listed = cursors.of_list(query.sorted_by, query)
        behind = None if query.cursor is None else cursors.read(listed, query.cursor, kind)
        page = TimerPage(query.wanted, order, query.limit, behind)
        rows, last = page.rows(wiring, now, partial(_row, now))
        return TimersAnswer(data=rows, next_cursor=None if last is None else cursors.write(listed, *last))

    def by_name(self, query: NameQuery) -> TimersAnswer:
        """List an app's timers whose name contains a text.

        The order and pages are xTimer's: latest first, numbered pages. `/defs` has cursors and filters.
        """
        wanted = TimerFilter(query.app, contains=query.text)
        return self._numbered(wanted, Order(SortKey.ID, descending=True), query.numbered)

    def _numbered(self, wanted: TimerFilter, order: Order, page: NumberedPage) -> TimersAnswer:
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        found = wiring.timer_lists.page(wanted, order, page.size, now, skipped=page.skipped)
        total = wiring.timer_lists.count(wanted, now)
        return TimersAnswer(data=self._rows(found, now), next_cursor=None, total=total)

    def _rows(self, timers: list[Timer], now: int) -> list[ListedTimerData]:
        outcomes = self.wiring().firing_lists.last_outcomes([timer.id for timer in timers], now)
        return [_row(now, timer, outcomes) for timer in timers]


def timer_list_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of lists of timers."""
    views = TimerListViews(wiring)
    routes = APIBlueprint("timer_lists", __name__, url_prefix="/api/timer/v1", abp_tags=[TIMERS])
    routes.get("/defs", **documented(views.page, "listTimers"))(serving(views.page))
    routes.get("/defsByName", **documented(views.by_name, "listTimersByName"))(serving(views.by_name))
    return routes


def _row(now: int, timer: Timer, outcomes: Mapping[int, FiringRecord]) -> ListedTimerData:
    return ListedTimerData.of(**timer_fields(timer, now), last_outcome=_last(outcomes.get(timer.id)))


def _last(record: FiringRecord | None) -> LastOutcome | None:
    if record is None:
        return None
    firing = record.firing
    return LastOutcome.of(record, run_timer=firing.fire_at, status_name=firing.status.value)
