"""What this process knows of operators' rules for calls: limits, and what is paused."""

from collections.abc import Callable, Mapping

from wangtimer.core.alerts.alerted_apps import NOBODY, AlertedApps
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.told_rules import ToldForCallsStore

_NONE = CallLimits()


class KnownRules:
    """Read every few seconds, never for a firing. The mark of the ways out is read with them, and told to `on_mark`.

    A process without any asks SQL: sweeps tell Redis later than calls come due. While Redis has lost them, those that
    were read before count on. `pauses` is what is paused: each call looks at it.
    """

    def __init__(
        self,
        told: ToldForCallsStore,
        limits_in_sql: Callable[[], Mapping[str, CallLimit]],
        rules_in_sql: Callable[[], CallRules],
        on_mark: Callable[[str], None],
        alerted_in_sql: Callable[[], AlertedApps],
    ) -> None:
        self._told = told
        self._limits_in_sql = limits_in_sql
        self._rules_in_sql = rules_in_sql
        self._on_mark = on_mark
        self._alerted_in_sql = alerted_in_sql
        self._alerted: AlertedApps | None = None
        self._limits: Mapping[str, CallLimit] | None = None
        self._rules: CallRules | None = None
        self._known: CallLimits | None = None
        self.pauses = Pauses()

    def read(self) -> None:
        """Read all; raises `StoreAway`."""
        limits, rules, mark, alerted = self._told.read()
        if mark is not None:
            self._on_mark(mark)
        if limits is None and self._limits is None:
            limits = self._limits_in_sql()
        if rules is None and self._rules is None:
            rules = self._rules_in_sql()
        self._rules = self._rules if rules is None else rules
        self._limits = self._limits if limits is None else limits
        if self._limits is not None and self._rules is not None:
            self._known = CallLimits(self._limits, self._rules)
            self.pauses = self._rules.pauses
        if alerted is None and self._alerted is None:
            alerted = self._alerted_in_sql()
        self._alerted = self._alerted if alerted is None else alerted

    @property
    def are_known(self) -> bool:
        """Whether they were read once."""
        return self._known is not None

    @property
    def limits(self) -> CallLimits:
        """All limits; none while they are not known."""
        return self._known or _NONE

    @property
    def alerted(self) -> AlertedApps:
        """The apps that have rules of alerts; none while they are not known."""
        return self._alerted or NOBODY

    def holds(self, lane: SharedLane) -> bool:
        """Tell whether nothing is to be taken from a lane, since all in it is paused, or the rules are not known."""
        return not self.are_known or self.pauses.hold(lane)
