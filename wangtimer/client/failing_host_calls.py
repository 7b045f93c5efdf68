"""The operations on failing hosts."""

from .calls import Calls
from .firing_types import FailingHosts, FailingHostsOfAllApps
from .transport import Call

FAILING_HOSTS = "/v1/failing-hosts"


class FailingHostCalls(Calls):
    """Read which hosts fail. Each method raises `ClientError`."""

    def get_failing_hosts(self) -> FailingHosts:
        """Return the hosts that fail each of the app's calls; further calls to them wait."""
        return self._get(FAILING_HOSTS).typed(FailingHosts, "items")

    def get_failing_hosts_of_all_apps(self) -> FailingHostsOfAllApps:
        """Return the hosts that fail each call of some app, and how many firings wait for each."""
        answer = self._transport.ask(Call("GET", f"{FAILING_HOSTS}:allApps"))
        return answer.typed(FailingHostsOfAllApps, "items")
