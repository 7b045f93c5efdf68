"""Types of answers about apps, API keys and the audit; fields as in docs/v1.md."""

from typing import TypedDict

from .timer_fields import ShownRetry


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


class AppsPage(TypedDict):
    """A page of apps."""

    items: list[App]
    nextCursor: str | None


class Pause(TypedDict):
    """Something that an operator paused; `app` None: no single app's."""

    name: str
    app: str | None
    since: str
    reason: str


class PausesPage(TypedDict):
    """A page of pauses."""

    items: list[Pause]
    nextCursor: str | None


class HostLimit(TypedDict):
    """The limit of a target's host and port, over all apps; `host` `*`: every other. None: no such limit."""

    host: str
    callsPerSecond: int | None
    callsAtOnce: int | None


class HostLimitsPage(TypedDict):
    """A page of limits of hosts."""

    items: list[HostLimit]
    nextCursor: str | None


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


class ApiKeysPage(TypedDict):
    """A page of API keys."""

    items: list[ApiKey]
    nextCursor: str | None


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


class AuditPage(TypedDict):
    """A page of changes, latest first."""

    items: list[AuditedChange]
    nextCursor: str | None
