"""What v1's callers may say of a named target."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from wangtimer.api.http.allowed_targets import check_place, check_way_out
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.notify_rules import check_headers, check_same_origin, check_url
from wangtimer.api.http.refusals import Refused
from wangtimer.api.timer_terms.timer_reading import changed_call, refuse_bad_form, refuse_longer
from wangtimer.api.v1.targets.message_models import CeleryQueue, ConsumersOf, MessageQueue
from wangtimer.api.v1.timers.declared_fields import call_fields_given
from wangtimer.api.v1.timers.retry_models import GivenRetry
from wangtimer.api.v1.timers.timer_models import (
    CallChange,
    CallFields,
    TargetName,
)
from wangtimer.api.v1.words_of_targets import ELSEWHERE_THAN_TARGETS
from wangtimer.core.errors import Subject
from wangtimer.core.messages.consumer_group import USUAL_ACK_MS
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.retry import changed_policy
from wangtimer.core.timers.fields import changed_form, changed_timeouts
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import (
    NamedTarget,
    refuse_headers_that_route,
    refuse_without_answer,
)
from wangtimer.core.timers.timeouts import AS_DEPLOYED, Timeouts
from wangtimer.core.timers.timer import Notify
from wangtimer.store.seals import Seals

_KeepOutput = Annotated[
    Literal["always", "onFailure", "never"] | None,
    Field(
        description="when the start of its answers is kept on the record of a firing: always, the default; only of "
        "attempts that failed; or never. Where a timer says otherwise, what keeps less counts",
        examples=["onFailure"],
    ),
]


_Queue = Annotated[
    MessageQueue | None,
    Field(description="instead of url: a place at a message broker that the operator named"),
]
_Celery = Annotated[
    CeleryQueue | None,
    Field(
        description="instead of url: the app's own Celery workers, behind a broker that the operator named"
    ),
]


_Consumers = Annotated[
    ConsumersOf | None,
    Field(
        description="instead of url: consumers that connect to us, such as behind a firewall. A firing that none of "
        "them acknowledges within ackTimeout, 30 s by default, is tried again"
    ),
]


class TargetPath(Given):
    """Which target."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TARGET: "name"}

    name: TargetName


class _OfTargets(Given):
    """What a named target has beside its call."""

    queue: _Queue = None
    celery: _Celery = None
    consumers: _Consumers = None
    keep_output: _KeepOutput = None
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
        given = call_fields_given(self)
        timeouts = _acknowledged(asked.url, changed_timeouts(before.timeouts, given))
        refuse_longer(timeouts, AS_DEPLOYED if was is None else was.timeouts)
        form = changed_form(before.form, given)
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
        raise Refused(ErrorCode.BAD_VALUE, given[1], reason, "give one of them")
    places = [one.place() for one in (target.queue, target.celery, target.consumers) if one is not None]
    if places:
        if "method" in target.model_fields_set:
            _refuse_method(places[0].url)
        return places[0].url
    if target.url is None:
        mend = "it is required; or give queue, celery or consumers, which are sent messages"
        raise Refused(ErrorCode.MISSING_FIELD, "url", "missing", mend)
    return target.url if was is None else was.call.url


def _refuse_method(url: str) -> None:
    if is_message_url(url):
        raise Refused(
            ErrorCode.BAD_VALUE, "method", "the target sends messages, which have none", "leave it out"
        )


def _refuse_secret_query(asked: Notify) -> None:
    """Raise `Refused`: a place at a broker is no secret, and one that is masked could not be shown."""
    if asked.marks.query and is_message_url(asked.url):
        reason, mend = "the target sends messages, which have no query", "leave it out, or give false"
        raise Refused(ErrorCode.BAD_VALUE, "secretQuery", reason, mend)


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
        raise Refused(ErrorCode.BAD_VALUE, "url", reason, "make another target, and name that")


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
