"""The operations on where calls go: the named targets of an app, its message brokers, hosts that fail."""

from collections.abc import Iterator
from typing import Unpack

from .answer import Listed, Page
from .app_types import Broker
from .calls import Calls, all_rows, place_of
from .firing_types import FailingHost, FailingHostOfApp
from .timer_fields import NamedTargetPatch, NewNamedTarget
from .timer_types import ChangedTarget, NamedTarget
from .transport import Call
from .values import written

TARGETS, BROKERS, FAILING_HOSTS = "/v1/targets", "/v1/brokers", "/v1/failing-hosts"


class TargetCalls(Calls):
    """Make, change, read and delete targets that timers name; read brokers; read and enable hosts that fail.

    Each method raises `ClientError`.

    `version` is the one that a change is meant for: `PreconditionFailed` where the target has changed since.
    """

    def put_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NewNamedTarget]
    ) -> ChangedTarget:
        """Make a target, or replace the one of this name; `***` leaves a secret as it is."""
        call = Call("PUT", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def patch_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NamedTargetPatch]
    ) -> ChangedTarget:
        """Change a target; what is not given stays. It counts for all timers that name it."""
        call = Call("PATCH", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def get_target(self, name: str) -> NamedTarget:
        """Return a target, and how many timers name it."""
        return self._get(place_of(TARGETS, name)).typed(NamedTarget, "name")

    def targets(self, *, most: int | None = None) -> Iterator[NamedTarget]:
        """Yield the app's targets by name, all or at most `most`, page by page."""
        return all_rows(self.list_targets, most)

    def list_targets(self, *, limit: int | None = None, cursor: str | None = None) -> Page[NamedTarget]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `targets` reads all pages."""
        return self._get(TARGETS, {"limit": limit, "cursor": cursor}).page(NamedTarget)

    def delete_target(self, name: str, *, version: int | None = None) -> None:
        """Delete a target that no timer names."""
        self._delete(self._ask, place_of(TARGETS, name), _condition(version))

    def get_brokers(self) -> Listed[Broker]:
        """Return the message brokers that the app may use by name, and what it may send there."""
        return self._get(BROKERS).typed(Listed[Broker], "items")

    def get_failing_hosts(self) -> Listed[FailingHost]:
        """Return the hosts that fail each of the app's calls: others wait, or fail where a host is disabled."""
        return self._get(FAILING_HOSTS).typed(Listed[FailingHost], "items")

    def get_failing_hosts_of_all_apps(self) -> Listed[FailingHostOfApp]:
        """Return the hosts that fail each call of some app, and how many firings wait for each."""
        answer = self._get(f"{FAILING_HOSTS}:allApps", names_app=False)
        return answer.typed(Listed[FailingHostOfApp], "items")

    def enable_host(self, host: str, *, idempotency_key: str | None = None) -> None:
        """Let the app's firings call a disabled host again; raises `ClientError` where it is not disabled.

        The request has an Idempotency-Key: the given one, or a new one.
        """
        self._post_once(f"{FAILING_HOSTS}:enable", {"host": host}, idempotency_key)


def _condition(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}
