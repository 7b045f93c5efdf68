"""What requests and answers have of an app."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import PAGE, AppName, Cursor, Given, Limit
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import Subject
from wangtimer.core.flow.queues import QUEUE_CHARACTERS
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.sql.apps import AS_IT_WAS

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

Queue = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=QUEUE_CHARACTERS,
        description="its own queue, one of `WANGTIMER_CALLBACK_QUEUES`: only callback processes of this queue call for "
        "it; null: the common one",
        examples=["reports"],
    ),
]


class AppPath(Given):
    """Which app."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName


class AppLimitsBody(Given):
    """Bounds of an app. One that is not named stays as it is; null takes it out."""

    calls_per_second: Annotated[CallsPerSecond, Field(alias="callsPerSecond")] = None
    calls_at_once: Annotated[CallsAtOnce, Field(alias="callsAtOnce")] = None

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
    queue: Queue = None


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
    queue: Queue = None

    @property
    def given_queue(self) -> str | None:
        """The queue that the request names; `AS_IT_WAS` if it names none."""
        return self.queue if "queue" in self.model_fields_set else AS_IT_WAS


class AppListQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class ShownLimits(Sent):
    """The bounds that an operator set for an app; null: the default."""

    calls_per_second: Annotated[int | None, Field(description="callbacks a second, at most")]
    calls_at_once: Annotated[int | None, Field(description="callbacks under way at once, at most")]


class ShownApp(Sent):
    """An app."""

    name: Annotated[str, Field(examples=["shop"])]
    created_at: Text
    updated_at: Text
    disabled_at: Annotated[Text | None, Field(description="null: it is not disabled")]
    limits: ShownLimits
    queue: Annotated[str | None, Field(description="its own queue; null: the common one")]


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
    per_second, at_once = app.limits.get("callsPerSecond"), app.limits.get("callsAtOnce")
    return {
        "name": app.name,
        "created_at": show_moment(app.created_at),
        "updated_at": show_moment(app.updated_at),
        "disabled_at": None if app.disabled_at is None else show_moment(app.disabled_at),
        "limits": ShownLimits(
            calls_per_second=None if per_second is None else int(per_second),
            calls_at_once=None if at_once is None else int(at_once),
        ),
        "queue": app.queue,
    }
