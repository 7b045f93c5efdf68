"""What the audit says of changes of timers and of their firings."""

from collections.abc import Sequence

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.flow.firing import Firing
from wangtimer.core.timers.changed_fields import changed_fields
from wangtimer.core.timers.timer import Timer, TimerStatus

_SWITCHED = {
    TimerStatus.ENABLED: Action.ENABLE,
    TimerStatus.DISABLED: Action.DISABLE,
    TimerStatus.DELETED: Action.DELETE,
}


def creation_of(timer: Timer) -> AuditedChange:
    """Return the creation of a timer."""
    return _of_timer(Action.CREATE, timer, (), None)


def switch_of(was: TimerStatus, timer: Timer) -> AuditedChange:
    """Return the change of a timer's status alone, as it now stands."""
    return _of_timer(_SWITCHED[timer.definition.status], timer, (), was)


def disabling_of(timer_id: int, app: str, name: str) -> AuditedChange:
    """Return the disabling of an enabled timer of which no more is known: its row cannot be read."""
    enabled, disabled = TimerStatus.ENABLED.value, TimerStatus.DISABLED.value
    subject = str(timer_id)
    return AuditedChange(
        Action.DISABLE, AuditedKind.TIMER, subject, app, name, old_status=enabled, new_status=disabled
    )


def edit_of(was: Timer, timer: Timer) -> AuditedChange:
    """Return the edit of a timer; if none of its fields changed, the change of its status."""
    fields = changed_fields(was, timer)
    status = was.definition.status
    return _of_timer(Action.EDIT, timer, fields, status) if fields else switch_of(status, timer)


def acts_on(
    action: Action,
    app: str,
    firings: Sequence[Firing],
    old_status: Sequence[str | None],
    name: str | None = None,
) -> list[AuditedChange]:
    """Return what was done to firings, as they now stand; `old_status` has that of each before, None: it was not there.

    `name` is that of their timer, if it is known.
    """
    return [
        AuditedChange(
            action,
            AuditedKind.FIRING,
            str(firing.timer_id),
            app,
            name,
            old_status=was,
            new_status=firing.status.value,
            fire_at=firing.fire_at,
        )
        for firing, was in zip(firings, old_status, strict=True)
    ]


def _of_timer(
    action: Action, timer: Timer, fields: tuple[str, ...], was: TimerStatus | None
) -> AuditedChange:
    one = timer.definition
    has_moved = was is not one.status
    return AuditedChange(
        action,
        AuditedKind.TIMER,
        str(one.timer_id),
        one.app,
        timer.name,
        fields,
        was.value if has_moved and was is not None else None,
        one.status.value if has_moved else None,
    )
