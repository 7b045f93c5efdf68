"""The throttle: gets permits for the calls of apps with a limit, a few milliseconds' calls of an app in one script.

It sends calls of what is paused to the lanes of their pauses: a pause is a limit that leaves no call.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from uuid import uuid4

import structlog

from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.executor.known_rules import KnownRules
from wangtimer.store.redis.permits import PermitOrder, PermitStore

log = structlog.get_logger()

# Calls that ask within this share one script an app.
GATHER_S = 0.003
# How often the rules of operators are read, never for a firing; and the same while no app is limited or paused.
READ_EVERY_S, READ_NONE_EVERY_S = 2.0, 4.0
# The same while this process knows no rules yet: no call is made until then.
READ_FIRST_EVERY_S = 0.5
# A permit is for a call that begins within this: Redis holds it that much longer than a call may take.
BEGINS_WITHIN_S = 1.0
PAUSE_AFTER_FAULT_S = 0.5

OnPermit = Callable[[PermitAnswer], None]


@dataclass(slots=True)
class Wants:
    """What this process wants of one app's limit, and has to give back to it."""

    waited: list[OnPermit] = field(default_factory=list)
    fresh: list[OnPermit] = field(default_factory=list)
    back: list[str] = field(default_factory=list)
    unused: int = 0

    @property
    def answers(self) -> list[OnPermit]:
        """All that wait for an answer."""
        return [*self.waited, *self.fresh]


class Throttle:
    """One thread a process; any thread may use it. It does nothing for apps that are neither limited nor paused.

    * Until this process has read the rules once, every app counts as limited and gets no permit.
    * Permits that could not be given back, since Redis is away, end by themselves.
    """

    def __init__(self, permits: PermitStore, rules: KnownRules, clock: Clock) -> None:
        self._permits = permits
        self._rules = rules
        self._clock = clock
        self._read_at = float("-inf")
        self._wants: dict[str, Wants] = {}
        self._lock = Lock()
        self._wake = Event()

    def start(self) -> None:
        """Begin to read rules and to ask, until the process ends."""
        Thread(target=self._run, name="throttle", daemon=True).start()

    def is_limited(self, app: str, host: str) -> bool:
        """Tell whether calls of this app to this host need a permit; all do while this process knows no rules yet."""
        rules = self._rules
        return not rules.are_known or app in rules.limits or rules.pauses.lane_of(app, host) is not None

    def needs_permits(self, app: str) -> bool:
        """Tell whether firings from the lane of this app's limit need permits."""
        return not self._rules.are_known or app in self._rules.limits

    @property
    def limits(self) -> Mapping[str, CallLimit]:
        """The limit of each app that has one, as this process last read them; none if it never did."""
        return self._rules.limits

    @property
    def pauses(self) -> Pauses:
        """What is paused, as this process last read it."""
        return self._rules.pauses

    def holds(self, lane: SharedLane) -> bool:
        """Tell whether nothing is to be taken from a lane, since all in it is paused."""
        return self._rules.holds(lane)

    def ask(self, app: str, host: str, has_waited: bool, answer: OnPermit) -> None:
        """Ask for a permit soon; while others wait for the limit, only who has waited in a lane gets one.

        What is paused is sent away at once.
        """
        paused_in = self.pauses.lane_of(app, host)
        if paused_in is not None:
            answer(paused_in)
            return
        with self._lock:
            wants = self._wants.setdefault(app, Wants())
            (wants.waited if has_waited else wants.fresh).append(answer)
        self._wake.set()

    def give_back(self, app: str, permit: Permit, *, is_unused: bool) -> None:
        """Give back a permit soon, or when this process next asks; nobody counts a used one but of calls at once."""
        limit = self.limits.get(app)
        if limit is None or (limit.at_once is None and not is_unused):
            return
        with self._lock:
            wants = self._wants.setdefault(app, Wants())
            wants.back.append(permit.name)
            wants.unused += is_unused
        self._wake.set()

    def give_back_all(self, app: str, permits: Iterable[Permit]) -> None:
        """Give back permits with which no call was made."""
        for permit in permits:
            self.give_back(app, permit, is_unused=True)

    def take(self, app: str, most: int) -> tuple[list[Permit], float]:
        """Return up to `most` permits for firings to be pulled from the limit's lane now; raises `StoreAway`.

        The second is in how many seconds the app's calls a second leave another one; 0 if they do now.
        """
        return self.take_all({app: most})[app]

    def take_all(self, wishes: Mapping[str, int]) -> dict[str, tuple[list[Permit], float]]:
        """Do the same for several apps, in one trip; raises `StoreAway`."""
        limits = self.limits
        orders = [
            replace(_order(app, limits[app], self._backs_of(app)), waited=most)
            for app, most in wishes.items()
            if app in limits
        ]
        taken: dict[str, tuple[list[Permit], float]] = {app: ([], 0.0) for app in wishes}
        if orders:
            asked_at = self._clock.monotonic()
            permitted = self._permits.carry_out(orders)
            for order, given in zip(orders, permitted, strict=True):
                taken[order.app] = _permits(given.to_waited, asked_at), given.wait_ms / 1_000
        return taken

    def _backs_of(self, app: str) -> Wants:
        """Take out what is to be given back to an app's limit."""
        with self._lock:
            gathered = self._wants.get(app, Wants())
            mine = Wants(back=gathered.back, unused=gathered.unused)
            gathered.back, gathered.unused = [], 0
            if not gathered.answers:
                self._wants.pop(app, None)
        return mine

    @property
    def has_wants(self) -> bool:
        """Whether something is to be asked or given back."""
        return bool(self._wants)

    def read_rules(self) -> None:
        """Read the rules; raises `StoreAway`."""
        self._rules.read()

    def warm_up(self) -> None:
        """Read the rules before the first call; what cannot be read stops no start, and is read later."""
        try:
            self.read_rules()
        except StoreAway as error:
            log.info("rules_not_read", error=str(error))
        except Exception:
            log.exception("rules_not_read")

    def carry_out(self) -> None:
        """Ask and give back what has gathered, in one trip; while Redis is away nobody gets an answer but "unknown"."""
        with self._lock:
            wants, self._wants = self._wants, {}
        asked_at = self._clock.monotonic()
        orders, wanted = [], []
        for app, theirs in wants.items():
            limit = self.limits.get(app)
            if limit is None:
                _answer(theirs.answers, [])
                continue
            orders.append(_order(app, limit, theirs))
            wanted.append(theirs)
        if not orders:
            return
        try:
            permitted = self._permits.carry_out(orders)
        except StoreAway as error:
            log.info("no_permits_without_redis", apps=len(orders), error=str(error))
            for theirs in wanted:
                _answer(theirs.answers, [])
            return
        except Exception:
            for theirs in wanted:
                _answer(theirs.answers, [])
            raise
        for order, theirs, given in zip(orders, wanted, permitted, strict=True):
            lane = SharedLane.of_limit(order.app)
            _answer(theirs.waited, _with_refusals(theirs.waited, given.to_waited, asked_at, lane))
            _answer(theirs.fresh, _with_refusals(theirs.fresh, given.to_fresh, asked_at, lane))

    def run_once(self) -> None:
        """Ask and give back what has gathered; read the rules when it is time. Raises `StoreAway`.

        Until the rules are known, who asks waits for the next reading of them.
        """
        if self.has_wants and self._rules.are_known:
            self._clock.sleep(GATHER_S)
            self.carry_out()
        if self._clock.monotonic() >= self._next_read_at:
            self._read_at = self._clock.monotonic()
            try:
                self.read_rules()
            finally:
                self.carry_out()

    @property
    def _next_read_at(self) -> float:
        if not self._rules.are_known:
            return self._read_at + READ_FIRST_EVERY_S
        return self._read_at + (READ_EVERY_S if self._rules.has_any else READ_NONE_EVERY_S)

    def _run(self) -> None:
        while True:
            self._wake.wait(max(0.0, self._next_read_at - self._clock.monotonic()))
            self._wake.clear()
            try:
                self.run_once()
            except StoreAway as error:
                log.info("rules_not_read", error=str(error))
            except Exception:
                log.exception("throttle_stumbled")
                self._clock.sleep(PAUSE_AFTER_FAULT_S)


def _order(app: str, limit: CallLimit, wants: Wants) -> PermitOrder:
    return PermitOrder(
        app,
        limit,
        uuid4().hex,
        waited=len(wants.waited),
        fresh=len(wants.fresh),
        back=tuple(wants.back),
        unused=wants.unused,
    )


def _permits(names: Iterable[str], asked_at: float) -> list[Permit]:
    return [Permit(name, asked_at + BEGINS_WITHIN_S) for name in names]


def _with_refusals(
    answers: list[OnPermit], names: tuple[str, ...], asked_at: float, lane: SharedLane
) -> list[PermitAnswer]:
    return [*_permits(names, asked_at), *([lane] * (len(answers) - len(names)))]


def _answer(asked: list[OnPermit], answers: list[PermitAnswer]) -> None:
    """Give each its answer; None to those for which there is none."""
    for number, answer in enumerate(asked):
        answer(answers[number] if number < len(answers) else None)
