"""What v1's callers may say of a timer."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import by_word
from wangtimer.api.http.field_types import (
    ChangedHeaders,
    ChangedMethod,
    Given,
    Headers,
    Method,
    Name,
    plain,
    plain_at,
)
from wangtimer.api.http.notify_rules import MOST_HEADERS, check_header_name, check_path
from wangtimer.api.http.refusals import bad_value, missing_field
from wangtimer.api.timer_terms.timer_field_types import (
    OF_OVERLAPS,
    RETRY_WORDS,
    Body,
    ChangedBody,
    ChangedUrl,
    Url,
)
from wangtimer.api.timer_terms.timer_reading import AskedChange, AskedTimer
from wangtimer.api.v1.timers.declared_fields import (
    ASKED_BY,
    OF_MISFIRES,
    OF_TIMERS,
    OF_TIMERS_ALONE,
    OfTimers,
    Schedule,
    fields_given,
    taking,
)
from wangtimer.api.v1.timers.declared_fields import OF_CALLS as FIELDS_OF_CALLS
from wangtimer.api.v1.timers.retry_models import GivenRetry
from wangtimer.api.v1.words_of_targets import (
    ELSEWHERE_THAN_CALLS,
    ELSEWHERE_THAN_TASKS,
    ELSEWHERE_THAN_TIMERS,
    OF_CALLS,
    OF_TASKS,
    OVERLAP_WORDS,
)
from wangtimer.core.errors import UnknownTarget
from wangtimer.core.messages.celery_task import TASK_CHARACTERS, CeleryTask
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.numbers_as_written import json_text
from wangtimer.core.timers.named_target import TARGET_CHARACTERS, NamedTarget
from wangtimer.core.timers.timer import Notify, SecretMarks

# An example of a target.
_CALL = '{"url": "https://shop.example/orders/expire"}'
_JSON = Field(
    description="instead of body: sent as JSON, with Content-Type: application/json unless headers name another",
    examples=[{"order": 7}],
)


_taking_of_timers = partial(taking, fields=OF_TIMERS_ALONE)


def _header_names(names: list[str] | None) -> list[str] | None:
    """Return names of headers in lower case, each once; raises `Refused`."""
    if names is None:
        return None
    for name in names:
        check_header_name(name, "secretHeaders")
    return list(dict.fromkeys(name.lower() for name in names))


# Words of other schedulers for what `retry` says, which stands beside the target.
_OF_ATTEMPTS = by_word({'write it beside the target, as in "retry": {"attempts": 3}': RETRY_WORDS})


_TARGET_NAME = Field(
    min_length=1,
    max_length=TARGET_CHARACTERS,
    description="instead of url: a target of the app (PUT /v1/targets/...). The timer gives only what differs",
    examples=["shop"],
)
TargetName = Annotated[str, _TARGET_NAME, AfterValidator(plain)]
_Named = Annotated[str, _TARGET_NAME, AfterValidator(lambda name: plain_at(name, "target.name"))]
TargetPart = Annotated[
    str | None,
    Field(
        description="with name: what stands behind the URL of the target, a path, a query or both. It cannot lead out "
        "of the path of the target",
        examples=["/orders/expire?order=7"],
    ),
    AfterValidator(lambda path: path if path is None else check_path(path)),
]


class GivenTask(Given):
    """A task for the app's own Celery workers; the body of the timer is this object as JSON."""

    words_here: ClassVar[Mapping[str, str]] = OF_TASKS
    meant_elsewhere: ClassVar[Mapping[str, str]] = ELSEWHERE_THAN_TASKS
    example: ClassVar[str] = '{"task": "shop.tasks.expire", "args": [7]}'

    task: Annotated[str, Field(min_length=1, max_length=TASK_CHARACTERS, examples=["shop.tasks.expire"])]
    """the task's name, as its worker knows it"""
    args: Annotated[list[Any] | None, Field(examples=[[7]])] = None
    """its arguments in order"""
    kwargs_: Annotated[dict[str, Any] | None, Field(alias="kwargs", examples=[{"notify": True}])] = None
    """its arguments by name"""
    queue: str | None = None
    """another queue than the target's, if the operator allows it"""

    def text(self) -> str:
        """Return it as the body of a timer."""
        return CeleryTask(self.task, self.args or [], self.kwargs_ or {}, self.queue or "").text()


_TASK_IN_PATCH = (
    'a task is stored as the body: give the whole one as json, as in {"task": "shop.tasks.expire"}'
)


class _Marks(Given):
    """Which parts of an HTTP call are secret."""

    example: ClassVar[str] = _CALL
    words_here: ClassVar[Mapping[str, str]] = OF_CALLS
    meant_elsewhere: ClassVar[Mapping[str, str]] = {**_OF_ATTEMPTS, **ELSEWHERE_THAN_CALLS}

    secret_headers: Annotated[
        list[str] | None,
        Field(max_length=MOST_HEADERS, examples=[["X-Tenant"]]),
        AfterValidator(_header_names),
    ] = None
    """names of headers whose values are secret, beside those that are by their names (Authorization, Cookie, and any
    with token, key, secret, password or the like in it): they are stored encrypted, and shown as ***. Sent back, ***
    leaves the secret as it is"""
    secret_query: bool | None = None
    """true: all of the URL's query is secret, not only the values of parameters that are by their names"""
    secret_body: bool | None = None
    """true: the body is secret"""


@taking
class _CallParts(Given):
    """An HTTP call without its marks."""

    url: Url | None = None
    method: Method = "POST"
    headers: Annotated[Headers, Field(default_factory=tuple)]
    body: Body = None
    json_: Annotated[Any, _JSON, Field(alias="json")] = None


class CallFields(_Marks, _CallParts):
    """An HTTP call."""

    def call_to(self, url: str, target: str = "") -> Notify:
        """Return the call to a URL, or through a target to what stands behind its URL; raises `Refused`."""
        body, headers = _body_of(self, self.headers)
        # A method that is not given is the target's.
        method = self.method if "method" in self.model_fields_set or not target else ""
        marks = SecretMarks(tuple(self.secret_headers or ()), bool(self.secret_query), bool(self.secret_body))
        return Notify(url, method, headers, body or "", marks, target=target)


@_taking_of_timers
class Target(CallFields):
    """The HTTP call to make at each moment: to `url`, or through a target of the app, which is named."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = {**_OF_ATTEMPTS, **ELSEWHERE_THAN_TIMERS}

    name: _Named | None = None
    path: TargetPart = None
    celery: GivenTask | None = None
    """with the name of a Celery target: the task that a worker runs. It is stored, and shown, as body"""

    def call(self) -> Notify:
        """Return the call; raises `Refused`."""
        _refuse_both(self)
        if self.celery is not None and self.name is None:
            reason, mend = "a URL is called, and runs no Celery task", "name a Celery target in place of url"
            raise bad_value("target.celery", reason, mend)
        if self.name is not None:
            return self.call_to(self.path or "", self.name)
        if self.url is not None:
            return self.call_to(self.url)
        mend = "it is required; or name a target of the app"
        raise missing_field("target.url", "missing", mend)


@taking
class _ChangedParts(Given):
    """What is to change of an HTTP call, without its marks."""

    url: ChangedUrl = None
    method: ChangedMethod = None
    headers: ChangedHeaders = None
    body: ChangedBody = None
    json_: Annotated[Any, _JSON, Field(alias="json")] = None


class CallChange(_Marks, _ChangedParts):
    """What is to change of an HTTP call (RFC 7396): what is not given stays, null gives a part its default."""

    def given(self) -> dict[str, Any]:
        """Return what is given of the call itself, as `changed_call` takes it; raises `Refused`."""
        fields = self.model_fields_set & CallChange.model_fields.keys() - {
            field.name for field in FIELDS_OF_CALLS
        }
        given = {name: getattr(self, name) for name in fields - {"json_"}}
        if "json_" in self.model_fields_set:
            given["body"], _ = _body_of(self, ())
        return given


@_taking_of_timers
class TargetChange(CallChange):
    """What is to change of a timer's call (RFC 7396).

    What is not given stays, null gives a part its default. A `url` takes the place of a named target, and the other way
    round.
    """

    meant_elsewhere: ClassVar[Mapping[str, str]] = {
        **_OF_ATTEMPTS,
        **ELSEWHERE_THAN_TIMERS,
        "celery": _TASK_IN_PATCH,
    }

    name: _Named | None = None
    path: TargetPart = None

    def given(self) -> dict[str, Any]:
        """Return the same, and what is given of where it goes; raises `Refused`."""
        _refuse_both(self)
        if "name" in self.model_fields_set and self.name is None:
            reason, mend = "it is null", "give a url, which takes its place"
            raise bad_value("target.name", reason, mend)
        place: dict[str, str | None] = {"target": self.name} if self.name is not None else {}
        if "path" in self.model_fields_set:
            place["path"] = self.path
        return super().given() | place


def _refuse_both(target: Target | TargetChange) -> None:
    if target.url is not None and (target.name is not None or target.path is not None):
        field = "name" if target.name is not None else "path"
        reason = "url is given too: a named target has its own"
        raise bad_value(f"target.{field}", reason, "give one of them")
    if isinstance(target, Target) and target.path is not None and target.name is None:
        raise bad_value("target.path", "no target is named", "name the target too")


def _body_of(
    target: CallFields | CallChange, headers: tuple[tuple[str, str], ...]
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the body and headers of a call; raises `Refused`."""
    task = getattr(target, "celery", None)
    if isinstance(task, GivenTask):
        if target.body is not None or target.json_ is not None:
            raise bad_value("target.celery", "body or json is given too", "give one of them")
        return task.text(), headers
    if target.json_ is None:
        return target.body, headers
    if target.body is not None:
        raise bad_value("target.json", "body is given too", "give one of them")
    body = json_text(target.json_)
    if any(name.lower() == "content-type" for name, _ in headers):
        return body, headers
    return body, (*headers, ("Content-Type", "application/json"))


@partial(taking, fields=OF_MISFIRES)
class Misfire(Given):
    """What to do with firings that are found late, say after an outage."""

    example: ClassVar[str] = '{"policy": "skip"}'


Key = Annotated[Name, Field(description="the app's own key for it, unique in the app", examples=["order-42"])]


# Where a change says which version of the timer it is meant for.
_OF_VERSIONS = dict.fromkeys(
    ("version", "etag", "ifMatch"),
    "the version that a change is meant for is sent as the header If-Match; leave it out",
)


@partial(taking, fields=OF_TIMERS)
class TimerFields(OfTimers):
    """A timer's fields beside its schedule and target."""

    value_words: ClassVar[Mapping[str, Mapping[str, str]]] = {"overlap": OVERLAP_WORDS}
    meant_elsewhere: ClassVar[Mapping[str, str]] = {**OF_OVERLAPS, **_OF_ATTEMPTS, **_OF_VERSIONS}

    misfire: Misfire | None = None
    retry: GivenRetry = None

    def given(self) -> dict[str, Any]:
        """Return what is given, by the names in core; raises `Refused`."""
        asked = fields_given(self, OF_TIMERS)
        if "retry" in self.model_fields_set:
            asked["retry"] = None if self.retry is None else self.retry.given()
        return asked if self.misfire is None else asked | fields_given(self.misfire, OF_MISFIRES)


class WholeTimerBody(TimerFields):
    """A whole timer: a field that is absent gets its default."""

    schedule: Schedule
    target: Target
    enabled: Annotated[bool, Field(description="false: it does not fire until it is enabled")] = True

    def asked(self, key: str) -> AskedTimer:
        """Return the timer that is asked for; raises `Refused`."""
        schedule = self.schedule.whole()
        fields, call = self.given(), self.target.call()
        return AskedTimer(key, schedule, call, fields | fields_given(self.target))


class NewTimerBody(WholeTimerBody):
    """A new timer."""

    key: Name | None = None
    """the app's own key for it, unique in the app; made up where it is absent"""


class TimerPatch(TimerFields):
    """Changes of a timer (JSON merge patch, RFC 7396): a field that is absent stays, null gives it its default."""

    key: Key | None = None
    schedule: Annotated[
        Schedule | None,
        Field(
            description=f"merged too: another of {', '.join(ASKED_BY.values())} takes the place of the one there was"
        ),
    ] = None
    target: TargetChange | None = None
    enabled: Annotated[bool | None, Field(description="changed in the same commit as all else")] = None

    def asked(self) -> AskedChange:
        """Return the change that is asked for; raises `Refused`."""
        fields, schedule = self.given(), {} if self.schedule is None else self.schedule.given()
        if self.target is None:
            return AskedChange(self.key, schedule, None, fields)
        call = self.target.given()
        return AskedChange(self.key, schedule, call, fields | fields_given(self.target))


class PreviewBody(OfTimers):
    """A schedule to preview."""

    schedule: Schedule
    count: Annotated[int, Field(ge=1, le=100, description="moments to show, at most", examples=[10])] = 10


_MEND = "give json or body, or name a Celery target; GET /v1/targets lists them"


def refuse_task_elsewhere(target: Target, app: str, find: Callable[[str, str], NamedTarget]) -> None:
    """Raise `Refused` where `celery` is given for a target of another kind; an unknown one is refused elsewhere."""
    if target.celery is None or target.name is None:
        return
    try:
        what = _what_it_does(find(app, target.name).call.url)
    except UnknownTarget:
        return
    if what:
        reason = f"target {target.name!r} {what}, and runs no Celery task"
        raise bad_value("target.celery", reason, _MEND)


def _what_it_does(url: str) -> str:
    """Return what a target does with its firings; "": it runs Celery tasks."""
    if not is_message_url(url):
        return "is called over HTTP"
    kind = place_from(url).kind
    if kind is PlaceKind.CELERY:
        return ""
    return "gives its firings to consumers" if kind is PlaceKind.CONSUMERS else "sends messages"
