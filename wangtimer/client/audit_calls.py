"""Who changed what: for operators."""

from collections.abc import Iterator
from typing import Unpack

from .app_types import AuditedChange, AuditPage
from .calls import Calls, all_rows
from .filters import AuditFilter
from .transport import Call
from .values import given


class AuditCalls(Calls):
    """Read the audit. Each method raises `ClientError`. They need an operator's key."""

    def audit(self, *, most: int | None = None, **wanted: Unpack[AuditFilter]) -> Iterator[AuditedChange]:
        """Yield changes, latest first, all or at most `most`, page by page."""
        return all_rows(lambda limit, cursor: self.list_audit(limit=limit, cursor=cursor, **wanted), most)

    def list_audit(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[AuditFilter]
    ) -> AuditPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `audit` reads all pages."""
        query = given({"limit": limit, "cursor": cursor, **wanted})
        return self._transport.ask(Call("GET", "/v1/audit", query=query)).typed(
            AuditPage, "items", "nextCursor"
        )
