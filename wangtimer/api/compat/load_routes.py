"""The future load over HTTP: planned firings by minute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.asked.coming_load import coming_load
from wangtimer.api.compat.load_models import LoadAnswer, LoadMinute, LoadQuery
from wangtimer.api.compat.tags import TIMERS
from wangtimer.api.http.callers import need_scope
from wangtimer.api.http.documented import documented
from wangtimer.api.http.reading import taking_query
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.work_budget import refuse_more
from wangtimer.wiring import Wiring


@dataclass(frozen=True, slots=True)
class LoadViews:
    """The operation on the load."""

    wiring: Callable[[], Wiring]

    def show(self, query: LoadQuery) -> LoadAnswer:
        """Show how many firings are planned in each minute.

        They are the planned firings of enabled timers. All apps at once: for operators, with the scope `load:read`. In
        a large deployment a count is remembered for 20 times as long as counting took. A request that counts for more
        than a few seconds is refused: ask for fewer minutes, or ask again.
        """
        if query.app is None:
            need_scope(Scope.LOAD_READ, "name an app, or use a key that has it")
        load = coming_load(self.wiring(), query.minutes)
        rows = [_row(minute, _of(query.app, apps)) for minute, apps in load.by_minute.items()]
        data = [row for row in rows if row.total]
        total = sum(row.total for row in data)
        return LoadAnswer(data=data, total=total, planned_until_ms=load.planned_until)


def load_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the route of the load."""
    views = LoadViews(wiring)
    routes = APIBlueprint("load", __name__, url_prefix="/api/timer/v1", abp_tags=[TIMERS])
    routes.get("/load", **documented(views.show, "getLoad"))(taking_query(views.show))
    return routes


def _of(app: str | None, apps: Mapping[str, int]) -> dict[str, int]:
    if app is None:
        return dict(sorted(apps.items()))
    return {app: apps[app]} if app in apps else {}


def _row(minute: int, apps: dict[str, int]) -> LoadMinute:
    refuse_more()
    starts_at = minute * MINUTE_MS
    return LoadMinute(minute=show_moment(starts_at), minute_ms=starts_at, total=sum(apps.values()), apps=apps)
