"""The native API, `/v1`: resources, custom verbs, words for every status, problem details."""

from collections.abc import Callable

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.v1.alerts.alert_routes import alert_routes
from wangtimer.api.v1.apps.app_routes import add_app_routes
from wangtimer.api.v1.apps.audit_routes import add_audit_routes
from wangtimer.api.v1.apps.host_routes import add_host_routes
from wangtimer.api.v1.apps.key_routes import add_key_routes
from wangtimer.api.v1.apps.pause_routes import add_pause_routes
from wangtimer.api.v1.broker_routes import broker_routes
from wangtimer.api.v1.calendar_routes import calendar_routes
from wangtimer.api.v1.certificate_routes import certificate_routes
from wangtimer.api.v1.dead_letters.letter_routes import dead_letter_routes
from wangtimer.api.v1.failing_host_routes import failing_host_routes
from wangtimer.api.v1.firings.ack_routes import ack_routes
from wangtimer.api.v1.firings.demand_routes import demand_routes
from wangtimer.api.v1.firings.export_routes import export_routes
from wangtimer.api.v1.firings.firing_routes import firing_routes
from wangtimer.api.v1.load_routes import load_routes
from wangtimer.api.v1.serving import Routes
from wangtimer.api.v1.signing_routes import signing_routes
from wangtimer.api.v1.targets.target_routes import target_routes
from wangtimer.api.v1.timers.timer_routes import timer_routes
from wangtimer.wiring import Wiring


def v1_routes(wiring: Callable[[], Wiring]) -> tuple[APIBlueprint, ...]:
    """Return all routes of v1."""
    return (
        timer_routes(wiring),
        firing_routes(wiring),
        export_routes(wiring),
        demand_routes(wiring),
        ack_routes(wiring),
        dead_letter_routes(wiring),
        calendar_routes(wiring),
        load_routes(wiring),
        failing_host_routes(wiring),
        alert_routes(wiring),
        _operators_routes(wiring),
        signing_routes(wiring),
        certificate_routes(wiring),
        target_routes(wiring),
        broker_routes(wiring),
    )


def _operators_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of apps, keys, the audit, pauses and limits of hosts."""
    routes = Routes.of("apps", "apps")
    add_app_routes(routes, wiring)
    add_key_routes(routes, wiring)
    add_audit_routes(routes, wiring)
    add_pause_routes(routes, wiring)
    add_host_routes(routes, wiring)
    return routes.blueprint
