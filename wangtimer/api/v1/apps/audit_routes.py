"""The audit over v1: who changed what. For operators."""

from operator import attrgetter

from wangtimer.api.http import cursors
from wangtimer.api.v1.apps.app_routes import known_app
from wangtimer.api.v1.apps.audit_models import AuditPage, AuditQuery, shown_change
from wangtimer.api.v1.resource import Resource, Route


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
        rows = found[: query.limit]
        cursor = cursors.write(listed, rows[-1].at, rows[-1].id) if len(found) > query.limit else None
        items = cursors.shown_each(rows, attrgetter("id"), shown_change)
        return AuditPage(items=items, next_cursor=cursor)
