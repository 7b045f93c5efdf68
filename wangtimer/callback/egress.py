"""The judge of connections: asked at every socket, before its first packet, and anew when the rules change."""

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

from wangtimer.core.egress.egress_rules import EgressRules, Peer
from wangtimer.core.egress.way_out import AppEgress

# One text for every refusal: it says nothing of the address, nor whether anything listens there.
REFUSED = "the rules of this deployment do not allow calls to the target's address"
# Different refusals that are kept until they are taken: a thousand apps that are all wrong fill no memory.
_MOST_KINDS = 1_000


class Refusal(NamedTuple):
    """What was refused to whom, and by which rule: for operators only."""

    app: str
    peer: Peer
    rule: str


class Egress:
    """The rules in use, and those of apps that have some of their own. `version` changes with each of them.

    What was judged under another version is judged anew. The engine's thread asks; any thread may change the rules, or
    take the refusals.
    """

    def __init__(self, rules: EgressRules) -> None:
        self._rules = rules
        self._apps: Mapping[str, AppEgress] = {}
        self._of_apps: Mapping[str, EgressRules] = {}
        self.version = 0
        self._refusals: Counter[Refusal] = Counter()
        self._left_out = 0
        self._lock = Lock()

    @property
    def rules(self) -> EgressRules:
        """The rules in use."""
        return self._rules

    def change(self, rules: EgressRules) -> None:
        """Judge by these from now on."""
        self._change(rules, self._apps)

    def change_apps(self, apps: Mapping[str, AppEgress]) -> None:
        """Judge calls of these apps by what is set for each, those of all others by the rules alone, from now on."""
        self._change(self._rules, apps)

    def _change(self, rules: EgressRules, apps: Mapping[str, AppEgress]) -> None:
        with self._lock:
            self._rules, self._apps = rules, apps
            self._of_apps = {app: rules.of_app(own) for app, own in apps.items()}
            self.version += 1  # after the rules: who has seen it judges by them

    def allows(self, peer: Peer, app: str) -> bool:
        """Tell whether a call of this app may go there; a refusal is noted."""
        rule = self._refusal(peer, app)
        if rule:
            self._note(Refusal(app, peer, rule))
        return not rule

    def allows_still(self, peer: Peer, app: str) -> bool:
        """Tell whether a kept connection of this app may be used; who opens another in its place is asked again."""
        return not self._refusal(peer, app)

    def _refusal(self, peer: Peer, app: str) -> str:
        return self._of_apps.get(app, self._rules).refusal(peer)

    def _note(self, refusal: Refusal) -> None:
        with self._lock:
            if refusal in self._refusals or len(self._refusals) < _MOST_KINDS:
                self._refusals[refusal] += 1
            else:
                self._left_out += 1

    def take_refusals(self) -> tuple[Counter[Refusal], int]:
        """Return and forget what was refused, how often each, and how many beyond those kept."""
        with self._lock:
            taken, self._refusals = self._refusals, Counter()
            left_out, self._left_out = self._left_out, 0
        return taken, left_out
