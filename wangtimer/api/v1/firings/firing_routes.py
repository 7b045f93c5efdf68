"""Firings over v1: search, count, read with their attempts, export as CSV or JSON Lines."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Annotated, ClassVar, Literal

from flask import Response, request, stream_with_context
from pydantic import BeforeValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.answer_pace import PART_BYTES, earn_time
from wangtimer.api.http.api_models import Sent, by_word, serialized
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import MOST_ID, Given, GivenInPath, GivenMoment, moment, number
from wangtimer.api.http.moments import read_range
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.api.timer_terms.timer_field_types import KindWord
from wangtimer.api.v1.firings.firing_answers import (
    FiringPage,
    ShownFiring,
    ShownHistory,
    StatusWord,
    firing_fields,
    shown_history,
)
from wangtimer.api.v1.parameters import AnyAppHeader, AppHeader, TimerPath
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import GivenDuration, PageQuery, duration, read_duration_field
from wangtimer.base.spreadsheet_cells import defused
from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import Subject, UnknownTimer, Unreadable
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import TimerLabel
from wangtimer.wiring import Wiring

# The order of the list: moment and timer, latest first.
ORDER = "firings"
ONE = "/firings/<string:firing_id>"

_ID = re.compile(r"([0-9]{1,19})-([0-9]{1,15})", re.ASCII)


class FiringPath(GivenInPath):
    """Which firing: by its id, the `webhook-id` of its callback."""

    named_by: ClassVar[Mapping[Subject, str]] = dict.fromkeys((Subject.FIRING, Subject.TIMER), "firing_id")

    firing_id: Annotated[str, Field(examples=["890342217101453-1795198611123"])]
    """the firing's id: webhook-id of its callback"""

    @property
    def timer_and_moment(self) -> tuple[int, int]:
        """The timer's id and the scheduled moment, ms UTC; raises `Refused`."""
        found = _ID.fullmatch(self.firing_id)
        if found is None or not 0 < int(found[1]) <= MOST_ID:
            raise bad_value(
                "firing_id",
                f"{shown(self.firing_id)} is not the id of a firing",
                "write the webhook-id of its callback, as in 890342217101453-1795198611123",
                about=Subject.FIRING,
            )
        return int(found[1]), int(found[2])


class FiringConditions(Given):
    """Which of an app's firings: those that meet all conditions."""

    our_words: ClassVar[Mapping[str, str] | None] = by_word(
        timer="name key id timerId timerKey",
        since="from",
        until="to",
        status="state statuses",
        limit="pageSize",
        cursor="offset",
    )
    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "timer"}

    timer: Annotated[str | None, Field(examples=["key:order-42"])] = None
    """firings of this timer: its id, or `key:` and its key"""
    status: StatusWord | None = None
    """firings with this status"""
    kind: KindWord | None = None
    """planned by a timer's schedule, or requested; any by default"""
    tag: Annotated[str | None, Field(min_length=1, max_length=64)] = None
    """firings of timers with this tag; a deleted timer has none"""
    since: Annotated[GivenMoment, BeforeValidator(number), moment("scheduled at this moment or later")] = None
    until: Annotated[
        GivenMoment, BeforeValidator(number), moment("scheduled at this moment or earlier; now by default")
    ] = None
    later_than: Annotated[
        GivenDuration,
        duration("first sent later than this after their moment", "1s"),
    ] = None

    def wanted_of(self, app: str | None, wiring: Wiring) -> FiringFilter:
        """Return the filter; raises `Refused`, `UnknownTimer`."""
        first, last = read_range(self.since, self.until)
        timer = None if self.timer is None else TimerPath(which=self.timer)
        if app is None and self.tag is not None:
            mend = "name an app, or leave it out"
            raise bad_value("tag", "not for all apps at once", mend)
        return FiringFilter(
            app,
            None if timer is None else timer.id_in_any(app, wiring.timers),
            () if self.status is None else (FiringStatus(self.status),),
            first,
            int(wiring.clock.now_ms()) if last is None else last,
            None if self.later_than is None else read_duration_field(self.later_than, "laterThan"),
            None if self.kind is None else FiringKind(self.kind),
            tag=self.tag,
        )


class FiringListQuery(PageQuery, FiringConditions):
    """Which firings, and which page."""


class FiringCounts(Sent):
    """Numbers of firings by status."""

    pending: Annotated[int, Field(description="no outcome yet")]
    accepted: Annotated[int, Field(description="their targets have still to say that they are done")]
    succeeded: int
    failed: int
    skipped: int


class FiringResource(Resource):
    """The operations that read firings."""

    @Route("get", "/firings", "listFirings", (404,))
    def page(self, header: AnyAppHeader, query: FiringListQuery) -> FiringPage:
        """List firings.

        The latest come first; new rows neither hide nor repeat others. The search is refused where it finds too few in
        a few seconds. An operator who names no app gets the firings of all apps.
        """
        wiring = self.wiring()
        listed = cursors.of_list(f"v1 {header.app} {ORDER}", query)
        behind = None
        if query.cursor is not None:
            fire_at, timer_id = cursors.read(listed, query.cursor, int)
            behind = (int(fire_at), timer_id)
        found = wiring.firing_lists.page(query.wanted_of(header.app, wiring), query.limit + 1, behind)
        cursor = cursors.after(
            listed, found, query.limit, lambda row: (row.firing.fire_at, row.firing.timer_id)
        )
        items = shown_firings(wiring, header.app, found[: query.limit])
        return FiringPage(items=items, next_cursor=cursor)

    @Route("get", "/firings:count", "countFirings", (404,))
    def count(self, header: AnyAppHeader, query: FiringConditions) -> FiringCounts:
        """Count firings by status.

        A count that takes more than a few seconds is refused. An operator who names no app counts those of all apps.
        """
        wiring = self.wiring()
        counts = wiring.firing_lists.by_status(query.wanted_of(header.app, wiring))
        return FiringCounts(**{status.value: number for status, number in counts.items()})

    @Route("get", ONE, "getFiring", (404,))
    def show(self, path: FiringPath, header: AppHeader) -> ShownHistory:
        """Read a firing.

        The answer has every attempt: when it was sent, how long it took, and its outcome. It also has the request of
        the last attempt as it was sent, with secrets masked. A deleted timer's firings stay readable, without the
        request.
        """
        wiring = self.wiring()
        timer_id, fire_at = path.timer_and_moment
        wiring.timers.refuse_unknown(header.app, timer_id)
        history = wiring.attempts.history(timer_id, fire_at)
        if history is None:
            raise Refused(
                ErrorCode.UNKNOWN_FIRING,
                "firing_id",
                "this timer has no firing at this moment",
                f"GET /v1/firings?timer={timer_id} lists those it has",
                about=Subject.FIRING,
            )
        timer = self._timer(header.app, timer_id)
        label = wiring.timer_lists.labels_of([timer_id]).get(timer_id, TimerLabel(header.app))
        return shown_history(history, label, timer, wiring)

    def _timer(self, app: str, timer_id: int) -> Timer | None:
        try:
            return self.wiring().timers.get(app, timer_id)
        except (UnknownTimer, Unreadable):
            # It is deleted, or another version of the service has changed it since.
            return None


def shown_firings(wiring: Wiring, app: str | None, rows: Sequence[FiringRecord]) -> list[ShownFiring]:
    """Return firings of an app, or where that is None of all apps, as v1 shows them."""
    labels = wiring.timer_lists.labels_of(row.firing.timer_id for row in rows)
    # A timer may be purged while its firings are listed.
    unknown = TimerLabel(app or "")
    return cursors.shown_each(
        rows,
        attrgetter("firing.key"),
        lambda row: ShownFiring.of(row, **firing_fields(row, labels.get(row.firing.timer_id, unknown))),
    )


# Rows that an export reads at once.
EXPORT_PAGE = 1_000
# One thread of this many may export. A slow client holds it for long; the others are for all other requests.
THREADS_AN_EXPORT = 4
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class ExportQuery(FiringConditions):
    """Which firings to export, and in what format."""

    format: Literal["csv", "jsonl"] = "jsonl"
    """comma-separated, or a JSON object a line. In `csv` a text that a spreadsheet would run as a formula has an
    apostrophe before it"""


class ExportResource(Resource):
    """The operation that exports firings."""

    @cached_property
    def exports(self) -> AtOnce:
        """How many exports run at once."""
        return AtOnce(max(1, self.wiring().settings.http_threads // THREADS_AN_EXPORT))

    @Route("get", "/firings:export", "exportFirings", (404,), text=tuple(_TYPES.values()))
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
