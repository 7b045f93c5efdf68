"""What the audit says of one change: what was done, to what, and which fields; never a value of a field."""

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What was done; a key is never deleted, it is revoked."""

    CREATE = "create"
    EDIT = "edit"
    ENABLE = "enable"
    DISABLE = "disable"
    DELETE = "delete"
    REVOKE = "revoke"
    FIRE = "fire"
    REPLAY = "replay"
    CANCEL = "cancel"
    DISCARD = "discard"
    BACKFILL = "backfill"
    PAUSE = "pause"
    RESUME = "resume"


class AuditedKind(StrEnum):
    """What was changed. A `FIRING` is named by its timer and its moment, `SIGNING` by its secret's id or its app.

    A `CERTIFICATE` is a client's, named by its app. `HOST` is a target's host and port, `ALL` everything.
    """

    TIMER = "timer"
    FIRING = "firing"
    CALENDAR = "calendar"
    APP = "app"
    KEY = "key"
    SIGNING = "signing"
    CERTIFICATE = "certificate"
    HOST = "host"
    ALL = "all"
    TARGET = "target"
    ALERT_RULE = "alert_rule"


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """One change of one thing.

    `subject` is the id of a timer, of a firing's timer, of a key or of a signing secret, or the name of an app, a
    calendar, a host, a target or a rule of alerts; `name` the name of a timer or a key. `app` is whose it is; None: the
    operators'. `fields` are names as in the API. A change of status has the words of before and after. `fire_at` is the
    moment of a firing, ms UTC.
    """

    action: Action
    kind: AuditedKind
    subject: str
    app: str | None
    name: str | None = None
    fields: tuple[str, ...] = ()
    old_status: str | None = None
    new_status: str | None = None
    fire_at: int | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change as it is on record: when (ms UTC), by which key, and from which address.

    `key_id` None: it needed no key, and `key_name` says why. `key_app` is the app of the key; None: an operator's.
    Words of a newer version are among the texts of `action` and `kind`.
    """

    id: int
    at: int
    key_id: str | None
    key_name: str
    key_app: str | None
    address: str
    action: str
    kind: str
    subject: str
    app: str | None
    name: str | None
    fields: tuple[str, ...]
    old_status: str | None
    new_status: str | None
    fire_at: int | None
