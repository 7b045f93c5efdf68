"""All firings that meet the conditions in one answer over v1, as CSV or JSON Lines."""

import csv
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Annotated, Literal

from flask import Response, request, stream_with_context
from pydantic import Field

from wangtimer.api.http.answer_pace import PART_BYTES, earn_time
from wangtimer.api.http.api_models import serialized
from wangtimer.api.v1.firings.firing_answers import ShownFiring
from wangtimer.api.v1.firings.firing_routes import FiringConditions, shown_firings
from wangtimer.api.v1.parameters import AnyAppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.core.at_once import AtOnce
from wangtimer.spreadsheet_cells import defused
from wangtimer.store.sql.firing_filter import FiringFilter

# Rows that an export reads at once.
EXPORT_PAGE = 1_000
# One thread of this many may export. A slow client holds it for long; the others are for all other requests.
THREADS_AN_EXPORT = 4
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class ExportQuery(FiringConditions):
    """Which firings to export, and in what format."""

    format: Annotated[
        Literal["csv", "jsonl"],
        Field(
            description="comma-separated, or a JSON object a line. In `csv` a text that a spreadsheet would run as a "
            "formula has an apostrophe before it"
        ),
    ] = "jsonl"


class ExportResource(Resource):
    """The operation that exports firings."""

    @cached_property
    def exports(self) -> AtOnce:
        """How many exports run at once."""
        return AtOnce(max(1, self.wiring().settings.http_threads // THREADS_AN_EXPORT))

    @Route("get", "/firings:export", "exportFirings", (404,), answers={200: tuple(_TYPES.values())})
    def export(self, header: AnyAppHeader, query: ExportQuery) -> Response:
        """Export firings.

        The answer has every firing that meets the conditions, latest first, sent as it is read. A client that takes
        less than 10 KB/s is cut off. An export is refused (50303) while the process serves as many others as it may. An
        operator who names no app exports those of all apps.
        """
        wanted = query.wanted_of(header.app, self.wiring())
        end = self.exports.begin(header.app)
        earn_time(request.environ)
        rows = self._all(wanted)
        lines = _as_csv(rows) if query.format == "csv" else _as_json_lines(rows)
        answer = Response(stream_with_context(_until_end(lines, end)), content_type=_TYPES[query.format])
        # Also where it is broken off before its first line.
        answer.call_on_close(end)
        answer.headers["Content-Disposition"] = f'attachment; filename="firings.{query.format}"'
        return answer

    def _all(self, wanted: FiringFilter) -> Iterator[ShownFiring]:
        behind: tuple[int, int] | None = None
        while page := self.wiring().firing_lists.page(wanted, EXPORT_PAGE, behind, is_patient=True):
            yield from shown_firings(self.wiring(), wanted.app, page)
            behind = (page[-1].firing.fire_at, page[-1].firing.timer_id)


def _until_end(parts: Iterator[bytes], end: Callable[[], None]) -> Iterator[bytes]:
    try:
        yield from parts
    finally:
        end()


def _as_json_lines(rows: Iterator[ShownFiring]) -> Iterator[bytes]:
    held = bytearray()
    for row in rows:
        held += serialized(row) + b"\n"
        if len(held) >= PART_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def _as_csv(rows: Iterator[ShownFiring]) -> Iterator[bytes]:
    names = [field.alias or name for name, field in ShownFiring.model_fields.items()]
    held = io.StringIO()
    writer = csv.DictWriter(held, names, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(defused(row.model_dump(by_alias=True)))
        if held.tell() >= PART_BYTES:
            yield held.getvalue().encode()
            held.seek(0)
            held.truncate()
    yield held.getvalue().encode()
