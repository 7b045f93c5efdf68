"""The fields of a timer: what callers give, and what the service shows. A new field is added only here.

`About` beside a field is its help text in the command line; `described` reads it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints

from .values import Moment, Span

FieldKind = Literal["text", "texts", "number", "flag", "choice", "moment", "span"]


@dataclass(frozen=True, slots=True)
class About:
    """A field's text for people.

    `default` is the value of an absent field. `is_rule`: a schedule has exactly one such field. `can_be_cleared`: None
    removes the value.
    """

    help: str
    default: Any = None
    is_rule: bool = False
    can_be_cleared: bool = False


# The text of a field whose value None removes.
clearable = partial(About, can_be_cleared=True)


@dataclass(frozen=True, slots=True)
class DescribedField:
    """A field: its name in v1, its kind of value, its words if it is a choice, and its text."""

    name: str
    kind: FieldKind
    choices: tuple[str, ...]
    about: About


@cache
def described(fields: type) -> Mapping[str, DescribedField]:
    """Return the fields of a typed dictionary that have an `About`, by name."""
    hints = get_type_hints(fields, include_extras=True)
    return {name: _described(name, hint) for name, hint in hints.items() if get_origin(hint) is Annotated}


def defaults(fields: type) -> dict[str, Any]:
    """Return the values of these fields in a timer that does not give them; None: no value."""
    return {name: field.about.default for name, field in described(fields).items() if not field.about.is_rule}


def _described(name: str, hint: Any) -> DescribedField:
    value, about = get_args(hint)
    kinds = set(get_args(value)) - {NoneType}
    for kind, union in (("moment", Moment), ("span", Span)):
        if kinds == set(get_args(union)):
            return DescribedField(name, kind, (), about)  # type: ignore[arg-type]
    (only,) = kinds
    if get_origin(only) is Literal:
        return DescribedField(name, "choice", get_args(only), about)
    return DescribedField(name, _PLAIN[only], (), about)


_PLAIN: Mapping[Any, FieldKind] = {str: "text", int: "number", bool: "flag", list[str]: "texts"}


Dialect = Literal["unix", "quartz"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
MisfirePolicy = Literal["fire_all", "fire_latest", "skip"]
KeepOutput = Literal["always", "onFailure", "never"]
Overlap = Literal["allow", "skip", "queueOne", "cancelOlder"]
Backoff = Literal["exponential", "fixed"]
TimerStatus = Literal["enabled", "disabled", "finished", "deleted"]


class Rule(TypedDict, total=False):
    """Exactly one of `cron`, `every`, `everyDays`, `at` and `delay`, with its details."""

    cron: Annotated[str | None, About("5 fields; or 6 or 7 with SECONDS FIRST; or @daily, ...", is_rule=True)]
    dialect: Annotated[
        Dialect | None,
        About("How cron is read: unix by default; quartz counts weekdays from 1, Sunday.", default="unix"),
    ]
    every: Annotated[Span | None, About("An interval, as in 90s.", is_rule=True)]
    everyDays: Annotated[
        int | None, About("An interval of days, at the time of day of the anchor.", is_rule=True)
    ]
    anchorAt: Annotated[Moment | None, About("Intervals are counted from this moment.")]
    at: Annotated[Moment | None, About("One moment: RFC 3339, or ms since 1970.", is_rule=True)]
    delay: Annotated[Span | None, About("One moment, this long from now: 10m, 1h30m.", is_rule=True)]


class Schedule(Rule, total=False):
    """When it fires: a rule and its bounds. None is the same as absent. Exception: in a change, it removes a bound."""

    timezone: Annotated[
        str | None,
        About("IANA zone of the cron, of excluded days, of moments without an offset.", default="UTC"),
    ]
    startAt: Annotated[Moment | None, clearable("Nothing fires before.")]
    endAt: Annotated[Moment | None, clearable("Nothing fires after.")]
    maxFirings: Annotated[int | None, clearable("It is finished after this many moments.")]
    jitter: Annotated[Span | None, clearable("Each moment is delayed by at most this.")]
    excludeCalendar: Annotated[str | None, clearable("Nothing fires on its days: weekends, cn-off-days, ...")]


class ShownSchedule(TypedDict):
    """When a timer fires: `cron` and `dialect`, or `every` or `everyDays` and `anchorAt`, or `at`; and bounds."""

    cron: NotRequired[str]
    dialect: NotRequired[Dialect]
    every: NotRequired[str]
    everyDays: NotRequired[int]
    anchorAt: NotRequired[str]
    at: NotRequired[str]
    timezone: NotRequired[str]
    startAt: NotRequired[str]
    endAt: NotRequired[str]
    maxFirings: NotRequired[int]
    jitter: NotRequired[str]
    excludeCalendar: NotRequired[str]


class CallTerms(TypedDict, total=False):
    """A call, but for its headers. `json` is instead of `body`: any JSON."""

    url: str | None
    method: Annotated[Method | None, clearable("POST by default.", "POST")]
    body: str | None
    json: Any
    timeout: Annotated[
        Span | None, clearable("So long a call may take; by default as long as the service gives all.")
    ]
    connectTimeout: Annotated[
        Span | None, clearable("So long it may take to open a connection; by default as the service says.")
    ]
    firstByteTimeout: Annotated[
        Span | None,
        clearable("So long the first byte of an answer may take; by default as long as the whole."),
    ]
    ackTimeout: Annotated[
        Span | None,
        clearable(
            "So long a target that answers 202 may take until it says that it is done; by default 202 is done."
        ),
    ]
    templates: Annotated[bool | None, clearable("Placeholders such as {{fireAt}} are filled in.", False)]
    cloudEvents: Annotated[bool | None, clearable("It is sent as a CloudEvent, in binary mode.", False)]
    bodyIsBase64: Annotated[
        bool | None, clearable("The body is sent as the bytes that it says in Base64.", False)
    ]
    allowControl: Annotated[
        bool | None,
        clearable(
            "An answer may stop the timer, put it off, or set its next moment (X-WangTimer-Control).", False
        ),
    ]
    secretHeaders: Annotated[
        list[str] | None,
        clearable("A header whose value is secret, as Authorization is by its name; may be repeated."),
    ]
    secretQuery: Annotated[bool | None, clearable("All of the URL's query is secret.", False)]
    secretBody: Annotated[bool | None, clearable("The body is secret.", False)]


class CallPatch(CallTerms, total=False):
    """Changes of a call; the rest of it stays.

    `headers` changes the headers it names, in any case. None takes a header, all headers, the body or the time-out
    away, and makes the method POST.
    """

    headers: Mapping[str, str | list[str] | None] | None


class OfTimersCall(TypedDict, total=False):
    """What only a timer's call has, and no named target."""

    name: Annotated[str | None, About("A target of the app that the call goes through, instead of a URL.")]
    path: Annotated[str | None, About("Stands behind the URL of that target, as in /expire?order=7.")]
    numbered: Annotated[
        bool | None,
        clearable("Calls tell their number, the last moment that succeeded, and what was lost since.", False),
    ]


class TargetPatch(CallPatch, OfTimersCall):
    """Changes of a timer's call; the rest of it stays. A `url` takes the place of a named target, and the other way."""


class Retry(TypedDict, total=False):
    """When a failed call is tried again. What is absent is as usual; in a change it stays, and None makes it usual."""

    attempts: Annotated[int | None, About("How often a call is made at most; 1: never again.")]
    backoff: Annotated[
        Backoff | None, About("exponential: each pause is twice the one before; fixed: all are the same.")
    ]
    pause: Annotated[Span | None, About("After the first attempt, or with fixed after each.")]
    longestPause: Annotated[Span | None, About("Pauses grow up to this.")]
    pauses: Annotated[
        list[str] | None,
        About(
            "Instead of those four: the next pause, as in 1m; repeated, there is one more attempt than pauses."
        ),
    ]
    within: Annotated[
        Span | None, About("All pauses together are at most so long; further attempts are not made.")
    ]
    finalStatuses: Annotated[
        list[str] | None,
        About("After this status, or class as in 4xx, there is no other attempt; may be repeated."),
    ]
    retriedStatuses: Annotated[
        list[str] | None,
        About("After this one there is, though its class is final, and after 410; may be repeated."),
    ]


class ShownRetry(TypedDict):
    """When a failed call is tried again."""

    attempts: int
    backoff: NotRequired[Backoff]
    pause: NotRequired[str]
    longestPause: NotRequired[str]
    pauses: NotRequired[list[str]]
    within: NotRequired[str]
    finalStatuses: NotRequired[list[str]]
    retriedStatuses: NotRequired[list[str]]


class MessageQueue(TypedDict):
    """Where messages go: an `exchange` with a `routingKey`, a `stream` (`maxLength`: about so many), or a `list`."""

    broker: str
    exchange: NotRequired[str | None]
    routingKey: NotRequired[str | None]
    stream: NotRequired[str | None]
    maxLength: NotRequired[int | None]
    list: NotRequired[str | None]


class CeleryQueue(TypedDict):
    """Which of the app's own Celery workers run tasks."""

    broker: str
    queue: NotRequired[str]


class Consumers(TypedDict):
    """A group of consumers that connect to the service; `fallbackUrl` is called while none is connected."""

    group: str
    fallbackUrl: NotRequired[str | None]


class GivenTask(TypedDict):
    """A task for them, in place of a body."""

    task: str
    args: NotRequired[Sequence[Any] | None]
    kwargs: NotRequired[Mapping[str, Any] | None]
    queue: NotRequired[str | None]


class OfNamedTarget(TypedDict, total=False):
    """What only a named target has: what it is instead of a `url`, and what becomes of its calls."""

    keepOutput: Annotated[KeepOutput | None, clearable("When the start of its answers is kept.", "always")]
    retry: Retry | None
    queue: MessageQueue | None
    celery: CeleryQueue | None
    consumers: Consumers | None


class NamedTargetPatch(CallPatch, OfNamedTarget):
    """Changes of a named target; the rest of it stays."""


class NewNamedTarget(CallTerms, OfNamedTarget, total=False):
    """A whole named target; what is absent gets its default.

    It calls a `url`, or sends messages to a `queue`, tasks to `celery`, or firings to `consumers`.
    """

    headers: Mapping[str, str | list[str]]


class Target(CallTerms, OfTimersCall, total=False):
    """The HTTP call a timer makes.

    To a `url`; or through the target of the app that has this `name`, with a `path` behind its URL, and what differs.
    """

    headers: Mapping[str, str | list[str]]
    celery: GivenTask | None


class ShownCall(TypedDict):
    """A call; `***` stands in place of each secret. Sent back, it leaves the secret as it is."""

    url: NotRequired[str]
    method: NotRequired[Method]
    headers: dict[str, list[str]]
    body: str
    timeout: NotRequired[str]
    connectTimeout: NotRequired[str]
    firstByteTimeout: NotRequired[str]
    ackTimeout: NotRequired[str]
    templates: NotRequired[bool]
    cloudEvents: NotRequired[bool]
    bodyIsBase64: NotRequired[bool]
    allowControl: NotRequired[bool]
    secretHeaders: NotRequired[list[str]]
    secretQuery: NotRequired[bool]
    secretBody: NotRequired[bool]


class ShownTarget(ShownCall):
    """The call a timer makes. Through a named target it has no `url`, and no `method` unless the timer gives one."""

    name: NotRequired[str]
    path: NotRequired[str]
    numbered: NotRequired[bool]


class Misfire(TypedDict, total=False):
    """What happens to firings that are found late, for example after an outage."""

    policy: Annotated[MisfirePolicy | None, About("What happens to firings found late.", default="fire_all")]
    grace: Annotated[Span | None, About("A firing found later than this is late.", default="1m")]
    catchupWindow: Annotated[
        Span | None, About("A firing found later than this is never made; 0s: no limit.", default="0s")
    ]


class ShownMisfire(TypedDict):
    """What happens to firings that are found late; a `catchupWindow` of 0s means no limit."""

    policy: MisfirePolicy
    grace: str
    catchupWindow: str


class TimerFields(TypedDict, total=False):
    """A timer's fields beside its schedule and target."""

    enabled: Annotated[bool | None, About("Whether it fires.", default=True)]
    tags: Annotated[list[str] | None, clearable("To find it by; may be repeated.", [])]
    misfire: Misfire | None
    retry: Retry | None
    retentionDays: Annotated[
        int | None, clearable("Once finished, it is deleted this long after its last moment.")
    ]
    deleteAfterFinish: Annotated[
        bool | None,
        clearable("It is deleted as soon as it is finished, unless something of it can be replayed.", False),
    ]
    keepOutput: Annotated[
        KeepOutput | None, clearable("When the start of the target's answer is kept.", "always")
    ]
    overlap: Annotated[
        Overlap | None, clearable("What becomes of a firing while another one is not done.", "allow")
    ]


class TimerBody(TimerFields):
    """A whole timer. A field that is absent gets its default; `enabled` is True by default."""

    schedule: Schedule
    target: Target


class NewTimer(TimerBody):
    """A new timer; without a `key` it gets one."""

    key: NotRequired[str | None]


class TimerPatch(TimerFields, total=False):
    """Changes of a timer. Other fields stay; None removes a value or gives it its default."""

    key: str | None
    schedule: Schedule | None
    target: TargetPatch | None


class Timer(TypedDict):
    """A timer. `finished`: enabled, and no moment is left. `version` grows with every change."""

    id: int
    key: str
    app: str
    status: TimerStatus
    enabled: bool
    schedule: ShownSchedule
    target: ShownTarget
    misfire: ShownMisfire
    tags: list[str]
    retentionDays: NotRequired[int]
    deleteAfterFinish: bool
    keepOutput: NotRequired[KeepOutput]
    overlap: NotRequired[Overlap]
    retry: NotRequired[ShownRetry]
    nextFireAt: str | None
    version: int
    createdAt: str
    updatedAt: str
