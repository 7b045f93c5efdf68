"""Lists of timers over HTTP: filtered, sorted, page by page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from flask_openapi.blueprint import APIBlueprint
from pydantic import BeforeValidator, Field

from wangtimer.api import cursors
from wangtimer.api.answers import LastOutcome, ListedTimerData, TimersAnswer
from wangtimer.api.batch_routes import add_batch_routes
from wangtimer.api.bulk_routes import add_bulk_routes
from wangtimer.api.documented import documented
from wangtimer.api.field_types import MOST_A_PAGE, PAGE, App, Cursor, Given, Limit, number
from wangtimer.api.filter_fields import FilterFields, Text
from wangtimer.api.reading import taking_query
from wangtimer.api.rfc3339 import show_moment
from wangtimer.api.timer_data import timer_fields
from wangtimer.api.timer_models import OfAnApp
from wangtimer.core.timer import Timer
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import Order, SortKey, TimerFilter
from wangtimer.wiring import Wiring

XTIMERS_PAGE = 10

_Index = Annotated[
    int | None,
    BeforeValidator(number),
    Field(
        alias="pageIndex", ge=1, le=100_000, description="xTimer's way to page, from 1; then there is a total"
    ),
]
_Size = Annotated[
    int, BeforeValidator(number), Field(alias="pageSize", ge=1, le=MOST_A_PAGE, description="with pageIndex")
]


class TimersQuery(FilterFields, OfAnApp):
    """Which of an app's timers, in what order, and which page."""

    sort: Annotated[
        Literal["id", "-id", "name", "-name", "createdAt", "-createdAt", "updatedAt", "-updatedAt"],
        Field(description="a minus: largest first"),
    ] = "id"
    limit: Limit = PAGE
    cursor: Cursor | None = None
    page_index: _Index = None
    page_size: _Size = XTIMERS_PAGE

    @property
    def order(self) -> Order:
        """What `sort` says."""
        return Order(SortKey(self.sort.removeprefix("-")), self.sort.startswith("-"))

    @property
    def wanted(self) -> TimerFilter:
        """What is asked for; raises `Refused` for a moment that cannot be read."""
        return self.wanted_of(self.app)


class NameQuery(Given):
    """Timers whose name contains a text."""

    app: App
    name: Text
    page_index: _Index = 1
    page_size: _Size = XTIMERS_PAGE


@dataclass(frozen=True, slots=True)
class TimerListViews:
    """The lists of timers."""

    wiring: Callable[[], Wiring]

    def page(self, query: TimersQuery) -> TimersAnswer:
        """List an app's timers.

        By id unless sorted otherwise; rows that come and go meanwhile neither hide nor repeat others. Each row has its
        next moment and its last outcome.
        """
        if query.page_index is not None:
            return self._numbered(query.wanted, query.order, query.page_index, query.page_size)
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        order = query.order
        kind = str if order.key is SortKey.NAME else int
        behind = None if query.cursor is None else cursors.read(query.sort, query.cursor, kind)
        found = wiring.timer_lists.page(query.wanted, order, query.limit + 1, now, behind)
        shown, is_last = found[: query.limit], len(found) <= query.limit
        cursor = None
        if not is_last:
            cursor = cursors.write(query.sort, order.value_of(shown[-1]), shown[-1].id)
        return TimersAnswer(data=self._rows(shown, now), next_cursor=cursor)

    def by_name(self, query: NameQuery) -> TimersAnswer:
        """List an app's timers whose name contains a text.

        As xTimer lists them: latest first, page by number. Cursors and filters are those of `/defs`.
        """
        wanted = TimerFilter(query.app, contains=query.name)
        newest = Order(SortKey.ID, descending=True)
        return self._numbered(wanted, newest, query.page_index or 1, query.page_size)

    def _numbered(self, wanted: TimerFilter, order: Order, index: int, size: int) -> TimersAnswer:
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        found = wiring.timer_lists.page(wanted, order, size, now, skipped=(index - 1) * size)
        total = wiring.timer_lists.count(wanted, now)
        return TimersAnswer(data=self._rows(found, now), next_cursor=None, total=total)

    def _rows(self, timers: list[Timer], now: int) -> list[ListedTimerData]:
        outcomes = self.wiring().firing_lists.last_outcomes([timer.id for timer in timers], now)
        return [
            ListedTimerData(**timer_fields(timer, now), last_outcome=_last(outcomes.get(timer.id)))
            for timer in timers
        ]


def timer_list_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of lists of timers."""
    views = TimerListViews(wiring)
    routes = APIBlueprint("timer_lists", __name__, url_prefix="/api/timer/v1", abp_tags=[{"name": "timers"}])
    routes.get("/defs", **documented(views.page, "listTimers"))(taking_query(views.page))
    routes.get("/defsByName", **documented(views.by_name, "listTimersByName"))(taking_query(views.by_name))
    add_batch_routes(routes, wiring)
    add_bulk_routes(routes, wiring)
    return routes


def _last(record: FiringRecord | None) -> LastOutcome | None:
    if record is None:
        return None
    return LastOutcome(
        run_timer=show_moment(record.firing.fire_at),
        status_name=record.firing.status.value,
        lateness_ms=record.lateness_ms,
        http_status=record.http_status,
        error=record.error,
    )
