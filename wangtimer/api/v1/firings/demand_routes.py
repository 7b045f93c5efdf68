"""Firings on demand over v1: fire now, replay, cancel, backfill."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from flask import Response
from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, GivenMoment, moment
from wangtimer.api.http.kept_answers import kept_text
from wangtimer.api.http.moments import read_moment_field, read_range
from wangtimer.api.http.refusals import Refused, bad_value, missing_field
from wangtimer.api.http.request_context import begin_if_many, begin_large
from wangtimer.api.http.serving import Reply, response_of
from wangtimer.api.v1.firings.firing_answers import ShownFiring, firing_fields
from wangtimer.api.v1.firings.firing_routes import ONE, FiringPath
from wangtimer.api.v1.parameters import WHICH, ActingHeader, TimerPath
from wangtimer.api.v1.resource import MADE, Resource, Route
from wangtimer.api.v1.value_types import Span, Text
from wangtimer.core.errors import Subject
from wangtimer.core.flow.firing import Firing, FiringStatus, MemberKey
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.kept_answers import Asked, FiringToKeep
from wangtimer.store.sql.timer_lists import TimerLabel
from wangtimer.timers.on_demand import MOST_AT_ONCE, MOST_COUNTED, Rate, Replayed

# The most firings that one request may name.
MOST_NAMED = 1_000
MOST_PER_SECOND = 1_000

OnlyCountFirings = Annotated[bool, Field(description="only count the matches; nothing is changed")]
_FirstDueAt = Annotated[Text | None, Field(description="null: nothing is due")]


class CancelledFiring(ShownFiring):
    """A cancelled firing, and how soon that takes effect."""

    counts_within: Span


class SpreadBody(Given):
    """How the firings of one request are spread over time."""

    per_second: Annotated[int, Field(ge=1, le=MOST_PER_SECOND, examples=[50])] = 50
    """how many a second"""
    start_at: Annotated[
        GivenMoment,
        moment(
            "the first firing is due at this moment, at most 7 days ahead; now by default. For the next part: "
            "lastDueAt of the previous one"
        ),
    ] = None
    dry_run: OnlyCountFirings = False

    @property
    def rate(self) -> Rate:
        """How many firings a second, from which moment on; raises `Refused`."""
        start = None if self.start_at is None else read_moment_field(self.start_at, "startAt")
        return Rate(self.per_second, start)


class ReplayBody(SpreadBody):
    """Which firings to attempt once more: those in `ids`, or all with `statuses` since a moment."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "timer"}

    ids: Annotated[list[str] | None, Field(min_length=1, max_length=MOST_NAMED, fail_fast=True)] = None
    """these firings, failed or skipped"""
    timer: str | None = None
    """else: firings of this timer only: its id, or `key:` and its key"""
    since: Annotated[GivenMoment, moment("else: scheduled at this moment or later")] = None
    until: Annotated[GivenMoment, moment("else: scheduled at this moment or earlier; now by default")] = None
    statuses: Annotated[list[Literal["failed", "skipped"]] | None, Field(min_length=1, max_length=2)] = None
    """else: with these statuses; failed by default"""


class BackfillBody(SpreadBody):
    """The past range in which a timer's moments are to fire now."""

    since: Annotated[GivenMoment, moment("moments after this one")]
    until: Annotated[
        GivenMoment, moment("up to this moment, which must be past; at most 366 days after since")
    ]


class NotReplayedFiring(Sent):
    """A firing that is not replayed."""

    id: str
    detail: Annotated[str, Field(description="why", examples=["it is succeeded"])]


class ReplayOutcome(Sent):
    """How many firings match, and how many of them are replayed."""

    matched: int
    replayed: int
    not_replayed: list[NotReplayedFiring]
    first_due_at: _FirstDueAt
    last_due_at: Text | None
    remaining: Annotated[
        int,
        Field(
            description=f"firings left, as a request replays {MOST_AT_ONCE} at most, and an app so many an hour as its "
            "limit says; repeat it for the rest"
        ),
    ]


class BackfillOutcome(Sent):
    """How many moments match, and how many of them had no record and fire now."""

    matched: Annotated[
        int,
        Field(description=f"moments in this request; with dryRun in the whole range, up to {MOST_COUNTED}"),
    ]
    planned: int
    first_due_at: _FirstDueAt
    last_due_at: Text | None
    remaining: Annotated[
        int,
        Field(
            description=f"moments left, as a request makes {MOST_AT_ONCE} at most, and an app so many an hour as its "
            f"limit says, counted up to {MOST_COUNTED}; with dryRun the matched moments without a record"
        ),
    ]
    next_since: Annotated[Text | None, Field(description="since of the next part; null: this was the last")]


class DemandResource(Resource):
    """The operations on demand."""

    @Route(
        "post",
        f"/timers/{WHICH}:fire",
        "fireTimer",
        (404,),
        statuses=MADE,
        headers=("Location",),
        keeps_its_answer=True,
    )
    def fire(self, path: TimerPath, header: ActingHeader) -> Reply[ShownFiring] | Response:
        """Fire a timer now.

        The timer may be enabled, disabled or finished; its schedule and misfire policy do not matter. Each request is
        one more firing. Exception: a repeat with the same `Idempotency-Key`.
        """
        wiring = self.wiring()

        def fire(asked: Asked | None = None) -> Reply[ShownFiring]:
            timer_id = path.id_in(header.app, wiring.timers)
            label = self._label_of(timer_id, header.app)
            kept = None if asked is None else FiringToKeep(asked, lambda firing: _kept(firing, label))
            return _fired(wiring.on_demand.fire_now(header.app, timer_id, kept), label)

        if header.idempotency_key is None:
            return fire()

        def fire_once(asked: Asked) -> Response:
            return response_of(fire(asked))

        return self.once_with_it("fire", fire_once, path=path, header=header)

    @Route("post", f"/timers/{WHICH}:backfill", "backfillTimer", (404,))
    def backfill(self, path: TimerPath, header: ActingHeader, body: BackfillBody) -> BackfillOutcome:
        """Backfill a past range.

        The moments of the timer's current schedule in (since, until] that have no record fire now, even where the timer
        is disabled.
        """
        begin_large()
        wiring = self.wiring()
        since, until = (read_moment_field(getattr(body, name), name) for name in ("since", "until"))
        timer_id = path.id_in(header.app, wiring.timers)
        done = wiring.on_demand.backfill(header.app, timer_id, since, until, body.rate, body.dry_run)
        return BackfillOutcome.of(done, planned=len(done.firings), **_dues(done.firings))

    @Route("post", f"{ONE}:cancel", "cancelFiring", (404,), is_for_callbacks=True)
    def cancel(self, path: FiringPath, header: ActingHeader) -> CancelledFiring:
        """Cancel a future firing.

        It is recorded as skipped; the timer goes on. It works up to 1.5 s before its moment. A repeat changes nothing.
        """
        wiring = self.wiring()
        record, is_told = wiring.on_demand.cancel(header.app, *path.timer_and_moment)
        within = counts_within_ms(is_told, wiring.settings.lead_ms)
        label = self._label_of(record.firing.timer_id, header.app)
        return CancelledFiring.of(record, **firing_fields(record, label), counts_within=within)

    @Route("post", f"{ONE}:replay", "replayFiring", (404,))
    def replay(self, path: FiringPath, header: ActingHeader) -> ReplayOutcome:
        """Replay a firing.

        A failed or skipped firing gets one more attempt with the same webhook-id, even where the timer is disabled.
        """
        done = self.wiring().on_demand.replay_these(
            header.app, [path.timer_and_moment], Rate(MOST_PER_SECOND)
        )
        return shown_replays(done)

    @Route("post", "/firings:replay", "replayFirings", (404,))
    def replay_many(self, header: ActingHeader, body: ReplayBody) -> ReplayOutcome:
        """Replay firings.

        Failed or skipped firings get one more attempt with the same webhook-id, even where the timer is disabled.
        """
        on_demand = self.wiring().on_demand
        begin_if_many(body.ids)
        if body.ids is None:
            return shown_replays(
                on_demand.replay_matching(self._filter(header.app, body), body.rate, body.dry_run)
            )
        for name in ("timer", "since", "until", "statuses"):
            if getattr(body, name) is not None:
                raise bad_value(name, "ids are given too", "give one of them")
        keys = [key_of(text, index) for index, text in enumerate(body.ids)]
        return shown_replays(on_demand.replay_these(header.app, keys, body.rate, body.dry_run))

    def _label_of(self, timer_id: int, app: str) -> TimerLabel:
        return self.wiring().timer_lists.labels_of([timer_id]).get(timer_id, TimerLabel(app))

    def _filter(self, app: str, body: ReplayBody) -> FiringFilter:
        if body.since is None:
            raise missing_field("since", "neither ids nor since is given", "give one of them")
        wiring = self.wiring()
        first, last = read_range(body.since, body.until)
        timer = None if body.timer is None else TimerPath(which=body.timer)
        return FiringFilter(
            app,
            None if timer is None else timer.id_in(app, wiring.timers),
            tuple(FiringStatus(word) for word in dict.fromkeys(body.statuses or ["failed"])),
            first,
            self.now() if last is None else last,
            is_living=True,
        )


def _fired(firing: Firing, label: TimerLabel) -> Reply[ShownFiring]:
    record = FiringRecord(firing, None, None, None, None, "", "")
    headers = {"Location": f"/v1/firings/{firing.member.firing_id}"}
    return Reply(ShownFiring.of(record, **firing_fields(record, label)), 201, headers)


def key_of(firing_id: str, index: int) -> MemberKey:
    """Return which firing the id at this place of `ids` names; raises `Refused`."""
    try:
        return FiringPath(firing_id=firing_id).timer_and_moment
    except Refused as refused:
        raise Refused(refused.code, f"ids.{index}", refused.reason, refused.mend) from None


def _kept(firing: Firing, label: TimerLabel) -> str:
    return kept_text(response_of(_fired(firing, label)))


def shown_replays(done: Replayed) -> ReplayOutcome:
    """Return replays as answers show them."""
    left = [
        NotReplayedFiring(id=f"{firing.timer_id}-{firing.fire_at}", detail=firing.why) for firing in done.left
    ]
    return ReplayOutcome.of(done, replayed=len(done.firings), not_replayed=left, **_dues(done.firings))


def _dues(firings: Sequence[Firing]) -> dict[str, int | None]:
    dues = [firing.due_at for firing in firings]
    return {"first_due_at": min(dues, default=None), "last_due_at": max(dues, default=None)}
