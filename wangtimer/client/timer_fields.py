"""The fields of a timer: what callers give, and what the service shows. A new field is added only here.

`About` beside a field is its help text in the command line. `described_field.py` reads it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from .described_field import About
from .values import Moment, Span

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
    startAt: Annotated[Moment | None, About("Nothing fires before.", can_be_cleared=True)]
    endAt: Annotated[Moment | None, About("Nothing fires after.", can_be_cleared=True)]
    maxFirings: Annotated[int | None, About("It is finished after this many moments.", can_be_cleared=True)]
    jitter: Annotated[Span | None, About("Each moment is delayed by at most this.", can_be_cleared=True)]
    excludeCalendar: Annotated[
        str | None, About("Nothing fires on its days: weekends, cn-off-days, ...", can_be_cleared=True)
    ]


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


class CallPatch(TypedDict, total=False):
    """Changes of a call; the rest of it stays.

    `headers` changes the headers it names, in any case. None takes a header, all headers, the body or the time-out
    away, and makes the method POST. `json` is instead of `body`: any JSON.
    """

    url: str
    method: Annotated[Method | None, About("POST by default.", default="POST", can_be_cleared=True)]
    headers: Mapping[str, str | list[str] | None] | None
    body: str | None
    json: Any
    timeout: Annotated[
        Span | None,
        About("So long a call may take; by default as long as the service gives all.", can_be_cleared=True),
    ]
    connectTimeout: Annotated[
        Span | None,
        About(
            "So long it may take to open a connection; by default as the service says.", can_be_cleared=True
        ),
    ]
    firstByteTimeout: Annotated[
        Span | None,
        About(
            "So long the first byte of an answer may take; by default as long as the whole.",
            can_be_cleared=True,
        ),
    ]
    ackTimeout: Annotated[
        Span | None,
        About(
            "So long a target that answers 202 may take until it says that it is done; by default 202 is done.",
            can_be_cleared=True,
        ),
    ]
    templates: Annotated[
        bool | None,
        About("Placeholders such as {{fireAt}} are filled in.", default=False, can_be_cleared=True),
    ]
    cloudEvents: Annotated[
        bool | None, About("It is sent as a CloudEvent, in binary mode.", default=False, can_be_cleared=True)
    ]
    bodyIsBase64: Annotated[
        bool | None,
        About("The body is sent as the bytes that it says in Base64.", default=False, can_be_cleared=True),
    ]
    allowControl: Annotated[
        bool | None,
        About(
            "An answer may stop the timer, put it off, or set its next moment (X-WangTimer-Control).",
            default=False,
            can_be_cleared=True,
        ),
    ]
    secretHeaders: Annotated[
        list[str] | None,
        About(
            "A header whose value is secret, as Authorization is by its name; may be repeated.",
            can_be_cleared=True,
        ),
    ]
    secretQuery: Annotated[
        bool | None, About("All of the URL's query is secret.", default=False, can_be_cleared=True)
    ]
    secretBody: Annotated[bool | None, About("The body is secret.", default=False, can_be_cleared=True)]


class TargetPatch(CallPatch, total=False):
    """Changes of a timer's call; the rest of it stays. A `url` takes the place of a named target, and the other way."""

    name: Annotated[str | None, About("A target of the app that the call goes through, instead of a URL.")]
    path: Annotated[str | None, About("Stands behind the URL of that target, as in /expire?order=7.")]
    numbered: Annotated[
        bool | None,
        About(
            "Calls tell their number, the last moment that succeeded, and what was lost since.",
            default=False,
            can_be_cleared=True,
        ),
    ]


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


class NamedTargetPatch(CallPatch, total=False):
    """Changes of a named target; the rest of it stays."""

    keepOutput: Annotated[
        KeepOutput | None,
        About("When the start of its answers is kept.", default="always", can_be_cleared=True),
    ]
    retry: Retry | None
    queue: MessageQueue | None
    celery: CeleryQueue | None
    consumers: Consumers | None


class NewNamedTarget(TypedDict):
    """A whole named target; what is absent gets its default. `json` is instead of `body`: any JSON.

    It calls a `url`, or sends messages to a `queue`, tasks to `celery`, or firings to `consumers`.
    """

    url: NotRequired[str]
    queue: NotRequired[MessageQueue | None]
    celery: NotRequired[CeleryQueue | None]
    consumers: NotRequired[Consumers | None]
    method: NotRequired[Method | None]
    headers: NotRequired[Mapping[str, str | list[str]]]
    body: NotRequired[str | None]
    json: NotRequired[Any]
    timeout: NotRequired[Span | None]
    connectTimeout: NotRequired[Span | None]
    firstByteTimeout: NotRequired[Span | None]
    ackTimeout: NotRequired[Span | None]
    templates: NotRequired[bool | None]
    cloudEvents: NotRequired[bool | None]
    bodyIsBase64: NotRequired[bool | None]
    allowControl: NotRequired[bool | None]
    secretHeaders: NotRequired[list[str] | None]
    secretQuery: NotRequired[bool | None]
    secretBody: NotRequired[bool | None]
    keepOutput: NotRequired[KeepOutput | None]
    retry: NotRequired[Retry | None]


class Target(TypedDict):
    """The HTTP call a timer makes; `json` is instead of `body`: any JSON.

    To a `url`; or through the target of the app that has this `name`, with a `path` behind its URL, and what differs.
    """

    url: NotRequired[str]
    name: NotRequired[str]
    path: NotRequired[str | None]
    celery: NotRequired[GivenTask | None]
    method: NotRequired[Method | None]
    headers: NotRequired[Mapping[str, str | list[str]]]
    body: NotRequired[str | None]
    json: NotRequired[Any]
    timeout: NotRequired[Span | None]
    connectTimeout: NotRequired[Span | None]
    firstByteTimeout: NotRequired[Span | None]
    ackTimeout: NotRequired[Span | None]
    templates: NotRequired[bool | None]
    cloudEvents: NotRequired[bool | None]
    bodyIsBase64: NotRequired[bool | None]
    allowControl: NotRequired[bool | None]
    numbered: NotRequired[bool | None]
    secretHeaders: NotRequired[list[str] | None]
    secretQuery: NotRequired[bool | None]
    secretBody: NotRequired[bool | None]


class ShownTarget(TypedDict):
    """The HTTP call a timer makes; `***` stands in place of each secret. Sent back, it leaves the secret as it is.

    Through a named target it has no `url`, and no `method` unless the timer gives one.
    """

    url: NotRequired[str]
    name: NotRequired[str]
    path: NotRequired[str]
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
    numbered: NotRequired[bool]
    secretHeaders: NotRequired[list[str]]
    secretQuery: NotRequired[bool]
    secretBody: NotRequired[bool]


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
    tags: Annotated[
        list[str] | None, About("To find it by; may be repeated.", default=[], can_be_cleared=True)
    ]
    misfire: Misfire | None
    retry: Retry | None
    retentionDays: Annotated[
        int | None,
        About("Once finished, it is deleted this long after its last moment.", can_be_cleared=True),
    ]
    deleteAfterFinish: Annotated[
        bool | None,
        About(
            "It is deleted as soon as it is finished, unless something of it can be replayed.",
            default=False,
            can_be_cleared=True,
        ),
    ]
    keepOutput: Annotated[
        KeepOutput | None,
        About("When the start of the target's answer is kept.", default="always", can_be_cleared=True),
    ]
    overlap: Annotated[
        Overlap | None,
        About(
            "What becomes of a firing while another one is not done.", default="allow", can_be_cleared=True
        ),
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
