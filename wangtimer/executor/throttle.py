"""The throttle: gets permits for the calls of apps with a limit, a few milliseconds' calls of an app in one script."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from uuid import uuid4

import structlog

from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.permits import PermitOrder, PermitStore
from wangtimer.store.redis.told_by_app import CallLimitStore

log = structlog.get_logger()

# Calls that ask within this share one script an app.
GATHER_S = 0.003
# How often the limits of all apps are read, never for a firing; and the same while no app has one.
READ_EVERY_S, READ_NONE_EVERY_S = 2.0, 4.0
# The same while this process knows no limits yet: no call is made until then.
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
    """One thread a process; any thread may use it. It does nothing for apps without a limit.

    * Until this process has read the limits of all apps once, every app counts as limited and gets no permit.
    * Permits that could not be given back, since Redis is away, end by themselves.
    """

    def __init__(
        self,
        permits: PermitStore,
        call_limits: CallLimitStore,
        limits_in_sql: Callable[[], Mapping[str, CallLimit]],
        clock: Clock,
    ) -> None:
        self._permits = permits
        self._call_limits = call_limits
        self._limits_in_sql = limits_in_sql
        self._clock = clock
        self._known: Mapping[str, CallLimit] | None = None
        self._read_at = float("-inf")
        self._wants: dict[str, Wants] = {}
        self._lock = Lock()
        self._wake = Event()

    def start(self) -> None:
        """Begin to read limits and to ask, until the process ends."""
        Thread(target=self._run, name="throttle", daemon=True).start()

    def is_limited(self, app: str) -> bool:
        """Tell whether calls of this app need a permit; they do while this process knows no limits yet."""
        known = self._known
        return known is None or app in known

    @property
    def limits(self) -> Mapping[str, CallLimit]:
        """The limit of each app that has one, as this process last read them; none if it never did."""
        return self._known or {}

    def ask(self, app: str, has_waited: bool, answer: OnPermit) -> None:
        """Ask for a permit soon; while others wait for the limit, only who has waited in a lane gets one."""
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

    def read_limits(self) -> None:
        """Read the limits of all apps; keep the former ones while Redis has lost them. Raises `StoreAway`.

        A process without former ones asks SQL: sweeps tell Redis later than calls come due.
        """
        limits = self._call_limits.read()
        if limits is None and self._known is None:
            limits = self._limits_in_sql()
        if limits is not None:
            self._known = limits

    def warm_up(self) -> None:
        """Read the limits before the first call; what cannot be read stops no start, and is read later."""
        try:
            self.read_limits()
        except StoreAway as error:
            log.info("limits_not_read", error=str(error))
        except Exception:
            log.exception("limits_not_read")

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
        for theirs, given in zip(wanted, permitted, strict=True):
            _answer(theirs.waited, _with_refusals(theirs.waited, given.to_waited, asked_at))
            _answer(theirs.fresh, _with_refusals(theirs.fresh, given.to_fresh, asked_at))

    def run_once(self) -> None:
        """Ask and give back what has gathered; read the limits when it is time. Raises `StoreAway`.

        Until the limits are known, who asks waits for the next reading of them.
        """
        if self.has_wants and self._known is not None:
            self._clock.sleep(GATHER_S)
            self.carry_out()
        if self._clock.monotonic() >= self._next_read_at:
            self._read_at = self._clock.monotonic()
            try:
                self.read_limits()
            finally:
                self.carry_out()

    @property
    def _next_read_at(self) -> float:
        if self._known is None:
            return self._read_at + READ_FIRST_EVERY_S
        return self._read_at + (READ_EVERY_S if self._known else READ_NONE_EVERY_S)

    def _run(self) -> None:
        while True:
            self._wake.wait(max(0.0, self._next_read_at - self._clock.monotonic()))
            self._wake.clear()
            try:
                self.run_once()
            except StoreAway as error:
                log.info("limits_not_read", error=str(error))
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


def _with_refusals(answers: list[OnPermit], names: tuple[str, ...], asked_at: float) -> list[PermitAnswer]:
    return [*_permits(names, asked_at), *([False] * (len(answers) - len(names)))]


def _answer(asked: list[OnPermit], answers: list[PermitAnswer]) -> None:
    """Give each its answer; None to those for which there is none."""
    for number, answer in enumerate(asked):
        answer(answers[number] if number < len(answers) else None)
