"""What requests and answers have of an app."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import PAGE, AppName, Cursor, Given, Limit
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.apps.described_limits import DESCRIBED, AppLimit, limits_in_force
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import Subject
from wangtimer.core.time.moment_text import show_moment


def _asked(limit: AppLimit) -> Any:
    """Return the field of a request that sets a limit."""
    described = DESCRIBED[limit]
    return Field(
        alias=limit.value, ge=1, le=described.most, description=f"{described.words}; null: the default"
    )


def _told(limit: AppLimit) -> Any:
    """Return the field of an answer that shows a limit."""
    return Field(description=DESCRIBED[limit].words)


# Each limit by the name of its field here.
_LIMITS = {limit.name.lower(): limit for limit in AppLimit}


class AppPath(Given):
    """Which app."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName


class AppLimitsBody(Given):
    """Bounds of an app. One that is not named stays as it is; null takes it out."""

    calls_per_second: Annotated[int | None, _asked(AppLimit.CALLS_PER_SECOND)] = None
    calls_at_once: Annotated[int | None, _asked(AppLimit.CALLS_AT_ONCE)] = None
    timers: Annotated[int | None, _asked(AppLimit.TIMERS)] = None
    firings_per_second: Annotated[int | None, _asked(AppLimit.FIRINGS_PER_SECOND)] = None
    requests_per_second: Annotated[int | None, _asked(AppLimit.REQUESTS_PER_SECOND)] = None
    requests_at_once: Annotated[int | None, _asked(AppLimit.REQUESTS_AT_ONCE)] = None
    replays_per_hour: Annotated[int | None, _asked(AppLimit.REPLAYS_PER_HOUR)] = None
    calendar_bytes: Annotated[int | None, _asked(AppLimit.CALENDAR_BYTES)] = None

    @property
    def given(self) -> dict[str, float | None]:
        """The bounds that the request names, by their names."""
        return {
            str(field.alias): getattr(self, name)
            for name, field in type(self).model_fields.items()
            if name in self.model_fields_set
        }


class NewAppBody(Given):
    """An app to make."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName
    limits: Annotated[AppLimitsBody, Field(default_factory=AppLimitsBody)]


class AppPatch(Given):
    """What to change of an app."""

    disabled: Annotated[
        bool | None,
        Field(
            description="true: its keys are refused, and its timers are disabled; false: its keys count again, and its "
            "timers stay as they are"
        ),
    ] = None
    limits: Annotated[AppLimitsBody, Field(default_factory=AppLimitsBody)]


class AppListQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ShownLimits(Sent):
    """The bounds that an operator set for an app; null: the default."""

    calls_per_second: Annotated[int | None, _told(AppLimit.CALLS_PER_SECOND)]
    calls_at_once: Annotated[int | None, _told(AppLimit.CALLS_AT_ONCE)]
    timers: Annotated[int | None, _told(AppLimit.TIMERS)]
    firings_per_second: Annotated[int | None, _told(AppLimit.FIRINGS_PER_SECOND)]
    requests_per_second: Annotated[int | None, _told(AppLimit.REQUESTS_PER_SECOND)]
    requests_at_once: Annotated[int | None, _told(AppLimit.REQUESTS_AT_ONCE)]
    replays_per_hour: Annotated[int | None, _told(AppLimit.REPLAYS_PER_HOUR)]
    calendar_bytes: Annotated[int | None, _told(AppLimit.CALENDAR_BYTES)]


class ShownApp(Sent):
    """An app."""

    name: Annotated[str, Field(examples=["shop"])]
    created_at: Text
    updated_at: Text
    disabled_at: Annotated[Text | None, Field(description="null: it is not disabled")]
    limits: ShownLimits


class ChangedApp(ShownApp):
    """An app that was changed."""

    enabled_timers: Annotated[
        int | None,
        Field(
            description="of a disabled app, how many timers are still enabled: repeat the request until none is; null: "
            "they were not counted"
        ),
    ]


class AppPage(ListPage):
    """A page of apps."""

    items: list[ShownApp]


def app_fields(app: RegisteredApp) -> dict[str, Any]:
    """Return the fields of a `ShownApp`."""
    return {
        "name": app.name,
        "created_at": show_moment(app.created_at),
        "updated_at": show_moment(app.updated_at),
        "disabled_at": None if app.disabled_at is None else show_moment(app.disabled_at),
        "limits": _shown_limits(app),
    }


def _shown_limits(app: RegisteredApp) -> ShownLimits:
    own = limits_in_force(app, {})
    return ShownLimits(**{name: own.of(limit) for name, limit in _LIMITS.items()})
