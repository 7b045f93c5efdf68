"""Where a timer's calls go, as rules of alerts see it."""

from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.flow.origin import told_host
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition


def place_of(definition: Definition | None, target: NamedTarget | None = None) -> AlertPlace:
    """Return where a timer's calls go; without the target that it names nobody knows the host."""
    if definition is None:
        return NOWHERE
    if target is not None:
        return AlertPlace(definition.app, told_host(target.call.url), target.name)
    name = definition.notify.target
    return AlertPlace(definition.app, "" if name else told_host(definition.notify.url), name)
