"""Limits of calls to target hosts over v1: set, list, take out. For operators."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import bad_value, missing_field, shown
from wangtimer.api.v1.apps.app_routes import asked_limit
from wangtimer.api.v1.parameters import host_port
from wangtimer.api.v1.resource import Resource, Route, tell_soon
from wangtimer.api.v1.value_types import ListPage, PageQuery
from wangtimer.core.apps.described_limits import AppLimit
from wangtimer.core.flow.limits import ANY_HOST
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.store.sql.call_limits import HostLimit

HostName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LANE_CHARACTERS,
        description="a target's host and port; `*`: every host without a limit of its own",
        examples=["shop.example.org:443"],
    ),
]


class HostPath(Given):
    """Which host."""

    host: HostName


class HostLimitBody(Given):
    """The limit of a host, over all apps, in place of a former one."""

    calls_per_second: Annotated[int | None, asked_limit(AppLimit.CALLS_PER_SECOND, "none")] = None
    calls_at_once: Annotated[int | None, asked_limit(AppLimit.CALLS_AT_ONCE, "none")] = None


class ShownHostLimit(Sent):
    """The limit of a target's host and port, over all apps; null: no such limit."""

    host: HostName
    calls_per_second: Annotated[int | None, Field(description="calls a second, at most; null: no such limit")]
    calls_at_once: Annotated[
        int | None, Field(description="calls under way at once, at most; null: no such limit")
    ]


class HostLimitPage(ListPage):
    """A page of limits of hosts."""

    items: list[ShownHostLimit]


ONE = "/host-limits/<string:host>"


class HostLimitResource(Resource):
    """The operations on limits of hosts."""

    @Route("get", "/host-limits", "listHostLimits")
    def page(self, query: PageQuery) -> HostLimitPage:
        """List limits of target hosts, by host."""
        limits = self.wiring().host_limits
        return HostLimitPage.by_name(
            query, "host limits", lambda after, most: limits.page(most, after), ShownHostLimit.of, name="host"
        )

    @Route("put", ONE, "limitHost", (409,))
    def limit(self, path: HostPath, body: HostLimitBody) -> ShownHostLimit:
        """Limit the calls to a target's host and port, over all apps.

        It counts within 5 s for calls that begin then. What exceeds it waits in due order, without using an attempt.
        """
        wiring, host = self.wiring(), _known(path.host)
        if body.calls_per_second is None and body.calls_at_once is None:
            raise missing_field(
                "callsPerSecond",
                "there is neither callsPerSecond nor callsAtOnce",
                "name one of them, or delete the limit",
            )
        limit = HostLimit(host, body.calls_per_second, body.calls_at_once)
        wiring.host_limits.put(limit, self.now())
        tell_soon(wiring.limits_replica)
        return ShownHostLimit.of(limit)

    @Route("delete", ONE, "freeHost")
    def free(self, path: HostPath) -> None:
        """Take out the limit of a host; that of every other host (`*`) counts for it then."""
        wiring = self.wiring()
        wiring.host_limits.remove(_known(path.host), self.now())
        tell_soon(wiring.limits_replica)


def _known(given: str) -> str:
    """Return a host and port as calls have it; raises `Refused` where it is none."""
    host = given if given == ANY_HOST else host_port(given)
    if host is None:
        raise bad_value("host", f"{shown(given)} is no host with a port", "write NAME:PORT, or *")
    return host
