"""Types of answers about apps, API keys, brokers and the audit; fields as in docs/v1.md."""

from typing import Literal, NotRequired, TypedDict

from .timer_fields import ShownRetry

BrokerKind = Literal["rabbitmq", "redis", "other"]


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
