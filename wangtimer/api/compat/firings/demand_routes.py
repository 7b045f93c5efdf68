"""Firings on demand over HTTP: fire now, replay, cancel, backfill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.compat.firings.demand_models import (
    AskedFiringAnswer,
    BackfillAnswer,
    BackfillData,
    BackfillFirings,
    CancelAnswer,
    CancelFiring,
    FiringKey,
    NotReplayedData,
    ReplayAnswer,
    ReplayData,
    ReplayFirings,
    SpreadFields,
)
from wangtimer.api.compat.firings.record_routes import record_data
from wangtimer.api.compat.tags import RECORDS
from wangtimer.api.compat.timers.asked_key import id_of
from wangtimer.api.compat.timers.timer_models import TimerKey
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.kept_answer import refusing_key
from wangtimer.api.http.moments import read_moment_field, read_range
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import taking_body
from wangtimer.api.http.refusals import Refused
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.told import counts_within_ms
from wangtimer.on_demand import Rate, Replayed
from wangtimer.store.sql.firing_filter import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.wiring import Wiring

# The fields that select the firings to replay where `firings` does not list them.
FILTER = ("id", "since", "until", "statuses")


@dataclass(frozen=True, slots=True)
class DemandViews:
    """The operations on demand."""

    wiring: Callable[[], Wiring]

    def fire_now(self, body: TimerKey) -> AskedFiringAnswer:
        """Fire a timer now, by its id or by its name.

        The timer may be enabled, disabled or finished; its schedule and misfire policy do not matter. So it can be
        tried before it is enabled. Each request is one more firing.
        """
        wiring = self.wiring()
        firing = wiring.on_demand.fire_now(body.app, id_of(body, wiring.timers))
        return _answer(FiringRecord(firing, None, None, None, None, "", ""), body.app)

    def cancel(self, body: CancelFiring) -> CancelAnswer:
        """Cancel one future firing.

        It is recorded as skipped; the timer goes on. This works up to 1.5 s before its moment, planned already or not.
        A repeat changes nothing.
        """
        fire_at = read_moment_field(body.fire_at, "fireAt")
        wiring = self.wiring()
        record, is_told = wiring.on_demand.cancel(body.app, body.id, fire_at)
        return CancelAnswer(
            data=record_data(record, body.app),
            counts_within_ms=counts_within_ms(is_told, wiring.settings.lead_ms),
        )

    def replay(self, body: ReplayFirings) -> ReplayAnswer:
        """Replay firings.

        Failed or skipped firings get one more attempt with the same webhook-id, even where the timer is disabled.
        """
        rate = _rate(body)
        on_demand = self.wiring().on_demand
        if body.firings is None:
            done = on_demand.replay_matching(self._filter(body), rate, body.dry_run)
        else:
            _refuse_both(body)
            done = on_demand.replay_these(body.app, _keys(body.firings), rate, body.dry_run)
        return ReplayAnswer(data=_replay_data(done))

    def backfill(self, body: BackfillFirings) -> BackfillAnswer:
        """Backfill a past range.

        The moments of the timer's current schedule in (since, until] that have no record fire now, even where the timer
        is disabled.
        """
        since, until = (read_moment_field(getattr(body, name), name) for name in ("since", "until"))
        done = self.wiring().on_demand.backfill(body.app, body.id, since, until, _rate(body), body.dry_run)
        first, last = _dues(done.firings)
        return BackfillAnswer(
            data=BackfillData(
                matched=done.matched,
                planned=len(done.firings),
                first_due_at_ms=first,
                last_due_at_ms=last,
                remaining=done.remaining,
                next_since=None if done.next_since is None else show_moment(done.next_since),
            )
        )

    def _filter(self, body: ReplayFirings) -> FiringFilter:
        if body.since is None:
            raise Refused(
                ErrorCode.MISSING_FIELD, "since", "neither firings nor since is given", "give one of them"
            )
        first, last = read_range(body.since, body.until)
        return FiringFilter(
            body.app,
            body.id,
            tuple(FiringStatus(word) for word in dict.fromkeys(body.statuses or ["failed"])),
            first,
            int(self.wiring().clock.now_ms()) if last is None else last,
            is_living=True,
        )


def demand_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of firings on demand."""
    views = DemandViews(wiring)
    routes = APIBlueprint("demands", __name__, url_prefix="/api/task/v1", abp_tags=[RECORDS])
    fire, cancel = views.fire_now, views.cancel
    routes.post("/fire", **documented(fire, "fireNow", 404, 409))(
        refusing_callbacks(refusing_key(taking_body(fire)))
    )
    routes.post("/cancel", **documented(cancel, "cancelFiring", 404, 409))(taking_body(cancel))
    routes.post("/replay", **documented(views.replay, "replayFirings"))(
        refusing_callbacks(taking_body(views.replay))
    )
    routes.post("/backfill", **documented(views.backfill, "backfillFirings", 404))(
        refusing_callbacks(taking_body(views.backfill))
    )
    return routes


def _answer(record: FiringRecord, app: str) -> AskedFiringAnswer:
    return AskedFiringAnswer(data=record_data(record, app))


def _replay_data(done: Replayed) -> ReplayData:
    first, last = _dues(done.firings)
    return ReplayData(
        matched=done.matched,
        replayed=len(done.firings),
        not_replayed=[
            NotReplayedData(id=one.timer_id, fire_at_ms=one.fire_at, msg=one.why) for one in done.left
        ],
        first_due_at_ms=first,
        last_due_at_ms=last,
        remaining=done.remaining,
    )


def _dues(firings: Sequence[Firing]) -> tuple[int | None, int | None]:
    dues = [firing.due_at for firing in firings]
    return min(dues, default=None), max(dues, default=None)


def _rate(body: SpreadFields) -> Rate:
    start = None if body.start_at is None else read_moment_field(body.start_at, "startAt")
    return Rate(body.per_second, start)


def _keys(firings: Sequence[FiringKey]) -> list[tuple[int, int]]:
    return [
        (one.id, read_moment_field(one.fire_at, f"firings.{index}.fireAt"))
        for index, one in enumerate(firings)
    ]


def _refuse_both(body: ReplayFirings) -> None:
    for name in FILTER:
        if getattr(body, name) is not None:
            raise Refused(
                ErrorCode.BAD_VALUE, name, "given beside firings", "leave it out, or leave firings out"
            )
