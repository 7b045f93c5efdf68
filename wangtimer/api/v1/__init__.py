"""The native API, `/v1`: resources, custom verbs, words for every status, problem details."""

from collections.abc import Callable

from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.v1.alert_routes import AlertRuleResource
from wangtimer.api.v1.apps.app_routes import AppResource
from wangtimer.api.v1.apps.audit_routes import AuditResource
from wangtimer.api.v1.apps.host_routes import HostLimitResource
from wangtimer.api.v1.apps.key_routes import KeyResource
from wangtimer.api.v1.apps.pause_routes import PauseResource
from wangtimer.api.v1.broker_routes import BrokerResource
from wangtimer.api.v1.calendar_routes import CalendarResource
from wangtimer.api.v1.certificate_routes import CertificateResource
from wangtimer.api.v1.dead_letter_routes import DeadLetterResource
from wangtimer.api.v1.failing_host_routes import FailingHostResource
from wangtimer.api.v1.firings.ack_routes import AckResource
from wangtimer.api.v1.firings.demand_routes import DemandResource
from wangtimer.api.v1.firings.firing_routes import ExportResource, FiringResource
from wangtimer.api.v1.load_routes import LoadResource
from wangtimer.api.v1.resource import Resource, add_resource
from wangtimer.api.v1.signing_routes import SigningResource
from wangtimer.api.v1.target_routes import TargetResource
from wangtimer.api.v1.timers.batch_change import BatchChangeResource
from wangtimer.api.v1.timers.batch_create import BatchCreateResource
from wangtimer.api.v1.timers.timer_list_routes import TimerListResource
from wangtimer.api.v1.timers.timer_routes import TimerResource
from wangtimer.core.features import added
from wangtimer.wiring import Wiring

# By section of the document; what features of `core/features.py` add follows.
RESOURCES: dict[str, tuple[type[Resource], ...]] = {
    "timers": (TimerResource, TimerListResource, BatchCreateResource, BatchChangeResource),
    "firings": (FiringResource, ExportResource, DemandResource, AckResource),
    "dead letters": (DeadLetterResource,),
    "calendars": (CalendarResource,),
    "load": (LoadResource,),
    "failing hosts": (FailingHostResource,),
    "alert rules": (AlertRuleResource,),
    "apps": (AppResource, KeyResource, AuditResource, PauseResource, HostLimitResource),
    "signing": (SigningResource,),
    "client certificates": (CertificateResource,),
    "targets": (TargetResource,),
    "brokers": (BrokerResource,),
}


def v1_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return all routes of v1."""
    routes = APIBlueprint("v1", __name__, url_prefix="/v1")
    for listed in (RESOURCES, *added("routes", "RESOURCES")):
        for tag, resources in listed.items():
            for resource in resources:
                add_resource(routes, tag, resource(wiring))
    return routes
