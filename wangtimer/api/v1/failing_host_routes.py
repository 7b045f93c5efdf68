"""Failing hosts over v1: those to which an app's calls wait, or are made no more; enable one."""

from itertools import chain
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.api.v1.parameters import ActingHeader, AppHeader
from wangtimer.api.v1.resource import Resource, Route, tell_soon
from wangtimer.api.v1.value_types import Text
from wangtimer.core.flow.disabled_hosts import ORIGIN_CHARACTERS, DisabledHost
from wangtimer.core.flow.slicing import parted
from wangtimer.core.messages.message_place import origin_of, shown_host
from wangtimer.store.redis.failing_hosts import FailingHost
from wangtimer.wiring import Wiring

# Of those that may be meant, in an error.
MOST_NAMED = 5


class ShownFailingHost(Sent):
    """A host to which each of an app's calls fails."""

    host: Annotated[str, Field(examples=["https://shop.example:443/orders"])]
    """scheme, host and port, then `/` and the first segment of the path or `#` and the name of the target; without
    these, all parts of the host beyond the 16 that are judged by themselves; of a broker `broker:NAME`"""
    since: Annotated[
        Text, Field(description="the first failure that no answer followed, nor a silence of over 36 hours")
    ]
    last_failed_at: Annotated[Text, Field(description="the last failure so far")]
    last_error: Annotated[str, Field(examples=["timed out after 10000 ms", "HTTP 503"])]
    """what came of that call"""
    disabled_at: Text | None
    """since when the app's firings for it fail without a call, as it failed for days; null: they wait for it"""


class FailingHosts(Sent):
    """The hosts that are failing now, the longest failing first."""

    items: list[ShownFailingHost]


class FailingHostOfApp(ShownFailingHost):
    """A host to which each call of one app fails."""

    app: str
    waiting: int
    """firings that wait in Redis for the host or for a limit of calls to it, those of other apps included; not those
    that an operator paused"""


class FailingHostsOfAllApps(Sent):
    """The hosts that are failing now for some app, the longest failing first."""

    items: list[FailingHostOfApp]


class EnableHostBody(Given):
    """Which host is to be called again."""

    host: Annotated[
        str,
        Field(min_length=1, max_length=ORIGIN_CHARACTERS, examples=["https://shop.example:443/orders"]),
        AfterValidator(plain),
    ]
    """the host, or the part of it, as the list of failing hosts has it; or its name and port alone, as dead letters and
    pauses have it, where one disabled host of the app has them"""


class FailingHostResource(Resource):
    """The operations on failing hosts."""

    @Route("get", "/failing-hosts", "getFailingHosts")
    def show(self, header: AppHeader) -> FailingHosts:
        """Show the hosts to which the app's calls fail.

        A host is failing after five failures in a row: no connection, a time-out, a broken answer, or an answer with
        429, 502, 503 or 504. Then calls to it wait, without using an attempt, and each process tries it by one call at
        a time, at most every second, then every 2, 4 and 5 s. Any other answer ends that. A host that fails for days
        (5, unless the deployment says otherwise) is disabled: the app's firings for it fail at once and are dead
        letters, but for one a minute that tries it.
        """
        hosts = _hosts(self.wiring(), header.app)
        return FailingHosts(items=[ShownFailingHost.of(host, **fields) for host, fields in hosts])

    @Route("get", "/failing-hosts:allApps", "getFailingHostsOfAllApps")
    def show_all_apps(self) -> FailingHostsOfAllApps:
        """Show the hosts that are failing for any app.

        For operators: it takes no app. What a host is failing for is said of each app: other apps' calls to it may
        succeed. Of each callback process the 200 that are failing longest are known.
        """
        wiring = self.wiring()
        hosts = _hosts(wiring)
        waiting = wiring.lanes.waiting_in(list({lane for host, _ in hosts for lane in host.lanes}))
        return FailingHostsOfAllApps(
            items=[
                FailingHostOfApp.of(host, **fields, waiting=sum(waiting[lane] for lane in host.lanes))
                for host, fields in hosts
            ]
        )

    @Route("post", "/failing-hosts:enable", "enableHost")
    def enable(self, header: ActingHeader, body: EnableHostBody) -> None:
        """Enable a disabled host: within 5 s firings call it or wait for it, and its days count anew.

        An answer to one of the calls that try it enables it too. What had failed meanwhile is replayed as dead letters.
        """
        wiring = self.wiring()
        origin = _origin_meant(wiring, header.app, origin_of(body.host))
        if not wiring.disabled_hosts.enable(header.app, origin, self.now()):
            raise Refused(
                ErrorCode.WRONG_STATE,
                "host",
                f"{shown(body.host)} is not disabled for this app",
                "list the failing hosts, and write it as there; it is enabled already if it has no disabledAt",
            )
        tell_soon(wiring.disabled_hosts_replica)


def _hosts(wiring: Wiring, app: str | None = None) -> list[tuple[FailingHost, dict[str, Any]]]:
    """Return the hosts that fail or are disabled, of one app or of all, the longest failing first, and their fields."""
    present = [host for host in wiring.failing_hosts.present() if app in (None, host.app)]
    disabled = {host.key: host for host in wiring.disabled_hosts.all(app)}
    unseen = disabled.keys() - {host.key for host in present}
    others = (_as_last_seen(disabled[key]) for key in unseen)
    ordered = sorted(chain(present, others), key=lambda host: (host.since, host.key))
    return [(host, _fields(host, disabled.get(host.key))) for host in ordered]


def _fields(host: FailingHost, disabled: DisabledHost | None) -> dict[str, Any]:
    return {
        "host": shown_host(host.origin),
        "last_failed_at": host.failed_at,
        "last_error": host.error,
        "disabled_at": None if disabled is None else disabled.disabled_at,
    }


def _origin_meant(wiring: Wiring, app: str, named: str) -> str:
    """Return the origin that is named, be it without scheme and part; raises `Refused` where several may be meant."""
    if "://" in named:
        return named
    origins = [host.origin for host in wiring.disabled_hosts.all(app)]
    meant = [origin for origin in origins if parted(origin.partition("://")[2])[0] == named]
    if len(meant) > 1:
        what = f"{shown(named)} may be {' or '.join(sorted(meant)[:MOST_NAMED])}"
        raise Refused(ErrorCode.WRONG_STATE, "host", what, "write one of them")
    return meant[0] if meant else named


def _as_last_seen(host: DisabledHost) -> FailingHost:
    """Return a disabled host that no process sees fail now, as it was when it was disabled."""
    return FailingHost(host.app, host.origin, host.since, host.failed_at, host.error, host.disabled_at)
