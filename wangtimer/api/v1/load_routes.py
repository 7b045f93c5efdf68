"""The future load over v1: an app's planned firings by minute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from wangtimer.api.asked.coming_load import Minutes, coming_load
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.serving import Routes
from wangtimer.api.v1.shown import Text
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.time.moment_text import show_moment
from wangtimer.wiring import Wiring


class LoadWindow(Given):
    """How far ahead."""

    minutes: Minutes = None


class MinuteOfLoad(Sent):
    """A minute that has firings."""

    minute: Annotated[Text, Field(description="its start")]
    firings: int


class AppLoad(Sent):
    """The firings planned in each future minute, retries included."""

    items: Annotated[list[MinuteOfLoad], Field(description="minutes without firings are left out")]
    firings: Annotated[int, Field(description="in all")]
    planned_until: Annotated[
        Text, Field(description="every schedule is planned up to this moment; later firings may be missing")
    ]


@dataclass(frozen=True, slots=True)
class LoadResource:
    """The operation on the load."""

    wiring: Callable[[], Wiring]

    def show(self, header: AppHeader, query: LoadWindow) -> AppLoad:
        """Show how many firings are planned in each minute.

        They are the planned firings of the app's enabled timers. In a large deployment a count is remembered for 20
        times as long as counting took.
        """
        load = coming_load(self.wiring(), query.minutes)
        counts = {minute: apps.get(header.app, 0) for minute, apps in load.by_minute.items()}
        return AppLoad(
            items=[
                MinuteOfLoad(minute=show_moment(minute * MINUTE_MS), firings=count)
                for minute, count in counts.items()
                if count
            ],
            firings=sum(counts.values()),
            planned_until=show_moment(load.planned_until),
        )


def load_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the route of the load."""
    routes = Routes.of("load", "load")
    routes.add("get", "/load", LoadResource(wiring).show, "getLoad", {200: AppLoad})
    return routes.blueprint
