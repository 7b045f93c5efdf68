"""A named target as v1 shows it."""

from typing import Annotated, Any

from pydantic import Field

from wangtimer.api.http.envelope import Sent, is_none
from wangtimer.api.http.field_types import MethodWord
from wangtimer.api.v1.shown import ListPage, Span, Text
from wangtimer.api.v1.targets.message_models import ShownCelery, ShownConsumers, ShownQueue, place_fields
from wangtimer.api.v1.timers.call_fields import showing
from wangtimer.api.v1.timers.retry_models import ShownRetry, shown_retry
from wangtimer.api.v1.timers.timer_answers import (
    WhetherBodySecret,
    WhetherQuerySecret,
    WhichHeadersSecret,
    call_fields,
)
from wangtimer.core.messages.message_place import is_message_url, place_from
from wangtimer.core.time.durations import show_duration
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.target_changes import TargetChange


@showing
class _ShownCall(Sent):
    """A target's call without its marks."""

    name: Annotated[str, Field(examples=["shop"])]
    url: Annotated[
        str | None,
        Field(
            exclude_if=is_none,
            description="not there: it sends messages",
            examples=["https://shop.example/hooks"],
        ),
    ] = None
    method: Annotated[MethodWord | None, Field(exclude_if=is_none, description="with url")] = None
    queue: Annotated[
        ShownQueue | None, Field(exclude_if=is_none, description="in place of url: where messages go")
    ] = None
    celery: Annotated[
        ShownCelery | None, Field(exclude_if=is_none, description="in place of url: who runs tasks")
    ] = None
    consumers: Annotated[
        ShownConsumers | None, Field(exclude_if=is_none, description="in place of url: who gets its firings")
    ] = None
    headers: Annotated[dict[str, list[str]], Field(description="each name with its values")]
    body: str


class ShownNamedTarget(_ShownCall):
    """A target of an app; `***` stands in place of each secret."""

    secret_headers: WhichHeadersSecret = None
    secret_query: WhetherQuerySecret = None
    secret_body: WhetherBodySecret = None
    keep_output: Annotated[
        str | None,
        Field(
            exclude_if=is_none,
            description="when the start of its answers is kept on record; not there: always",
            examples=["onFailure"],
        ),
    ] = None
    retry: Annotated[
        ShownRetry | None,
        Field(exclude_if=is_none, description="not there: as the app does, else as the deployment does"),
    ] = None
    timers: Annotated[
        int | None,
        Field(
            exclude_if=is_none,
            description="how many timers name it; not there in lists and after changes",
            examples=[3],
        ),
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


def shown_target(one: NamedTarget, timers: int | None = None) -> ShownNamedTarget:
    """Return a target as answers show it; `timers` is how many name it."""
    return ShownNamedTarget(**_fields(one), timers=timers)


def shown_change(changed: TargetChange) -> ShownTargetChange:
    """Return a change as answers show it."""
    return ShownTargetChange(**_fields(changed.target), counts_within=show_duration(changed.counts_within_ms))


def _fields(one: NamedTarget) -> dict[str, Any]:
    keeps, fields = one.keep_output, call_fields(one.call, one.timeouts, one.form)
    if is_message_url(one.call.url):
        fields |= {"url": None, "method": None, **place_fields(place_from(one.call.url))}
    return fields | {
        "name": one.name,
        "keep_output": None if keeps is KeepOutput.ALWAYS else keeps.value,
        "retry": shown_retry(one.retry),
        "version": one.version,
        "created_at": show_moment(one.created_at),
        "updated_at": show_moment(one.updated_at),
    }
