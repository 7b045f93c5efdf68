"""What requests and answers have of an app."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import PAGE, AppName, Cursor, Given, Limit
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import Subject
from wangtimer.core.time.moment_text import show_moment

MOST_CALLS_A_SECOND = 100_000
MOST_CALLS_AT_ONCE = 100_000

CallsPerSecond = Annotated[
    int | None,
    Field(ge=1, le=MOST_CALLS_A_SECOND, description="callbacks a second, at most; null: the default"),
]
CallsAtOnce = Annotated[
    int | None,
    Field(ge=1, le=MOST_CALLS_AT_ONCE, description="callbacks under way at once, at most; null: the default"),
]


class AppPath(Given):
    """Which app."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName


class AppLimitsBody(Given):
    """Bounds of an app. One that is not named stays as it is; null takes it out."""

    calls_per_second: Annotated[CallsPerSecond, Field(alias="callsPerSecond")] = None
    calls_at_once: Annotated[CallsAtOnce, Field(alias="callsAtOnce")] = None
    calls_per_second_to_one_host: Annotated[
        CallsPerSecond,
        Field(alias="callsPerSecondToOneHost", description="the same to each target host and port"),
    ] = None
    calls_at_once_to_one_host: Annotated[
        CallsAtOnce, Field(alias="callsAtOnceToOneHost", description="the same to each target host and port")
    ] = None

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

    calls_per_second: Annotated[int | None, Field(description="callbacks a second, at most")]
    calls_at_once: Annotated[int | None, Field(description="callbacks under way at once, at most")]
    calls_per_second_to_one_host: Annotated[
        int | None, Field(description="callbacks a second to each target host and port, at most")
    ]
    calls_at_once_to_one_host: Annotated[
        int | None, Field(description="callbacks under way at once to each target host and port, at most")
    ]


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
        "limits": ShownLimits(
            calls_per_second=_whole(app, "callsPerSecond"),
            calls_at_once=_whole(app, "callsAtOnce"),
            calls_per_second_to_one_host=_whole(app, "callsPerSecondToOneHost"),
            calls_at_once_to_one_host=_whole(app, "callsAtOnceToOneHost"),
        ),
    }


def _whole(app: RegisteredApp, limit: str) -> int | None:
    value = app.limits.get(limit)
    return None if value is None else int(value)
