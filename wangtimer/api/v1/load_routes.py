"""The load to come over v1: the firings planned by minute, of an app or of all apps."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, number
from wangtimer.api.http.refusals import bad_value
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import Text
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.work_budget import refuse_more

PlannedUntil = Annotated[
    Text, Field(description="up to here every schedule is planned; what comes after it may be missing")
]


class LoadWindow(Given):
    """How far ahead."""

    minutes: Annotated[int | None, BeforeValidator(number), Field(ge=1)] = None
    """how many minutes from the current one on; by default, and at most, all that are planned (120)"""


class MinuteOfLoad(Sent):
    """A minute that has firings."""

    minute: Annotated[Text, Field(description="its start")]
    firings: int


class AppLoad(Sent):
    """The firings planned in each future minute, retries included."""

    items: Annotated[list[MinuteOfLoad], Field(description="minutes without firings are left out")]
    firings: Annotated[int, Field(description="in all")]
    planned_until: PlannedUntil


class MinuteOfAllApps(MinuteOfLoad):
    """A minute that has firings of any app."""

    apps: Annotated[dict[str, int], Field(description="firings by app", examples=[{"shop": 2}])]


class AllAppsLoad(Sent):
    """The firings of all apps planned into each minute to come, retries included."""

    items: Annotated[list[MinuteOfAllApps], Field(description="minutes without firings are left out")]
    firings: Annotated[int, Field(description="in all")]
    planned_until: PlannedUntil


class LoadResource(Resource):
    """The operations on the load."""

    @Route("get", "/load", "getLoad")
    def show(self, header: AppHeader, query: LoadWindow) -> AppLoad:
        """Show how many firings are planned in each minute.

        They are the planned firings of the app's enabled timers. In a large deployment a count is remembered for 20
        times as long as counting took. A request that counts for more than a few seconds is refused: ask for fewer
        minutes, or ask again.
        """
        by_minute, planned_until = self._planned(query)
        counts = {minute: apps.get(header.app, 0) for minute, apps in by_minute.items()}
        return AppLoad.of(
            items=[
                MinuteOfLoad.of(minute=minute * MINUTE_MS, firings=count)
                for minute, count in counts.items()
                if count
            ],
            firings=sum(counts.values()),
            planned_until=planned_until,
        )

    @Route("get", "/load:allApps", "getLoadOfAllApps")
    def show_all_apps(self, query: LoadWindow) -> AllAppsLoad:
        """Show how many firings of all apps come in each minute.

        For operators: it takes no app. Of enabled timers, as far as they are planned, counted as for one app.
        The answer has an entry for each app and minute; too many of them are refused (40012): ask for fewer minutes.
        """
        by_minute, planned_until = self._planned(query)
        items = [_of_all_apps(minute, apps) for minute, apps in by_minute.items() if apps]
        firings = sum(minute.firings for minute in items)
        return AllAppsLoad.of(items=items, firings=firings, planned_until=planned_until)

    def _planned(self, query: LoadWindow) -> tuple[dict[int, Mapping[str, int]], int]:
        """Return firings by minute (since 1970) and app, from the current one on, and until when all are planned.

        That is in ms UTC. Raises `Refused` for more minutes than are planned.
        """
        wiring = self.wiring()
        most = max(1, wiring.settings.horizon_ms // MINUTE_MS)
        if query.minutes is not None and query.minutes > most:
            reason = "firings are not planned that far ahead"
            raise bad_value("minutes", reason, f"ask for {most} at most")
        first, wanted = self.now() // MINUTE_MS, query.minutes or most
        by_minute = wiring.planned_load.minutes(first, wanted)
        ends_at = (first + wanted) * MINUTE_MS
        unplanned = wiring.planned_load.first_unplanned()
        until = (ends_at if unplanned is None else min(unplanned, ends_at)) - 1
        return dict(sorted(by_minute.items())), until


def _of_all_apps(minute: int, apps: Mapping[str, int]) -> MinuteOfAllApps:
    refuse_more()
    by_name = dict(sorted(apps.items()))
    return MinuteOfAllApps.of(minute=minute * MINUTE_MS, firings=sum(apps.values()), apps=by_name)
