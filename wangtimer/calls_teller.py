"""The calls teller: tells callback processes again what Redis lost, or was told while it was away."""

from collections.abc import Mapping
from dataclasses import dataclass

from wangtimer.core.alerts.alerted_apps import AlertedApps
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.in_turn import do_in_turn
from wangtimer.store.redis.told_rules import ToldForCallsStore
from wangtimer.teller import Teller
from wangtimer.way_out_teller import WayOutTeller


@dataclass(frozen=True, slots=True)
class CallsTeller:
    """One command reads all that Redis has: sweeps do so also while nothing is due."""

    told: ToldForCallsStore
    limits: Teller[Mapping[str, CallLimit]]
    rules: Teller[CallRules]
    ways_out: WayOutTeller
    alerted: Teller[AlertedApps]

    def tell_again(self) -> None:
        """Tell what Redis has otherwise than SQL; what fails holds up nothing else. Raises `StoreAway`."""
        found = self.told.read()
        do_in_turn(
            lambda: self.limits.tell_instead_of(found.limits),
            lambda: self.rules.tell_instead_of(found.rules),
            lambda: self.ways_out.tell_instead_of(found.ways_out_mark),
            lambda: self.alerted.tell_instead_of(found.alerted),
        )
