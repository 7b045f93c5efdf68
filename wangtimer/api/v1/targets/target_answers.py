"""A named target as v1 shows it."""

from typing import Annotated, Any

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import MethodWord
from wangtimer.api.v1.shown import ListPage, Span, Text
from wangtimer.api.v1.targets.message_models import ShownCelery, ShownConsumers, ShownQueue, place_fields
from wangtimer.api.v1.timers.declared_fields import showing
from wangtimer.api.v1.timers.retry_models import ShownRetry, shown_retry
from wangtimer.api.v1.timers.timer_answers import (
    ShownMarks,
    call_fields,
)
from wangtimer.core.messages.message_place import is_message_url, place_from
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.target_changes import TargetChange


@showing
class _ShownCall(Sent):
    """A target's call without its marks."""

    name: Annotated[str, Field(examples=["shop"])]
    url: Annotated[
        str | None, Field(description="not there: it sends messages", examples=["https://shop.example/hooks"])
    ] = None
    method: Annotated[MethodWord | None, Field(description="with url")] = None
    queue: Annotated[ShownQueue | None, Field(description="in place of url: where messages go")] = None
    celery: Annotated[ShownCelery | None, Field(description="in place of url: who runs tasks")] = None
    consumers: Annotated[
        ShownConsumers | None, Field(description="in place of url: who gets its firings")
    ] = None
    headers: Annotated[dict[str, list[str]], Field(description="each name with its values")]
    body: str


class ShownNamedTarget(ShownMarks, _ShownCall):
    """A target of an app; `***` stands in place of each secret."""

    keep_output: Annotated[
        str | None,
        Field(
            description="when the start of its answers is kept on record; not there: always",
            examples=["onFailure"],
        ),
    ] = None
    retry: Annotated[
        ShownRetry | None,
        Field(description="not there: as the app does, else as the deployment does"),
    ] = None
    timers: Annotated[
        int | None,
        Field(description="how many timers name it; not there in lists and after changes", examples=[3]),
    ] = None
    version: Annotated[int, Field(description="grows with every change", examples=[1795207483000])]
    created_at: Text
    updated_at: Text


class ShownTargetChange(ShownNamedTarget):
    """A target as it is now."""

    counts_within: Annotated[
        Span, Field(description="calls of all its timers that are further away are made so")
    ]


class ListedTargets(ListPage):
    """A page of an app's targets."""

    items: list[ShownNamedTarget]


def shown_target(target: NamedTarget, timers: int | None = None) -> ShownNamedTarget:
    """Return a target as answers show it; `timers` is how many name it."""
    return ShownNamedTarget.of(target, **_fields(target), timers=timers)


def shown_change(changed: TargetChange) -> ShownTargetChange:
    """Return a change as answers show it."""
    target, within_ms = changed.target, changed.counts_within_ms
    return ShownTargetChange.of(target, **_fields(target), counts_within=within_ms)


def _fields(target: NamedTarget) -> dict[str, Any]:
    """Return the fields that a target has in another form."""
    fields = call_fields(target.call, target.timeouts, target.form)
    if is_message_url(target.call.url):
        fields |= {"url": None, "method": None, **place_fields(place_from(target.call.url))}
    keeps = None if target.keep_output is KeepOutput.ALWAYS else target.keep_output
    return fields | {"name": target.name, "keep_output": keeps, "retry": shown_retry(target.retry)}
