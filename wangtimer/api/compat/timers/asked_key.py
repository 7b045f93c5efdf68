"""Which timer a request means: by its id, or by its name."""

from wangtimer.api.compat.timers.timer_models import TimerKey
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.core.errors import UnknownTimer
from wangtimer.store.sql.timers import TimerStore


def id_of(asked: TimerKey, timers: TimerStore) -> int:
    """Return the id of the timer meant.

    Raises `Refused` unless exactly one of id and name is given, `UnknownTimer` for a name the app does not have.
    """
    if asked.id is None and asked.name is None:
        raise Refused(ErrorCode.MISSING_FIELD, "id", "neither id nor name is given", "give one of them")
    if asked.id is not None and asked.name is not None:
        raise Refused(ErrorCode.BAD_VALUE, "name", "id and name are both given", "give one of them")
    if asked.name is None:
        assert asked.id is not None
        return asked.id
    timer_id = timers.id_of(asked.app, asked.name)
    if timer_id is None:
        raise UnknownTimer(asked.app, repr(asked.name))
    return timer_id
