"""Records over HTTP: a timer's firings and their outcomes."""

from collections.abc import Callable
from dataclasses import dataclass

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.compat.answers import RecordData, RecordsAnswer
from wangtimer.api.compat.numbered_pages import NumberedPage
from wangtimer.api.compat.record_models import RecordsQuery
from wangtimer.api.compat.tags import RECORDS
from wangtimer.api.http import cursors
from wangtimer.api.http.serving import documented, serving
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.sql.firing_filter import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.wiring import Wiring

# Ordered by moment, latest first.
ORDER = "records"

# 0, 2 and 3 are xTimer's numbers.
_STATUS = {
    FiringStatus.PENDING: 0,
    FiringStatus.SUCCEEDED: 2,
    FiringStatus.FAILED: 3,
    FiringStatus.SKIPPED: 4,
    # xTimer's "running".
    FiringStatus.ACCEPTED: 1,
}


@dataclass(frozen=True, slots=True)
class RecordViews:
    """The operations on records."""

    wiring: Callable[[], Wiring]

    def page(self, query: RecordsQuery) -> RecordsAnswer:
        """List a timer's firings.

        The latest come first; future firings only with pending=true. A deleted timer's records stay readable.
        """
        wiring, timer_id, numbered = self.wiring(), query.timer, query.numbered
        listed = cursors.of_list(ORDER, query)
        before = None if query.cursor is None else int(cursors.read(listed, query.cursor, int)[0])
        wiring.timers.refuse_unknown(query.app, timer_id)
        upto = None if query.pending else int(wiring.clock.now_ms())
        if numbered is not None:
            return self._numbered(query, numbered, upto)
        found = wiring.firings.records(timer_id, query.limit + 1, before, upto)
        shown, is_last = found[: query.limit], len(found) <= query.limit
        data = [record_data(record, query.app) for record in shown]
        return RecordsAnswer(
            data=data, next_cursor=None if is_last else cursors.write(listed, data[-1].fire_at_ms, timer_id)
        )

    def _numbered(self, query: RecordsQuery, page: NumberedPage, upto: int | None) -> RecordsAnswer:
        wiring = self.wiring()
        # What is refused because it takes too long is refused before rows are skipped, which takes as long.
        total = wiring.firing_lists.count(FiringFilter(query.app, query.timer, last=upto))
        found = wiring.firings.records(query.timer, page.size, upto=upto, skipped=page.skipped)
        return RecordsAnswer(
            data=[record_data(record, query.app) for record in found], next_cursor=None, total=total
        )


def record_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of records."""
    views = RecordViews(wiring)
    routes = APIBlueprint("records", __name__, url_prefix="/api/task/v1", abp_tags=[RECORDS])
    routes.get("/records", **documented(views.page, "listRecords", 404))(serving(views.page))
    return routes


def record_data(record: FiringRecord, app: str) -> RecordData:
    """Return a firing as the API shows it."""
    firing = record.firing
    return RecordData.of(
        record,
        timer_id=firing.timer_id,
        app=app,
        run_timer=firing.fire_at,
        fire_at_ms=firing.fire_at,
        first_sent_at_ms=record.first_sent_at,
        cost_time=record.cost_ms or 0,
        attempt=firing.attempt,
        status=_STATUS[firing.status],
        status_name=firing.status.value,
        webhook_id=firing.member.firing_id,
        kind=firing.kind.value,
        waited_for=SharedLane(firing.lane).shown,
    )
