"""A firing as v1 shows it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.timer_terms.timer_field_types import LastOutput, Lateness, ShownKind, WaitedFor
from wangtimer.api.v1.firings.sent_request import Calls, RequestState, SentRequest, sent_request
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.attempts import AttemptRecord, FiringHistory
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import TimerLabel

StatusWord = Literal["pending", "accepted", "succeeded", "failed", "skipped"]
ShownUrl = Annotated[
    str | None,
    Field(
        description="what its timer calls now, secrets masked; null: it goes through a named target, or is deleted",
        examples=["https://shop.example/orders/expire"],
    ),
]


class ShownFiring(Sent):
    """A firing: one moment of one timer, and its outcome."""

    id: Annotated[
        str,
        Field(
            description="the header webhook-id of its callbacks, the same on every attempt",
            examples=["890342217101453-1795198611123"],
        ),
    ]
    timer_id: int
    timer_key: Annotated[str | None, Field(description="its timer's key; null: the timer is long deleted")]
    url: ShownUrl
    target: Annotated[
        str | None, Field(description="the named target that its timer calls through now; null: none")
    ]
    app: str
    fire_at: Annotated[Text, Field(description="its scheduled moment")]
    status: StatusWord
    kind: ShownKind
    attempt: Annotated[int, Field(description="from 1: the last attempt made, or the next one to make")]
    first_sent_at: Annotated[Text | None, Field(description="null: nothing was sent")]
    lateness_ms: Lateness
    duration_ms: Annotated[int | None, Field(description="of the last attempt's call; null: no attempt yet")]
    http_status: int | None
    output: LastOutput
    error: str
    next_attempt_at: Annotated[
        Text | None,
        Field(
            description="while it is pending: when its next attempt is due; `waitedFor` says what it waits for then"
        ),
    ] = None
    waited_for: WaitedFor
    host_failing_ms: Annotated[
        int | None,
        Field(
            description="while its last attempt waited to be sent, how long its host was failing, in ms: calls to a "
            "host that is failing wait, and one at a time tries it; null: not at all"
        ),
    ]
    accepted_at: Annotated[
        Text | None,
        Field(description="its target answered 202, to say later that it is done; not there: it did not"),
    ] = None
    ack_by: Annotated[
        Text | None, Field(description="while it is accepted: without a word by then its attempt has failed")
    ] = None
    done_at: Annotated[Text | None, Field(description="its target said that it is done")] = None
    seq: Annotated[
        int | None,
        Field(
            description="its number among the planned firings of its timer, from 1, as X-WangTimer-Sequence tells it; "
            "not there: the timer was not numbered when it was planned, or somebody asked for it"
        ),
    ] = None


class ShownAttempt(Sent):
    """One attempt; durations in ms from the start of its call."""

    attempt: Annotated[int, Field(description="from 1")]
    status: Annotated[
        Literal["accepted", "succeeded", "failed", "skipped"],
        Field(
            description="failed, even when another attempt follows; accepted: its target has still to say that it is "
            "done"
        ),
    ]
    made_at: Annotated[
        Text | None,
        Field(
            description="when it was sent, or where not a byte was, when its call began; null: no call was made"
        ),
    ]
    sent_at: Annotated[Text | None, Field(description="null: not a byte was sent")]
    lateness_ms: Annotated[int | None, Field(description="its send minus the firing's scheduled moment")]
    connect_ms: Annotated[
        int | None,
        Field(description="until the connection was open, 0 where it was open before; null: it never was"),
    ]
    first_byte_ms: Annotated[
        int | None, Field(description="until the answer began; null: there was no answer")
    ]
    duration_ms: Annotated[
        int | None, Field(description="until the answer ended, or the attempt failed without one")
    ]
    http_status: int | None
    output: Annotated[str, Field(description="the start of the target's answer")]
    error: str


class ShownHistory(ShownFiring):
    """A firing with its attempts so far, the first one first, and the request as it was sent."""

    attempts: list[ShownAttempt]
    request: Annotated[
        SentRequest | None,
        Field(description="the request of the last attempt that was sent; null: requestState says why"),
    ]
    request_state: Annotated[
        RequestState,
        Field(
            description="as_sent: request is what was sent. not_sent: nothing was sent yet. timer_changed: the request "
            "is not known, because the timer was changed or deleted since it was sent, or less than 8 s before"
        ),
    ]


class FiringPage(ListPage):
    """A page of firings, latest first."""

    items: list[ShownFiring]


def firing_fields(record: FiringRecord, label: TimerLabel) -> dict[str, Any]:
    """Return the fields of a `ShownFiring` that its record has elsewhere; `label` is its timer's."""
    firing = record.firing
    return {
        "id": firing.member.firing_id,
        "timer_id": firing.timer_id,
        "timer_key": label.key,
        "url": label.url,
        "target": label.target,
        "app": label.app,
        "fire_at": firing.fire_at,
        "status": firing.status,
        "kind": firing.kind,
        "attempt": firing.attempt,
        "duration_ms": record.cost_ms,
        "next_attempt_at": firing.due_at if firing.status is FiringStatus.PENDING else None,
        "waited_for": SharedLane(firing.lane).shown,
        "ack_by": firing.due_at if firing.status is FiringStatus.ACCEPTED else None,
        "seq": firing.seq,
    }


def shown_history(
    history: FiringHistory, label: TimerLabel, timer: Timer | None, calls: Calls
) -> ShownHistory:
    """Return a firing of a timer with its attempts; None: the timer is deleted.

    `calls` tells what its request was made of, with its secrets; they are not shown.
    """
    record = history.record
    attempts = [_shown_attempt(attempt, record.firing.fire_at) for attempt in history.attempts]
    state, request = sent_request(history, timer, calls)
    return ShownHistory.of(
        record, **firing_fields(record, label), attempts=attempts, request=request, request_state=state
    )


def _shown_attempt(attempt: AttemptRecord, fire_at: int) -> ShownAttempt:
    lateness_ms = None if attempt.sent_at is None else attempt.sent_at - fire_at
    return ShownAttempt.of(
        attempt, attempt=attempt.number, duration_ms=attempt.cost_ms, lateness_ms=lateness_ms
    )
