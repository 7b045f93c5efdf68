"""xTimer's operations: make, read, change, enable, disable, delete and list timers; list a timer's records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from wangtimer.api.compat.xtimer_answers import (
    CreateAnswer,
    DeleteAnswer,
    EditAnswer,
    LastOutcome,
    ListedTimerData,
    RecordData,
    RecordsAnswer,
    StopAnswer,
    StoppedData,
    TimerAnswer,
    TimerData,
    TimersAnswer,
    planned_timer,
    stopped_data,
    timer_fields,
)
from wangtimer.api.compat.xtimer_requests import (
    CreateTimer,
    EditTimer,
    NameQuery,
    NumberedPage,
    RecordsQuery,
    TimerKey,
    TimerQuery,
    TimersQuery,
)
from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Answer
from wangtimer.api.http.kept_answers import CreateHeader, asked_under, kept_text, once_with_it
from wangtimer.api.http.serving import View, documented, refusing_callbacks, response_of, serving
from wangtimer.api.timer_terms.schedule_reading import FindCalendar, find_calendar
from wangtimer.api.timer_terms.timer_page import TimerPage
from wangtimer.api.timer_terms.timer_reading import edited_timer, new_timer
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.kept_answers import Asked, ToKeep
from wangtimer.store.sql.timer_lists import Order, SortKey, TimerFilter
from wangtimer.timers.registrar import Registrar
from wangtimer.wiring import Wiring

_LIKE = "for xTimer's clients; /v1 has the same in a simpler form"

TIMERS = Tag(name="compatible timers", description=f"Timers {_LIKE}")
RECORDS = Tag(name="compatible records", description=f"Firings {_LIKE}")


# Ordered by moment, latest first.
ORDER = "records"

# 0, 2 and 3 are xTimer's numbers.
_RECORD_STATUS = {
    FiringStatus.PENDING: 0,
    FiringStatus.SUCCEEDED: 2,
    FiringStatus.FAILED: 3,
    FiringStatus.SKIPPED: 4,
    # xTimer's "running".
    FiringStatus.ACCEPTED: 1,
}


@dataclass(frozen=True, slots=True)
class XtimerViews:
    """The operations on timers and records."""

    wiring: Callable[[], Wiring]

    def create(self, body: CreateTimer, header: CreateHeader) -> Answer | Response:
        """Create a timer.

        It stays disabled until it is enabled. The answer shows the next five moments.
        """
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())

        def create(keep: ToKeep | None = None) -> Timer:
            registrar: Registrar = wiring.registrar
            return registrar.create(new_timer(body.app, body.asked, now, self._calendars_of(body.app)), keep)

        def answer_of(timer: Timer) -> CreateAnswer:
            return CreateAnswer(id=timer.id, data=planned_timer(timer, now, body))

        if header.idempotency_key is None:
            return answer_of(create())

        def create_once(asked: Asked) -> Response:
            keep = ToKeep(asked, lambda timer: kept_text(response_of(answer_of(timer))))
            return response_of(answer_of(create(keep)))

        asked = asked_under(body.app, header.idempotency_key, body)
        return once_with_it(
            wiring.kept_answers, asked, now, create_once, "an earlier request had it with another body"
        )

    def edit(self, body: EditTimer) -> EditAnswer:
        """Edit a timer.

        An enabled timer stays enabled: moments of the old schedule more than countsWithinMs away no longer fire, and
        those of the new one do, at once. A field that is absent stays. The answer shows the next five moments.
        """
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        find, seals = self._calendars_of(body.app), wiring.seals
        timer = wiring.registrar.edit(
            body.app, body.id, lambda was: edited_timer(body.asked, was, now, find, seals), body.version
        )
        return EditAnswer(
            data=planned_timer(timer, now, body), counts_within_ms=self._counts_within_ms(timer)
        )

    def enable(self, body: TimerKey) -> TimerAnswer:
        """Enable a timer, by its id or by its name.

        A one-shot up to a minute past fires at once; an older one is refused. Enabling twice changes nothing.
        """
        return self._answer(self.wiring().registrar.enable(body.app, body.id_in(self.wiring().timers)))

    def disable(self, body: TimerKey) -> StopAnswer:
        """Disable a timer, by its id or by its name.

        A moment more than countsWithinMs away no longer fires. Firings that were requested before (fire now, replay,
        backfill) and are not sent by then stop too. `stopped` says what becomes of the next moment. Disabling twice
        changes nothing.
        """
        timer = self.wiring().registrar.disable(body.app, body.id_in(self.wiring().timers))
        return StopAnswer(
            data=self._data(timer),
            stopped=self._stopped(timer),
            counts_within_ms=self._counts_within_ms(timer),
        )

    def delete(self, body: TimerKey) -> DeleteAnswer:
        """Delete a timer, by its id or by its name.

        A moment more than countsWithinMs away no longer fires; `stopped` says what becomes of the next one. The name is
        free again; the records stay.
        """
        timer = self.wiring().registrar.delete(body.app, body.id_in(self.wiring().timers), body.name)
        return DeleteAnswer(stopped=self._stopped(timer), counts_within_ms=self._counts_within_ms(timer))

    def get(self, query: TimerQuery) -> TimerAnswer:
        """Read a timer."""
        return self._answer(self.wiring().timers.get(query.app, query.id))

    def _stopped(self, timer: Timer) -> StoppedData | None:
        return stopped_data(self.wiring().stops.of([timer]).get(timer.id))

    def _calendars_of(self, app: str) -> FindCalendar:
        return partial(find_calendar, self.wiring().calendars, app)

    def _answer(self, timer: Timer) -> TimerAnswer:
        return TimerAnswer(data=self._data(timer))

    def _data(self, timer: Timer) -> TimerData:
        return TimerData.of(**timer_fields(timer, int(self.wiring().clock.now_ms())))

    def _counts_within_ms(self, timer: Timer) -> int:
        return counts_within_ms(timer.is_told, self.wiring().settings.lead_ms)

    def timers(self, query: TimersQuery) -> TimersAnswer:
        """List an app's timers.

        They are sorted by id unless `sort` says otherwise. Rows that come and go between two pages neither hide nor
        repeat others. Each row has its next moment and its last outcome. A page is shorter where its timers take much
        CPU or have large calls; nextCursor leads to the rest.
        """
        if query.numbered is not None:
            return self._numbered_timers(query.wanted, query.order, query.numbered)
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        order = query.order
        kind = str if order.key is SortKey.NAME else int
        listed = cursors.of_list(query.sorted_by, query)
        behind = None if query.cursor is None else cursors.read(listed, query.cursor, kind)
        page = TimerPage(query.wanted, order, query.limit, behind)
        rows, last = page.rows(wiring, now, partial(_row, now))
        return TimersAnswer(data=rows, next_cursor=None if last is None else cursors.write(listed, *last))

    def timers_by_name(self, query: NameQuery) -> TimersAnswer:
        """List an app's timers whose name contains a text.

        The order and pages are xTimer's: latest first, numbered pages. `/defs` has cursors and filters.
        """
        wanted = TimerFilter(query.app, contains=query.text)
        return self._numbered_timers(wanted, Order(SortKey.ID, descending=True), query.numbered)

    def _numbered_timers(self, wanted: TimerFilter, order: Order, page: NumberedPage) -> TimersAnswer:
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        found = wiring.timer_lists.page(wanted, order, page.size, now, skipped=page.skipped)
        total = wiring.timer_lists.count(wanted, now)
        outcomes = wiring.firing_lists.last_outcomes([timer.id for timer in found], now)
        rows = [_row(now, timer, outcomes) for timer in found]
        return TimersAnswer(data=rows, next_cursor=None, total=total)

    def records(self, query: RecordsQuery) -> RecordsAnswer:
        """List a timer's firings.

        The latest come first; future firings only with pending=true. A deleted timer's records stay readable.
        """
        wiring, timer_id, numbered = self.wiring(), query.timer, query.numbered
        listed = cursors.of_list(ORDER, query)
        before = None if query.cursor is None else int(cursors.read(listed, query.cursor, int)[0])
        wiring.timers.refuse_unknown(query.app, timer_id)
        upto = None if query.pending else int(wiring.clock.now_ms())
        if numbered is not None:
            return self._numbered_records(query, numbered, upto)
        found = wiring.firings.records(timer_id, query.limit + 1, before, upto)
        shown, is_last = found[: query.limit], len(found) <= query.limit
        data = [record_data(record, query.app) for record in shown]
        return RecordsAnswer(
            data=data, next_cursor=None if is_last else cursors.write(listed, data[-1].fire_at_ms, timer_id)
        )

    def _numbered_records(self, query: RecordsQuery, page: NumberedPage, upto: int | None) -> RecordsAnswer:
        wiring = self.wiring()
        # What is refused because it takes too long is refused before rows are skipped, which takes as long.
        total = wiring.firing_lists.count(FiringFilter(query.app, query.timer, last=upto))
        found = wiring.firings.records(query.timer, page.size, upto=upto, skipped=page.skipped)
        return RecordsAnswer(
            data=[record_data(record, query.app) for record in found], next_cursor=None, total=total
        )


def xtimer_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of xTimer's operations."""
    views, routes = XtimerViews(wiring), APIBlueprint("xtimer", __name__, url_prefix="/api")

    def add(
        tag: Tag,
        method: str,
        rule: str,
        view: View,
        operation_id: str,
        *errors: int,
        answer: type[Answer] | None = None,
        may_fire: bool = False,
    ) -> None:
        """Add a route; `answer` is the model where the view makes the response itself."""
        options = documented(view, operation_id, *errors, answer=answer)
        served = serving(view)
        getattr(routes, method)(rule, tags=[tag], **options)(
            refusing_callbacks(served) if may_fire else served
        )

    path = "/timer/v1/def"
    add(TIMERS, "post", path, views.create, "createTimer", 409, 422, answer=CreateAnswer, may_fire=True)
    add(TIMERS, "patch", path, views.edit, "editTimer", 404, 409, may_fire=True)
    add(TIMERS, "get", path, views.get, "getTimer", 404)
    add(TIMERS, "delete", path, views.delete, "deleteTimer", 404)
    add(TIMERS, "post", "/timer/v1/enable", views.enable, "enableTimer", 404, 409, may_fire=True)
    # xTimer's word for it.
    add(TIMERS, "post", "/timer/v1/unable", views.disable, "unableTimer", 404)
    add(TIMERS, "get", "/timer/v1/defs", views.timers, "listTimers")
    add(TIMERS, "get", "/timer/v1/defsByName", views.timers_by_name, "listTimersByName")
    add(RECORDS, "get", "/task/v1/records", views.records, "listRecords", 404)
    return routes


def _row(now: int, timer: Timer, outcomes: Mapping[int, FiringRecord]) -> ListedTimerData:
    return ListedTimerData.of(**timer_fields(timer, now), last_outcome=_last(outcomes.get(timer.id)))


def _last(record: FiringRecord | None) -> LastOutcome | None:
    if record is None:
        return None
    firing = record.firing
    return LastOutcome.of(record, run_timer=firing.fire_at, status_name=firing.status.value)


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
        status=_RECORD_STATUS[firing.status],
        status_name=firing.status.value,
        webhook_id=firing.member.firing_id,
        kind=firing.kind.value,
        waited_for=SharedLane(firing.lane).shown,
    )
