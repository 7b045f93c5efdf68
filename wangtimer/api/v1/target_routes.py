"""Named targets over v1: list, read, make, change, delete."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from wangtimer.api.http.allowed_targets import check_place, check_way_out
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, MethodWord
from wangtimer.api.http.notify_rules import check_headers, check_same_origin, check_url
from wangtimer.api.http.refusals import bad_value, missing_field
from wangtimer.api.http.serving import Reply
from wangtimer.api.timer_terms.timer_reading import changed_call, refuse_bad_form, refuse_longer
from wangtimer.api.v1.message_models import (
    CeleryQueue,
    ConsumersOf,
    MessageQueue,
    ShownCelery,
    ShownConsumers,
    ShownQueue,
    place_fields,
)
from wangtimer.api.v1.parameters import ETAG, AppHeader, ChangeHeader, etag
from wangtimer.api.v1.resource import MADE_OR_CHANGED, Resource, Route
from wangtimer.api.v1.timers.declared_fields import fields_given, showing
from wangtimer.api.v1.timers.retry_models import GivenRetry, ShownRetry, shown_retry
from wangtimer.api.v1.timers.timer_answers import ShownMarks, call_fields
from wangtimer.api.v1.timers.timer_models import CallChange, CallFields, TargetName
from wangtimer.api.v1.value_types import ListPage, PageQuery, Span, Text
from wangtimer.api.v1.words_of_targets import ELSEWHERE_THAN_TARGETS
from wangtimer.core.errors import Subject, UnknownTarget, VersionChanged
from wangtimer.core.messages.consumer_group import USUAL_ACK_MS
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.retry import changed_policy
from wangtimer.core.timers.call_options import AS_DEPLOYED, KeepOutput, Timeouts
from wangtimer.core.timers.fields import FORM, TIMEOUTS
from wangtimer.core.timers.named_target import NamedTarget, refuse_headers_that_route, refuse_without_answer
from wangtimer.core.timers.timer import Notify
from wangtimer.features.target_changes import TargetChange
from wangtimer.store.seals import Seals


class TargetPath(Given):
    """Which target."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TARGET: "name"}

    name: TargetName


class _OfTargets(Given):
    """What a named target has beside its call."""

    queue: MessageQueue | None = None
    """instead of url: a place at a message broker that the operator named"""
    celery: CeleryQueue | None = None
    """instead of url: the app's own Celery workers, behind a broker that the operator named"""
    consumers: ConsumersOf | None = None
    """instead of url: consumers that connect to us, such as behind a firewall. A firing that none of them acknowledges
    within ackTimeout, 30 s by default, is tried again"""
    keep_output: Annotated[Literal["always", "onFailure", "never"] | None, Field(examples=["onFailure"])] = (
        None
    )
    """when the start of its answers is kept on the record of a firing: always, the default; only of attempts that
    failed; or never. Where a timer says otherwise, what keeps less counts"""
    retry: GivenRetry = None

    def changed(
        self, before: NamedTarget, asked: Notify, was: NamedTarget | None, seals: Seals
    ) -> NamedTarget:
        """Return the target with what the request gives, its call as `asked` for and with its secrets sealed.

        `was` is the target that is there, if any; `before` that, or one with all defaults. Raises `InvalidInput`,
        `UnopenedSecrets`.
        """
        _refuse_secret_query(asked)
        check_place_or_way_out(asked.url, before.app)
        refuse_other_kind(asked.url, was)
        given = fields_given(self)
        timeouts = _acknowledged(asked.url, TIMEOUTS.read(given, before.timeouts))
        refuse_longer(timeouts, AS_DEPLOYED if was is None else was.timeouts)
        form = FORM.read(given, before.form)
        refuse_bad_form(asked, form, may_have_seq=True)
        refuse_without_answer(asked.url, timeouts, form)
        refuse_headers_that_route(asked.url, asked.headers)
        changes: dict[str, Any] = {"timeouts": timeouts, "form": form}
        if "keep_output" in self.model_fields_set:
            changes["keep_output"] = KeepOutput(self.keep_output or KeepOutput.ALWAYS)
        if "retry" in self.model_fields_set:
            changes["retry"] = (
                None if self.retry is None else changed_policy(before.retry, self.retry.given())
            )
        if was is None:
            seals.refuse_new(asked)
            call = seals.seal(asked, before.app, before.name)
        else:
            call = seals.changed(asked, was, _check)
        return before.changed_to(call, **changes)


class TargetBody(_OfTargets, CallFields):
    """A whole target: a field that is absent gets its default."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = {**CallFields.meant_elsewhere, **ELSEWHERE_THAN_TARGETS}
    is_call: ClassVar[bool] = True

    def target_of(self, app: str, name: str, was: NamedTarget | None, seals: Seals) -> NamedTarget:
        """Return what the target is to be; raises `InvalidInput`, `UnopenedSecrets`."""
        asked = self.call_to(_url_of(self, None))
        return self.changed(NamedTarget(app, name, 0, asked), asked, was, seals)


class TargetPatch(_OfTargets, CallChange):
    """Changes of a target (JSON merge patch, RFC 7396): what is absent stays, null gives it its default."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = {**CallFields.meant_elsewhere, **ELSEWHERE_THAN_TARGETS}
    is_call: ClassVar[bool] = True

    def target_of(self, was: NamedTarget, seals: Seals) -> NamedTarget:
        """Return what the target is to be; raises `InvalidInput`, `UnopenedSecrets`."""
        asked = changed_call(self.given(), was.call)
        if self.queue is not None or self.celery is not None or self.consumers is not None:
            asked = asked._replace(url=_url_of(self, was))
        elif "method" in self.model_fields_set:
            _refuse_method(was.call.url)
        return self.changed(was, asked, was, seals)


def _url_of(target: TargetBody | TargetPatch, was: NamedTarget | None) -> str:
    """Return where the target leads, as it is stored: to a URL, or to a place for messages; raises `Refused`."""
    given = [name for name in ("url", "queue", "celery", "consumers") if getattr(target, name) is not None]
    if len(given) > 1:
        reason = f"{given[0]} is given too, and a target leads to one place"
        raise bad_value(given[1], reason, "give one of them")
    places = [queue.place() for queue in (target.queue, target.celery, target.consumers) if queue is not None]
    if places:
        if "method" in target.model_fields_set:
            _refuse_method(places[0].url)
        return places[0].url
    if target.url is None:
        mend = "it is required; or give queue, celery or consumers, which are sent messages"
        raise missing_field("url", "missing", mend)
    return target.url if was is None else was.call.url


def _refuse_method(url: str) -> None:
    if is_message_url(url):
        raise bad_value("method", "the target sends messages, which have none", "leave it out")


def _refuse_secret_query(asked: Notify) -> None:
    """Raise `Refused`: a place at a broker is no secret, and one that is masked could not be shown."""
    if asked.marks.query and is_message_url(asked.url):
        reason, mend = "the target sends messages, which have no query", "leave it out, or give false"
        raise bad_value("secretQuery", reason, mend)


def check_place_or_way_out(url: str, app: str) -> None:
    """Raise `Refused` where the app may neither call nor send messages."""
    if is_message_url(url):
        check_place(place_from(url), app)
    else:
        check_way_out(url, app)


def refuse_other_kind(url: str, was: NamedTarget | None) -> None:
    """Raise `Refused` where a target would be of another kind: its timers give what only the one kind takes."""
    if was is not None and _kind_of(url) != _kind_of(was.call.url):
        reason = "a target stays what it is: HTTP, messages, Celery or consumers"
        raise bad_value("url", reason, "make another target, and name that")


def _kind_of(url: str) -> str:
    if not is_message_url(url):
        return "http"
    kind = place_from(url).kind
    return kind.value if kind in (PlaceKind.CELERY, PlaceKind.CONSUMERS) else "queue"


def _acknowledged(url: str, timeouts: Timeouts) -> Timeouts:
    """Return the time-outs of a target: what goes to consumers is always acknowledged, within 30 s by default."""
    if timeouts.ack_ms is not None or not is_message_url(url):
        return timeouts
    is_consumers = place_from(url).kind is PlaceKind.CONSUMERS
    return timeouts._replace(ack_ms=USUAL_ACK_MS) if is_consumers else timeouts


def _check(call: Notify, kept_from: Notify | None) -> None:
    """Raise `Refused` for a call that is too long, and where a kept secret would go to another host."""
    check_headers(call.headers)
    if not is_message_url(call.url):
        check_url(call.url)
    if kept_from is not None:
        check_same_origin(call.url, kept_from.url)


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

    keep_output: Annotated[str | None, Field(examples=["onFailure"])] = None
    """when the start of its answers is kept on record; not there: always"""
    retry: ShownRetry | None = None
    """not there: as the app does, else as the deployment does"""
    timers: Annotated[int | None, Field(examples=[3])] = None
    """how many timers name it; not there in lists and after changes"""
    version: Annotated[int, Field(examples=[1795207483000])]
    """grows with every change"""
    created_at: Text
    updated_at: Text


class ShownTargetChange(ShownNamedTarget):
    """A target as it is now."""

    counts_within: Annotated[
        Span, Field(description="calls of all its timers that are further away are made so")
    ]


Shown = TypeVar("Shown", bound=ShownNamedTarget)


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
    fields = call_fields(target.call, target.timeouts, target.form)
    if is_message_url(target.call.url):
        fields |= {"url": None, "method": None, **place_fields(place_from(target.call.url))}
    keeps = None if target.keep_output is KeepOutput.ALWAYS else target.keep_output
    return fields | {"name": target.name, "keep_output": keeps, "retry": shown_retry(target.retry)}


ONE = "/targets/<string:name>"


class TargetResource(Resource):
    """The operations on named targets."""

    @Route("get", "/targets", "listTargets")
    def page(self, header: AppHeader, query: PageQuery) -> ListedTargets:
        """List targets, by name."""
        find = partial(self.wiring().target_store.page, header.app)
        return ListedTargets.by_name(query, f"{header.app} targets", find, shown_target)

    @Route("get", ONE, "getTarget", (404,), headers=(ETAG,))
    def get(self, path: TargetPath, header: AppHeader) -> Reply[ShownNamedTarget]:
        """Read a target, and how many timers name it."""
        store = self.wiring().target_store
        target = store.get(header.app, path.name)
        return _tagged(shown_target(target, store.timers_of(header.app, path.name)))

    @Route("put", ONE, "putTarget", (409,), statuses=MADE_OR_CHANGED, headers=(ETAG,))
    def put(self, path: TargetPath, header: ChangeHeader, body: TargetBody) -> Reply[ShownTargetChange]:
        """Make a target, or replace it.

        A new one answers 201. A change counts for all timers that name it, however many they are. `***` stands for the
        secret that is there; where scheme, host or port of the URL change, each secret must be given anew. An app has
        1,000 targets at most (409).
        """

        def change(was: NamedTarget | None) -> NamedTarget:
            if was is None and header.if_match is not None:
                reason = f"app {header.app!r} has no target {path.name!r}"
                raise VersionChanged("version", reason, "leave the condition on its version out")
            return body.target_of(header.app, path.name, was, self.wiring().seals)

        return self._changed(path, header, change)

    @Route("patch", ONE, "patchTarget", (404, 409), headers=(ETAG,))
    def patch(self, path: TargetPath, header: ChangeHeader, body: TargetPatch) -> Reply[ShownTargetChange]:
        """Change a target.

        The body is a JSON merge patch (RFC 7396; `application/merge-patch+json` is taken too). What it changes counts
        for all timers that name the target.
        """

        def change(was: NamedTarget | None) -> NamedTarget:
            if was is None:
                raise UnknownTarget(header.app, path.name)
            return body.target_of(was, self.wiring().seals)

        return self._changed(path, header, change)

    @Route("delete", ONE, "deleteTarget", (404, 409))
    def delete(self, path: TargetPath, header: ChangeHeader) -> None:
        """Delete a target that no timer names; where timers name it, 409 says how many."""
        self.wiring().target_changes.remove(header.app, path.name, header.version)

    def _changed(
        self, path: TargetPath, header: ChangeHeader, change: Callable[[NamedTarget | None], NamedTarget]
    ) -> Reply[ShownTargetChange]:
        changed: TargetChange = self.wiring().target_changes.change(
            header.app, path.name, change, header.version
        )
        return _tagged(shown_change(changed), 201 if changed.is_made else 200)


def _tagged(shown: Shown, status: int = 200) -> Reply[Shown]:
    return Reply(shown, status, {ETAG: etag(shown.version)})
