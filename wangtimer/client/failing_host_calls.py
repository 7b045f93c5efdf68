"""The operations on failing hosts."""

from .calls import Calls
from .firing_types import FailingHosts, FailingHostsOfAllApps
from .transport import Call

FAILING_HOSTS = "/v1/failing-hosts"


class FailingHostCalls(Calls):
    """Read which hosts fail; enable those that are disabled. Each method raises `ClientError`."""

    def get_failing_hosts(self) -> FailingHosts:
        """Return the hosts that fail each of the app's calls: others wait, or fail where a host is disabled."""
        return self._get(FAILING_HOSTS).typed(FailingHosts, "items")

    def get_failing_hosts_of_all_apps(self) -> FailingHostsOfAllApps:
        """Return the hosts that fail each call of some app, and how many firings wait for each."""
        answer = self._transport.ask(Call("GET", f"{FAILING_HOSTS}:allApps"))
        return answer.typed(FailingHostsOfAllApps, "items")

    def enable_host(self, host: str, *, idempotency_key: str | None = None) -> None:
        """Let the app's firings call a disabled host again; raises `ClientError` where it is not disabled.

        The request has an Idempotency-Key: the given one, or a new one.
        """
        self._post_once(f"{FAILING_HOSTS}:enable", {"host": host}, idempotency_key)
