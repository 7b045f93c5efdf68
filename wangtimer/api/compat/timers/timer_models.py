"""What callers may send to the paths of timers."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from wangtimer.api.compat.timers.declared_fields import naming_rules
from wangtimer.api.compat.timers.terms import ChangedTerms, TimerTerms
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import App, Given, Id, Name, number
from wangtimer.api.http.refusals import NAMED_BY_ID, Refused
from wangtimer.core.errors import UnknownTimer
from wangtimer.store.sql.timers import TimerStore


class OfAnApp(Given):
    """A request with an app. As the last of several bases it puts `app` first."""

    app: App


@naming_rules
class CreateTimer(TimerTerms, OfAnApp):
    """A new timer: exactly one of {asked} says when it fires."""


class EditTimer(ChangedTerms):
    """Changes of a timer: a field that is absent stays; null removes a bound or the tags."""

    app: App
    id: Id
    version: Annotated[
        int | None,
        Field(ge=1, description="refuse (409) where the timer is no longer at this version"),
    ] = None


class TimerKey(Given):
    """Which timer: by its id, or by its name."""

    app: App
    id: Id | None = None
    name: Name | None = None

    def id_in(self, timers: TimerStore) -> int:
        """Return the timer's id.

        Raises `Refused` unless exactly one of id and name is given, `UnknownTimer` for a name the app does not have.
        """
        if self.id is not None and self.name is not None:
            raise Refused(ErrorCode.BAD_VALUE, "name", "id and name are both given", "give one of them")
        if self.id is not None:
            return self.id
        if self.name is None:
            raise Refused(ErrorCode.MISSING_FIELD, "id", "neither id nor name is given", "give one of them")
        timer_id = timers.id_of(self.app, self.name)
        if timer_id is None:
            raise UnknownTimer(self.app, repr(self.name))
        return timer_id


class TimerQuery(Given):
    """Which timer."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Annotated[Id, BeforeValidator(number)]
