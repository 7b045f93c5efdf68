"""The operations on limits of calls to target hosts: for operators."""

from collections.abc import Iterator

from .app_types import HostLimit, HostLimitsPage
from .calls import Calls, all_rows, place_of
from .transport import Call
from .values import given

LIMITS = "/v1/host-limits"


class HostLimitCalls(Calls):
    """Set, list and take out limits of hosts. Each method raises `ClientError`. They need an operator's key.

    `host` is a target's host and port, `shop.example.org:443`; or `*`, for every host without a limit of its own.
    """

    def limit_host(
        self, host: str, *, calls_per_second: int | None = None, calls_at_once: int | None = None
    ) -> HostLimit:
        """Limit the calls to a host, over all apps, in place of a former limit; None: no such limit."""
        body = given({"callsPerSecond": calls_per_second, "callsAtOnce": calls_at_once})
        return self._transport.ask(Call("PUT", place_of(LIMITS, host), body=body)).typed(HostLimit, "host")

    def free_host(self, host: str) -> None:
        """Take out the limit of a host."""
        self._transport.ask(Call("DELETE", place_of(LIMITS, host)))

    def host_limits(self, *, most: int | None = None) -> Iterator[HostLimit]:
        """Yield limits by host, all or at most `most`, page by page."""
        return all_rows(lambda limit, cursor: self.list_host_limits(limit=limit, cursor=cursor), most)

    def list_host_limits(self, *, limit: int | None = None, cursor: str | None = None) -> HostLimitsPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `host_limits` reads all pages."""
        query = given({"limit": limit, "cursor": cursor})
        return self._transport.ask(Call("GET", LIMITS, query=query)).typed(
            HostLimitsPage, "items", "nextCursor"
        )
