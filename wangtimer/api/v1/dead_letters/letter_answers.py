"""A dead letter as v1 shows it."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.timer_terms.timer_field_types import ShownKind
from wangtimer.api.v1.firings.firing_answers import ShownUrl
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.flow.dead_letter import DeadLetter
from wangtimer.store.sql.dead_letters import MOST_COUNTED, DeadLetterCounts

_Reason = Annotated[str, Field(description="why, in a word", examples=["http_503"])]
_Host = Annotated[
    str,
    Field(description="host and port that the last attempt called; empty: no call could be made"),
]
_Number = Annotated[int, Field(description="how many")]
_Target = Annotated[str | None, Field(description="the named target of its timer then; null: none")]


class ShownDeadLetter(Sent):
    """A firing that has failed for good."""

    id: Annotated[
        str,
        Field(
            description="the firing's id, the webhook-id of its callbacks",
            examples=["890342217101453-1795198611123"],
        ),
    ]
    timer_id: int
    timer_key: Annotated[str, Field(description="its timer's key when it failed")]
    app: str
    kind: ShownKind
    fire_at: Annotated[Text, Field(description="its scheduled moment")]
    failed_at: Annotated[Text, Field(description="when its last attempt ended")]
    attempt: Annotated[int, Field(description="the number of the last attempt")]
    reason: _Reason
    http_status: Annotated[int | None, Field(description="of the last attempt; null: no answer")]
    error: str
    host: _Host
    target: _Target
    url: ShownUrl


class DeadLetterPage(ListPage):
    """A page of dead letters, the latest first."""

    items: list[ShownDeadLetter]


class OfReason(Sent):
    """How many dead letters have a reason."""

    reason: _Reason
    number: _Number


class OfTarget(Sent):
    """How many dead letters called a host, through a named target or not."""

    target: _Target
    host: _Host
    number: _Number


class ShownDeadLetterCounts(Sent):
    """How many dead letters there are, and of what; the most first."""

    total: int
    by_reason: Annotated[list[OfReason], Field(description=f"{MOST_COUNTED} at most")]
    by_target: Annotated[list[OfTarget], Field(description=f"{MOST_COUNTED} at most")]


class Discarded(Sent):
    """How many dead letters were discarded."""

    matched: Annotated[int, Field(description="of this request; with dryRun of all that match")]
    discarded: Annotated[int, Field(description="how many are gone")]
    not_discarded: Annotated[
        list[str], Field(description="those of `ids` that are no dead letters of the app")
    ]
    remaining: Annotated[int, Field(description="0: none is left; else repeat the request for the others")]


def shown_letter(letter: DeadLetter, url: str | None) -> ShownDeadLetter:
    """Return a dead letter as answers show it; `url` is what its timer calls now."""
    return ShownDeadLetter.of(letter, id=letter.firing_id, timer_key=letter.name, url=url)


def shown_counts(counts: DeadLetterCounts) -> ShownDeadLetterCounts:
    """Return counts as answers show them."""
    reasons, targets = counts.by_reason.items(), counts.by_target.items()
    return ShownDeadLetterCounts(
        total=counts.total,
        by_reason=[OfReason(reason=reason, number=number) for reason, number in reasons],
        by_target=[OfTarget.of(called, number=number) for called, number in targets],
    )
