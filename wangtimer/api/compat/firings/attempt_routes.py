"""One firing over HTTP, with all its attempts."""

from collections.abc import Callable
from dataclasses import dataclass

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.compat.firings.attempt_models import AttemptData, FiringQuery, HistoryAnswer, HistoryData
from wangtimer.api.compat.firings.record_routes import record_data
from wangtimer.api.compat.tags import RECORDS
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.reading import taking_query
from wangtimer.api.http.refusals import Refused
from wangtimer.store.sql.attempts import AttemptRecord, FiringHistory
from wangtimer.wiring import Wiring


@dataclass(frozen=True, slots=True)
class AttemptViews:
    """The operation on one firing."""

    wiring: Callable[[], Wiring]

    def show(self, query: FiringQuery) -> HistoryAnswer:
        """Read one firing.

        The answer has every attempt: when it was sent, how long it took, and its outcome. A deleted timer's firings
        stay readable.
        """
        wiring = self.wiring()
        fire_at = read_moment_field(query.fire_at, "fireAt")
        wiring.timers.refuse_unknown(query.app, query.id)
        history = wiring.attempts.history(query.id, fire_at)
        if history is None:
            raise Refused(
                ErrorCode.UNKNOWN_FIRING,
                "fireAt",
                "this timer has no firing at this moment",
                "find its moments with GET /api/task/v1/records",
            )
        return HistoryAnswer(data=_history_data(history, query.app))


def attempt_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the route of one firing."""
    views = AttemptViews(wiring)
    routes = APIBlueprint("attempts", __name__, url_prefix="/api/task/v1", abp_tags=[RECORDS])
    routes.get("/firing", **documented(views.show, "getFiring", 404))(taking_query(views.show))
    return routes


def _history_data(history: FiringHistory, app: str) -> HistoryData:
    firing = history.record.firing
    return HistoryData(
        **dict(record_data(history.record, app)),
        attempts=[_attempt_data(attempt, firing.fire_at) for attempt in history.attempts],
    )


def _attempt_data(attempt: AttemptRecord, fire_at: int) -> AttemptData:
    return AttemptData(
        attempt=attempt.number,
        sent_at_ms=attempt.sent_at,
        lateness_ms=None if attempt.sent_at is None else attempt.sent_at - fire_at,
        connect_ms=attempt.connect_ms,
        first_byte_ms=attempt.first_byte_ms,
        cost_ms=attempt.cost_ms,
        http_status=attempt.http_status,
        output=attempt.output,
        error=attempt.error,
        status_name=attempt.status.value,
    )
