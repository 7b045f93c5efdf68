"""The load to come over v1: an app's firings planned by minute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from flask_openapi.blueprint import APIBlueprint
from pydantic import BeforeValidator, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import Given, number
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.serving import Routes
from wangtimer.api.v1.shown import Text
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.time.moment_text import show_moment
from wangtimer.wiring import Wiring


class LoadWindow(Given):
    """How far ahead."""

    minutes: Annotated[
        int | None,
        BeforeValidator(number),
        Field(
            ge=1, description="from the current one on; at most, and by default, all that are planned (120)"
        ),
    ] = None


class MinuteOfLoad(Sent):
    """A minute that has firings."""

    minute: Annotated[Text, Field(description="its start")]
    firings: int


class AppLoad(Sent):
    """The firings planned into each minute to come, retries included."""

    items: Annotated[list[MinuteOfLoad], Field(description="minutes without firings are left out")]
    firings: Annotated[int, Field(description="in all")]
    planned_until: Annotated[
        Text, Field(description="up to here every schedule is planned; what comes after it may be missing")
    ]


@dataclass(frozen=True, slots=True)
class LoadResource:
    """The operation on the load."""

    wiring: Callable[[], Wiring]

    def show(self, header: AppHeader, query: LoadWindow) -> AppLoad:
        """Show how many firings come in each minute.

        Of the app's enabled timers, as far as they are planned. In a large deployment counts are remembered for 20
        times as long as counting took.
        """
        wiring = self.wiring()
        first, minutes = int(wiring.clock.now_ms()) // MINUTE_MS, self._asked(query)
        by_minute = wiring.planned_load.minutes(first, minutes)
        counts = {minute: apps.get(header.app, 0) for minute, apps in sorted(by_minute.items())}
        ends_at = (first + minutes) * MINUTE_MS
        unplanned = wiring.planned_load.first_unplanned()
        return AppLoad(
            items=[
                MinuteOfLoad(minute=show_moment(minute * MINUTE_MS), firings=count)
                for minute, count in counts.items()
                if count
            ],
            firings=sum(counts.values()),
            planned_until=show_moment((ends_at if unplanned is None else min(unplanned, ends_at)) - 1),
        )

    def _asked(self, query: LoadWindow) -> int:
        most = max(1, self.wiring().settings.horizon_ms // MINUTE_MS)
        if query.minutes is not None and query.minutes > most:
            raise Refused(
                ErrorCode.BAD_VALUE, "minutes", "further than firings are planned", f"ask for {most} at most"
            )
        return query.minutes or most


def load_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the route of the load."""
    routes = Routes.of("load", "load")
    routes.add("get", "/load", LoadResource(wiring).show, "getLoad", {200: AppLoad})
    return routes.blueprint
