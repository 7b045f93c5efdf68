"""The scope that each operation needs. Every route of the API stands here, or the API does not start."""

import re
from collections.abc import Mapping
from enum import Enum

from werkzeug.routing import Map

from wangtimer.core.apps.scopes import Scope
from wangtimer.core.errors import BadSetting
from wangtimer.core.features import added


class Open(Enum):
    """Needs no key. `PARTLY`: a key with `metrics:read` sees more."""

    WHOLLY = "wholly"
    PARTLY = "partly"


Right = Scope | Open

_READ, _WRITE = Scope.TIMERS_READ, Scope.TIMERS_WRITE
_SEEN, _ACT = Scope.FIRINGS_READ, Scope.FIRINGS_ACT
_ADMIN = Scope.APPS_ADMIN

# By method and path.
RIGHTS: Mapping[str, Right] = {
    "GET /": Open.WHOLLY,
    "GET /docs": Open.WHOLLY,
    "GET /docs/errors": Open.WHOLLY,
    "GET /docs/assets/{name}": Open.WHOLLY,
    "GET /openapi.json": Open.WHOLLY,
    "GET /healthz": Open.WHOLLY,
    "GET /readyz": Open.PARTLY,
    "GET /metrics": Scope.METRICS_READ,
    "GET /v1/timers": _READ,
    "POST /v1/timers": _WRITE,
    "GET /v1/timers/{which}": _READ,
    "PUT /v1/timers/{which}": _WRITE,
    "PATCH /v1/timers/{which}": _WRITE,
    "DELETE /v1/timers/{which}": _WRITE,
    "POST /v1/timers/{which}:enable": _WRITE,
    "POST /v1/timers/{which}:disable": _WRITE,
    "POST /v1/timers:batchCreate": _WRITE,
    "POST /v1/timers:batchEnable": _WRITE,
    "POST /v1/timers:batchDisable": _WRITE,
    "POST /v1/timers:batchDelete": _WRITE,
    "POST /v1/schedules:preview": _READ,
    "GET /v1/firings": _SEEN,
    "GET /v1/firings:count": _SEEN,
    "GET /v1/firings:export": _SEEN,
    "GET /v1/firings/{firing_id}": _SEEN,
    # Who has the token of a call speaks for its firing.
    "POST /v1/firings/{firing_id}:ack": Open.WHOLLY,
    "POST /v1/firings/{firing_id}:nack": Open.WHOLLY,
    "POST /v1/firings/{firing_id}:heartbeat": Open.WHOLLY,
    "POST /v1/timers/{which}:fire": _ACT,
    "POST /v1/timers/{which}:backfill": _ACT,
    "POST /v1/firings/{firing_id}:cancel": _ACT,
    "POST /v1/firings/{firing_id}:replay": _ACT,
    "POST /v1/firings:replay": _ACT,
    "GET /v1/dead-letters": _SEEN,
    "GET /v1/dead-letters:count": _SEEN,
    "POST /v1/dead-letters:replay": _ACT,
    "POST /v1/dead-letters:discard": _ACT,
    "GET /v1/calendars": _READ,
    "GET /v1/calendars/{name}": _READ,
    "PUT /v1/calendars/{name}": Scope.CALENDARS_WRITE,
    "DELETE /v1/calendars/{name}": Scope.CALENDARS_WRITE,
    "GET /v1/targets": _READ,
    "GET /v1/targets/{name}": _READ,
    "PUT /v1/targets/{name}": Scope.TARGETS_WRITE,
    "PATCH /v1/targets/{name}": Scope.TARGETS_WRITE,
    "DELETE /v1/targets/{name}": Scope.TARGETS_WRITE,
    "GET /v1/signing-secrets": _READ,
    "POST /v1/signing-secrets": Scope.SIGNING_WRITE,
    "PATCH /v1/signing-secrets": Scope.SIGNING_WRITE,
    "DELETE /v1/signing-secrets/{secret_id}": Scope.SIGNING_WRITE,
    "GET /v1/client-certificate": _READ,
    "PUT /v1/client-certificate": Scope.SIGNING_WRITE,
    "DELETE /v1/client-certificate": Scope.SIGNING_WRITE,
    "GET /v1/load": _SEEN,
    "GET /v1/load:allApps": Scope.LOAD_READ,
    "GET /v1/failing-hosts": _SEEN,
    "GET /v1/failing-hosts:allApps": Scope.LOAD_READ,
    "POST /v1/failing-hosts:enable": _ACT,
    "GET /v1/brokers": _READ,
    # As for targets: they say where requests go.
    "GET /v1/alert-rules": _READ,
    "PUT /v1/alert-rules/{name}": Scope.TARGETS_WRITE,
    "DELETE /v1/alert-rules/{name}": Scope.TARGETS_WRITE,
    "POST /v1/alert-rules/{name}:test": Scope.TARGETS_WRITE,
    "GET /v1/apps": _ADMIN,
    "POST /v1/apps": _ADMIN,
    "GET /v1/apps/{name}": _ADMIN,
    "PATCH /v1/apps/{name}": _ADMIN,
    "GET /v1/apps/{app}/keys": _ADMIN,
    "POST /v1/apps/{app}/keys": _ADMIN,
    "DELETE /v1/apps/{app}/keys/{key_id}": _ADMIN,
    "GET /v1/operator-keys": _ADMIN,
    "POST /v1/operator-keys": _ADMIN,
    "DELETE /v1/operator-keys/{key_id}": _ADMIN,
    "GET /v1/audit": _ADMIN,
    "GET /v1/host-limits": _ADMIN,
    "PUT /v1/host-limits/{host}": _ADMIN,
    "DELETE /v1/host-limits/{host}": _ADMIN,
    "GET /v1/pauses": _ADMIN,
    "PUT /v1/pauses/{what}": _ADMIN,
    "DELETE /v1/pauses/{what}": _ADMIN,
    # Compatible with xTimer.
    "POST /api/timer/v1/def": _WRITE,
    "PATCH /api/timer/v1/def": _WRITE,
    "GET /api/timer/v1/def": _READ,
    "DELETE /api/timer/v1/def": _WRITE,
    "POST /api/timer/v1/enable": _WRITE,
    "POST /api/timer/v1/unable": _WRITE,
    "GET /api/timer/v1/defs": _READ,
    "GET /api/timer/v1/defsByName": _READ,
    "GET /api/task/v1/records": _SEEN,
    # What features add.
    **{route: right for rights in added("routes", "RIGHTS") for route, right in rights.items()},
}

_CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")
# Flask answers these by itself; HEAD as GET, without the body.
_ANSWERED_BY_FLASK = frozenset({"HEAD", "OPTIONS"})


def route_name(method: str, rule: str) -> str:
    """Return the name of a route as it stands above; `rule` is Flask's or the document's."""
    asked = "GET" if method == "HEAD" else method
    return f"{asked} " + _CONVERTED.sub(r"{\1}", rule)


def routes_of(routes: Map) -> set[str]:
    """Return the names of all routes of a URL map."""
    return {
        route_name(method, rule.rule)
        for rule in routes.iter_rules()
        for method in (rule.methods or set()) - _ANSWERED_BY_FLASK
    }


def refuse_undeclared(routes: Map) -> None:
    """Raise `BadSetting` if a route has no declared scope: nobody would guard it."""
    undeclared = sorted(routes_of(routes) - RIGHTS.keys())
    if undeclared:
        raise BadSetting(
            f"no scope is declared for {', '.join(undeclared)}; declare it in wangtimer/api/access/rights.py"
        )
