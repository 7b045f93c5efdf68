"""Firings over HTTP: search, and export as CSV or JSON Lines."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, ClassVar, Literal

import orjson
from flask import Response, request, stream_with_context
from flask_openapi.blueprint import APIBlueprint
from pydantic import BeforeValidator, Field

from wangtimer.api.asked.firing_types import LATER_THAN, OfKind, Since, StatusWord, Until
from wangtimer.api.compat.answers import FiringsAnswer, RecordData
from wangtimer.api.compat.firings.count_models import CountAnswer, CountData
from wangtimer.api.compat.firings.record_routes import record_data
from wangtimer.api.compat.tags import RECORDS
from wangtimer.api.http import cursors
from wangtimer.api.http.answer_pace import PART_BYTES, earn_time
from wangtimer.api.http.documented import documented
from wangtimer.api.http.field_types import (
    PAGE,
    App,
    Cursor,
    Given,
    Id,
    Limit,
    Span,
    number,
)
from wangtimer.api.http.moments import read_range
from wangtimer.api.http.reading import taking_query
from wangtimer.api.http.refusals import NAMED_BY_ID
from wangtimer.core.at_once import AtOnce
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.spreadsheet_cells import defused
from wangtimer.store.sql.firing_filter import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.wiring import Wiring

# Rows that an export reads at once.
EXPORT_PAGE = 1_000
# One thread of this many may export. A slow client holds it for long; the others are for all other requests.
THREADS_AN_EXPORT = 4
# The order of both lists: moment and timer, latest first.
ORDER = "firings"
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class FiringsFilter(Given):
    """Which of an app's firings."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Annotated[Id | None, BeforeValidator(number), Field(description="firings of this timer only")] = None
    status: Annotated[
        StatusWord | None,
        Field(description="firings with this status only"),
    ] = None
    kind: OfKind = None
    since: Since = None
    until: Until = None
    later_than_ms: Annotated[
        Span | None,
        BeforeValidator(number),
        Field(alias="laterThanMs", description=LATER_THAN),
    ] = None

    def read(self, now: int) -> FiringFilter:
        """Return the filter; raises `Refused` for a moment that cannot be read."""
        first, last = read_range(self.since, self.until)
        return FiringFilter(
            self.app,
            self.id,
            () if self.status is None else (FiringStatus(self.status),),
            first,
            now if last is None else last,
            self.later_than_ms,
            None if self.kind is None else FiringKind(self.kind),
        )


class FiringsQuery(FiringsFilter):
    """Which page of an app's firings."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ExportQuery(FiringsFilter):
    """Which firings to export, and in what format."""

    format: Annotated[
        Literal["csv", "jsonl"],
        Field(
            description="comma-separated, or a JSON object a line. In `csv` a text that a spreadsheet would run as a "
            "formula has an apostrophe before it"
        ),
    ] = "jsonl"


@dataclass(frozen=True, slots=True)
class FiringViews:
    """The operations on firings."""

    wiring: Callable[[], Wiring]
    exports: Callable[[], AtOnce]

    def page(self, query: FiringsQuery) -> FiringsAnswer:
        """Search an app's firings.

        They are of one timer or of all, latest first. New rows neither hide nor repeat others. The search is refused
        where it finds too few in a few seconds.
        """
        wiring = self.wiring()
        behind, order = None, cursors.of_list(ORDER, query)
        if query.cursor is not None:
            fire_at, timer_id = cursors.read(order, query.cursor, int)
            behind = (int(fire_at), timer_id)
        wanted = query.read(int(wiring.clock.now_ms()))
        found = wiring.firing_lists.page(wanted, query.limit + 1, behind)
        shown, is_last = found[: query.limit], len(found) <= query.limit
        cursor = None
        if not is_last:
            last = shown[-1].firing
            cursor = cursors.write(order, last.fire_at, last.timer_id)
        return FiringsAnswer(data=[record_data(one, query.app) for one in shown], next_cursor=cursor)

    def export(self, query: ExportQuery) -> Response:
        """Export an app's firings.

        The answer has every firing that matches the filters, latest first, sent as it is read. A client that takes less
        than 10 KB/s is cut off. An export is refused (50303) while the process serves as many others as it may.
        """
        wanted = query.read(int(self.wiring().clock.now_ms()))
        end = self.exports().begin(query.app)
        earn_time(request.environ)
        rows = self._all(wanted)
        lines = _as_csv(rows, query.app) if query.format == "csv" else _as_json_lines(rows, query.app)
        answer = Response(stream_with_context(_until_end(lines, end)), content_type=_TYPES[query.format])
        # Also where it is broken off before its first line.
        answer.call_on_close(end)
        answer.headers["Content-Disposition"] = f'attachment; filename="firings.{query.format}"'
        return answer

    def count(self, query: FiringsFilter) -> CountAnswer:
        """Count an app's firings by status.

        The filters select the firings. A count that takes more than a few seconds is refused.
        """
        wiring = self.wiring()
        counts = wiring.firing_counts.by_status(query.read(int(wiring.clock.now_ms())))
        # To xTimer's clients an accepted firing has no outcome yet.
        counts[FiringStatus.PENDING] += counts.pop(FiringStatus.ACCEPTED)
        return CountAnswer(data=CountData(**{status.value: number for status, number in counts.items()}))

    def _all(self, wanted: FiringFilter) -> Iterator[FiringRecord]:
        behind: tuple[int, int] | None = None
        while page := self.wiring().firing_lists.page(wanted, EXPORT_PAGE, behind, is_patient=True):
            yield from page
            behind = (page[-1].firing.fire_at, page[-1].firing.timer_id)


def firing_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of firings."""
    exports = cache(lambda: AtOnce(max(1, wiring().settings.http_threads // THREADS_AN_EXPORT)))
    views = FiringViews(wiring, exports)
    routes = APIBlueprint("firings", __name__, url_prefix="/api/task/v1", abp_tags=[RECORDS])
    routes.get("/firings", **documented(views.page, "listFirings"))(taking_query(views.page))
    routes.get("/export", **documented(views.export, "exportFirings", texts=tuple(_TYPES.values())))(
        taking_query(views.export)
    )
    routes.get("/counts", **documented(views.count, "countFirings"))(taking_query(views.count))
    return routes


def _until_end(parts: Iterator[bytes], end: Callable[[], None]) -> Iterator[bytes]:
    try:
        yield from parts
    finally:
        end()


def _as_json_lines(rows: Iterator[FiringRecord], app: str) -> Iterator[bytes]:
    held = bytearray()
    for row in rows:
        held += orjson.dumps(record_data(row, app).model_dump(by_alias=True)) + b"\n"
        if len(held) >= PART_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def _as_csv(rows: Iterator[FiringRecord], app: str) -> Iterator[bytes]:
    names = [field.alias or name for name, field in RecordData.model_fields.items()]
    held = io.StringIO()
    writer = csv.DictWriter(held, names, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(defused(record_data(row, app).model_dump(by_alias=True)))
        if held.tell() >= PART_BYTES:
            yield held.getvalue().encode()
            held.seek(0)
            held.truncate()
    yield held.getvalue().encode()
