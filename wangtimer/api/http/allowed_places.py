"""Says early, when a target is made or changed, that its app may send no messages there."""

from flask import has_app_context

from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.http.settings_in_use import settings_in_use
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind

_MEND = "ask the operator, who sets up brokers (WANGTIMER_BROKERS_FILE)"


def check_place(place: MessagePlace, app: str) -> None:
    """Raise `Refused` where this app may send no messages; a broker of others is as unknown as none.

    A file of timers is checked without a deployment, and so without its brokers.
    """
    if not has_app_context():
        return
    if place.kind is PlaceKind.CONSUMERS:
        if place.fallback:
            check_way_out(place.fallback, app, "consumers.fallbackUrl")
        return
    field = "celery" if place.kind is PlaceKind.CELERY else "queue"
    broker = settings_in_use().named_brokers.get(place.broker)
    if broker is None or not broker.knows(app):
        reason = f"there is no broker {place.broker!r} for this app"
        raise Refused(ErrorCode.BAD_CALLBACK, f"{field}.broker", reason, _MEND)
    if why_not := broker.why_not(app, place):
        raise Refused(ErrorCode.BAD_CALLBACK, field, why_not, _MEND)
