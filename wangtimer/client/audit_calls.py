"""Who changed what: for operators."""

from collections.abc import Iterator

from .app_types import AuditedChange, AuditPage
from .calls import Calls, all_rows
from .transport import Call
from .values import given


class AuditCalls(Calls):
    """Read the audit. Each method raises `ClientError`. They need an operator's key."""

    def audit(
        self,
        *,
        app: str | None = None,
        key: str | None = None,
        kind: str | None = None,
        subject: str | None = None,
        since: str | int | None = None,
        until: str | int | None = None,
        most: int | None = None,
    ) -> Iterator[AuditedChange]:
        """Yield changes, latest first, all or at most `most`, page by page; filters as for `list_audit`."""

        def page(limit: int | None, cursor: str | None) -> AuditPage:
            return self.list_audit(
                app=app,
                key=key,
                kind=kind,
                subject=subject,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            )

        return all_rows(page, most)

    def list_audit(
        self,
        *,
        app: str | None = None,
        key: str | None = None,
        kind: str | None = None,
        subject: str | None = None,
        since: str | int | None = None,
        until: str | int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AuditPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `audit` reads all pages.

        `app` is whose the changed thing is, `key` the id of the key that changed it. `subject` is the id of a timer,
        firing or key, or the name of an app or a calendar.
        """
        query = given(
            {
                "app": app,
                "key": key,
                "kind": kind,
                "subject": subject,
                "since": since,
                "until": until,
                "limit": limit,
                "cursor": cursor,
            }
        )
        return self._transport.ask(Call("GET", "/v1/audit", query=query)).typed(
            AuditPage, "items", "nextCursor"
        )
