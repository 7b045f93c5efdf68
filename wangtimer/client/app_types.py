"""Types of answers about apps, API keys, brokers, alert rules and the audit; fields as in docs/v1.md."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from .timer_fields import ShownRetry
from .values import Span

BrokerKind = Literal["rabbitmq", "redis", "other"]
AlertKind = Literal["webhook", "mail", "dingtalk", "wecom", "feishu", "slack"]
AlertPer = Literal["timer", "host"]
AlertEvent = Literal["first_failure", "failed_for_good", "missed", "skipped", "recovered"]


class AppLimits(TypedDict, total=False):
    """The bounds that an operator sets for an app; None: the default."""

    callsPerSecond: int | None
    callsAtOnce: int | None
    callsPerSecondToOneHost: int | None
    callsAtOnceToOneHost: int | None
    timers: int | None
    firingsPerSecond: int | None
    requestsPerSecond: int | None
    requestsAtOnce: int | None
    replaysPerHour: int | None
    calendarBytes: int | None
    timerBytes: int | None


class ShownAppLimits(TypedDict):
    """The bounds of an app as they are; None: the default."""

    callsPerSecond: int | None
    callsAtOnce: int | None
    callsPerSecondToOneHost: int | None
    callsAtOnceToOneHost: int | None
    timers: int | None
    firingsPerSecond: int | None
    requestsPerSecond: int | None
    requestsAtOnce: int | None
    replaysPerHour: int | None
    calendarBytes: int | None
    timerBytes: int | None


class AppEgress(TypedDict, total=False):
    """What an operator sets for the way out of an app's calls; None takes it out."""

    httpsOnly: bool | None
    allow: list[str] | None
    caCertificates: str | None


class ShownCertificate(TypedDict):
    """A certificate, without its key."""

    subject: str
    fingerprint: str
    expiresAt: str


class ShownAppEgress(TypedDict):
    """The way out of an app's calls as it is."""

    httpsOnly: bool
    allow: list[str]
    caCertificates: list[ShownCertificate]


class ClientCertificate(TypedDict):
    """What an app's callbacks show to targets that ask for a certificate; None: nothing."""

    app: str
    certificate: ShownCertificate | None


class App(TypedDict):
    """An app."""

    name: str
    createdAt: str
    updatedAt: str
    disabledAt: str | None
    limits: ShownAppLimits
    egress: ShownAppEgress
    queue: str | None
    retry: ShownRetry | None
    deadLetterDays: int | None


class ChangedApp(App):
    """An app that was changed."""

    enabledTimers: int | None


class Pause(TypedDict):
    """Something that an operator paused; `app` None: no single app's."""

    name: str
    app: str | None
    since: str
    reason: str


class HostLimit(TypedDict):
    """The limit of a target's host and port, over all apps; `host` `*`: every other. None: no such limit."""

    host: str
    callsPerSecond: int | None
    callsAtOnce: int | None


class ApiKey(TypedDict):
    """An API key, without its secret; `app` None: an operator's."""

    id: str
    app: str | None
    name: str
    scopes: list[str]
    createdAt: str
    expiresAt: str | None
    revokedAt: str | None
    lastUsedAt: str | None


class MadeApiKey(ApiKey):
    """A new key, with its secret."""

    key: str


class AuditedKey(TypedDict):
    """The API key that made a change; `id` None: none was needed, and the name says why."""

    id: str | None
    name: str
    app: str | None


class AuditedChange(TypedDict):
    """A change that somebody made; `fields` are names, never values."""

    id: int
    at: str
    key: AuditedKey
    address: str
    action: str
    kind: str
    subject: str
    app: str | None
    name: str | None
    fields: list[str]
    oldStatus: str | None
    newStatus: str | None


class BrokerRight(TypedDict):
    """What an app may send, by patterns; without a field nothing of its kind.

    Without `routingKeys` any key to a named exchange, and without `celeryTasks` any task.
    """

    exchanges: NotRequired[list[str]]
    routingKeys: NotRequired[list[str]]
    streams: NotRequired[list[str]]
    lists: NotRequired[list[str]]
    celeryQueues: NotRequired[list[str]]
    celeryTasks: NotRequired[list[str]]


class Broker(TypedDict):
    """A broker that an operator named; a message has to fit one of `allowed` as a whole."""

    name: str
    kind: BrokerKind
    allowed: list[BrokerRight]


class AlertDestination(TypedDict):
    """Where messages go: `url` for all but mail, `to` (addresses) for mail; `secret` signs for DingTalk and Feishu."""

    kind: AlertKind
    url: NotRequired[str | None]
    secret: NotRequired[str | None]
    to: NotRequired[Sequence[str] | None]


class NewAlertRule(TypedDict):
    """A rule: what is told, of which timers, where. What is not given is not told, or counts for all.

    `per` says what is one trouble: that of all timers of a host (where it is not given), or that of each timer.
    """

    destination: AlertDestination
    events: NotRequired[Sequence[AlertEvent] | None]
    failuresInARow: NotRequired[int | None]
    lateBy: NotRequired[Span | None]
    keyPrefix: NotRequired[str | None]
    per: NotRequired[AlertPer | None]
    repeatAfter: NotRequired[Span | None]


class ShownAlertDestination(TypedDict):
    """Where messages go; `***` stands in place of each secret."""

    kind: AlertKind
    url: str | None
    secret: str | None
    to: list[str]


class AlertRule(TypedDict):
    """A rule of alerts; `lastError` is why the last message was not taken, or not for all; "": it was."""

    name: str
    events: list[AlertEvent]
    failuresInARow: int | None
    lateBy: str | None
    keyPrefix: str | None
    per: AlertPer
    repeatAfter: str | None
    destination: ShownAlertDestination
    lastToldAt: str | None
    lastError: str
    createdAt: str
    updatedAt: str


class AlertTest(TypedDict):
    """What became of a test message; `isTaken` None: nobody knows yet."""

    isTaken: bool | None
    httpStatus: int | None
    answer: str
    error: str
