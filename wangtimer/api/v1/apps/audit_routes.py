"""The audit over v1: who changed what. For operators."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent, by_word
from wangtimer.api.http.field_types import (
    PAGE,
    AppName,
    Cursor,
    Given,
    GivenMoment,
    Limit,
    moment,
    number,
    plain,
)
from wangtimer.api.http.moments import read_range
from wangtimer.api.v1.apps.app_routes import known_app
from wangtimer.api.v1.apps.key_routes import KeyId
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import ListPage, Text
from wangtimer.core.apps.audited_change import Action, AuditedKind, AuditEntry
from wangtimer.core.errors import Subject
from wangtimer.store.sql.audit import AuditFilter
from wangtimer.store.sql.tables import SUBJECT_CHARACTERS

_FIRING = re.compile(r"([0-9]{1,16})-([0-9]{1,16})", re.ASCII)
# In a URL a number is a text.
_Moment = Annotated[GivenMoment, BeforeValidator(number)]
# The words of `AuditedKind`; a test compares the two.
AuditedKindWord = Literal[
    "timer",
    "firing",
    "calendar",
    "app",
    "key",
    "signing",
    "certificate",
    "host",
    "all",
    "target",
    "alert_rule",
]


class AuditQuery(Given):
    """Which entries, those that meet all conditions, and which page."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "app"}
    our_words: ClassVar[Mapping[str, str] | None] = by_word(
        since="from",
        until="to",
        key="keyId",
        subject="timer timerId calendar",
        kind="type",
    )

    app: AppName | None = None
    """whose the changed thing is"""
    key: KeyId | None = None
    """the id of the API key that made the change"""
    kind: AuditedKindWord | None = None
    """what was changed"""
    subject: Annotated[
        str | None,
        Field(min_length=1, max_length=SUBJECT_CHARACTERS, examples=["890342217101453"]),
        AfterValidator(plain),
    ] = None
    """the id of a timer, firing or key, or the name of an app or a calendar; a timer's id finds what was done to its
    firings too"""
    since: Annotated[_Moment, moment("changes from then on")] = None
    until: Annotated[_Moment, moment("changes up to then")] = None
    limit: Limit = PAGE
    cursor: Cursor | None = None

    @property
    def wanted(self) -> AuditFilter:
        """The filter; raises `Refused` for a moment that cannot be read."""
        since, until = read_range(self.since, self.until)
        kind = None if self.kind is None else AuditedKind(self.kind)
        subject, fire_at = self.subject, None
        firing = _FIRING.fullmatch(subject or "") if kind in (None, AuditedKind.FIRING) else None
        if firing is not None:
            subject, fire_at = firing[1], int(firing[2])
        return AuditFilter(self.app, self.key, kind, subject, fire_at, since, until)


class AuditedKey(Sent):
    """The API key that made a change."""

    id: Annotated[str | None, Field(examples=["3kTMd8Qx9LbA"])]
    """null: none was needed, and the name says why"""
    name: Annotated[str, Field(examples=["checkout"])]
    app: str | None
    """the app whose key it is; null: an operator's"""


class ShownChange(Sent):
    """A change that somebody made."""

    id: int
    at: Text
    key: AuditedKey
    address: Annotated[str, Field(examples=["10.1.2.3"])]
    """the far end of the connection, or what a trusted proxy says that was; empty: it had none"""
    action: Annotated[str, Field(description=f"one of {', '.join(Action)}", examples=["edit"])]
    # A text, as a newer version may have written another word.
    kind: Annotated[str, Field(examples=["timer"], json_schema_extra={"enum": list(AuditedKind)})]
    """what was changed"""
    subject: Annotated[str, Field(examples=["890342217101453"])]
    """the id of a timer, firing or key, or the name of an app or a calendar"""
    app: str | None
    """whose it is; null: the operators'"""
    name: Annotated[str | None, Field(examples=["order-42"])]
    """a timer's or key's name then; of a replayed firing null"""
    fields: Annotated[list[str], Field(examples=[["target.url"]])]
    """names of the fields that changed, never a value"""
    old_status: str | None
    """null: the status stayed, or there was none"""
    new_status: str | None
    """null: the status stayed, or there is none"""


class AuditPage(ListPage):
    """A page of changes, latest first."""

    items: list[ShownChange]


def shown_change(entry: AuditEntry) -> ShownChange:
    """Return a change as answers show it."""
    return ShownChange.of(
        entry,
        key=AuditedKey(id=entry.key_id, name=entry.key_name, app=entry.key_app),
        subject=entry.subject if entry.fire_at is None else f"{entry.subject}-{entry.fire_at}",
    )


class AuditResource(Resource):
    """The operation on the audit."""

    @Route("get", "/audit", "listAudit")
    def page(self, query: AuditQuery) -> AuditPage:
        """List who changed what, latest first.

        Every change over the API of timers, calendars, apps and keys, and every firing that was fired, replayed,
        cancelled or backfilled by request. What the service does by itself is not among them. Entries are kept for
        `WANGTIMER_AUDIT_DAYS`.
        """
        wiring = self.wiring()
        if query.app is not None:
            known_app(wiring, query.app, "app")
        listed = cursors.of_list("v1 audit", query)
        last = None
        if query.cursor is not None:
            at, entry_id = cursors.read(listed, query.cursor, int)
            last = (int(at), entry_id)
        found = wiring.audit.page(query.wanted, query.limit + 1, last)
        cursor = cursors.after(listed, found, query.limit, lambda entry: (entry.at, entry.id))
        items = cursors.shown_each(found[: query.limit], attrgetter("id"), shown_change)
        return AuditPage(items=items, next_cursor=cursor)
