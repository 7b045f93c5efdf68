"""Failing hosts over v1: those to which an app's calls wait, of one app or of all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from wangtimer.api.http.envelope import Sent
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.serving import Routes
from wangtimer.api.v1.shown import Text
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.redis.failing_hosts import FailingHost
from wangtimer.wiring import Wiring


class ShownFailingHost(Sent):
    """A host to which each of an app's calls fails."""

    host: Annotated[str, Field(description="scheme, host and port", examples=["https://shop.example:443"])]
    since: Annotated[Text, Field(description="the first failure that no answer followed")]
    last_failed_at: Annotated[Text, Field(description="the last failure so far")]
    last_error: Annotated[
        str, Field(description="what came of that call", examples=["timed out after 10000 ms", "HTTP 503"])
    ]


class FailingHosts(Sent):
    """The hosts that are failing now, the longest failing first."""

    items: list[ShownFailingHost]


class FailingHostOfApp(ShownFailingHost):
    """A host to which each call of one app fails."""

    app: str
    waiting: Annotated[
        int,
        Field(
            description="firings that wait in Redis for the host or for a limit of calls to it, those of other apps "
            "included; not those that an operator paused"
        ),
    ]


class FailingHostsOfAllApps(Sent):
    """The hosts that are failing now for some app, the longest failing first."""

    items: list[FailingHostOfApp]


@dataclass(frozen=True, slots=True)
class FailingHostResource:
    """The operations on failing hosts."""

    wiring: Callable[[], Wiring]

    def show(self, header: AppHeader) -> FailingHosts:
        """Show the hosts to which the app's calls fail.

        A host is failing after five failures in a row: no connection, a time-out, a broken answer, or an answer with
        429, 502, 503 or 504. Then calls to it wait, without using an attempt, and each process tries it by one call at
        a time, at most every second, then every 2, 4 and 5 s. Any other answer ends that.
        """
        present = self.wiring().failing_hosts.present()
        return FailingHosts(
            items=[ShownFailingHost(**_shown(one)) for one in present if one.app == header.app]
        )

    def show_all_apps(self) -> FailingHostsOfAllApps:
        """Show the hosts that are failing for any app.

        For operators: it takes no app. What a host is failing for is said of each app: other apps' calls to it may
        succeed. Of each callback process the 200 that are failing longest are known.
        """
        wiring = self.wiring()
        present = wiring.failing_hosts.present()
        waiting = wiring.lanes.waiting_in(list({lane for one in present for lane in one.lanes}))
        return FailingHostsOfAllApps(
            items=[
                FailingHostOfApp(**_shown(one), app=one.app, waiting=sum(waiting[lane] for lane in one.lanes))
                for one in present
            ]
        )


def _shown(host: FailingHost) -> dict[str, Any]:
    return {
        "host": host.origin,
        "since": show_moment(host.since),
        "last_failed_at": show_moment(host.failed_at),
        "last_error": host.error,
    }


def failing_host_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of failing hosts."""
    routes = Routes.of("failingHosts", "failing hosts")
    resource = FailingHostResource(wiring)
    routes.add("get", "/failing-hosts", resource.show, "getFailingHosts", {200: FailingHosts})
    routes.add(
        "get",
        "/failing-hosts:allApps",
        resource.show_all_apps,
        "getFailingHostsOfAllApps",
        {200: FailingHostsOfAllApps},
    )
    return routes.blueprint
