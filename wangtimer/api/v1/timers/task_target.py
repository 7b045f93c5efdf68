"""Says early that a timer gives a Celery task to a target that runs none: as a body it would go out in silence."""

from collections.abc import Callable

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.timers.timer_models import Target
from wangtimer.core.errors import UnknownTarget
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.timers.named_target import NamedTarget

_MEND = "give json or body, or name a Celery target; GET /v1/targets lists them"


def refuse_task_elsewhere(target: Target, app: str, find: Callable[[str, str], NamedTarget]) -> None:
    """Raise `Refused` where `celery` is given for a target of another kind; an unknown one is refused elsewhere."""
    if target.celery is None or target.name is None:
        return
    try:
        what = _what_it_does(find(app, target.name).call.url)
    except UnknownTarget:
        return
    if what:
        reason = f"target {target.name!r} {what}, and runs no Celery task"
        raise Refused(ErrorCode.BAD_VALUE, "target.celery", reason, _MEND)


def _what_it_does(url: str) -> str:
    """Return what a target does with its firings; "": it runs Celery tasks."""
    if not is_message_url(url):
        return "is called over HTTP"
    kind = place_from(url).kind
    if kind is PlaceKind.CELERY:
        return ""
    return "gives its firings to consumers" if kind is PlaceKind.CONSUMERS else "sends messages"
