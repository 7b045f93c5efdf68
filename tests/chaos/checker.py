"""The checker, in the manner of Jepsen's Chronos: every promised firing is matched with a received call."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tests.chaos.load import Key, Window
from tests.servers.nginx import ArrivedCall
from wangtimer.core.flow.firing import Member


@dataclass(frozen=True, slots=True)
class Lateness:
    """Of first calls, ms by the target's clock."""

    count: int
    p99_ms: float
    max_ms: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Lateness":
        ordered = sorted(values)
        if not ordered:
            return cls(0, 0.0, 0.0)
        return cls(len(ordered), ordered[int((len(ordered) - 1) * 0.99)], ordered[-1])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came, held against what was promised.

    `extra` are calls nobody promised, and second calls of one attempt beyond the `repeated` ones that the fault
    allows. `retried` are calls of later attempts: the retry policy made them.
    """

    promised: int
    received: int
    lost: tuple[Key, ...]
    extra: tuple[Member, ...]
    repeated: int
    early: tuple[ArrivedCall, ...]
    retried: int
    touched: Lateness
    others: Lateness
    latest: tuple[ArrivedCall, ...]

    @property
    def max_ms(self) -> float:
        return max(self.touched.max_ms, self.others.max_ms)


def judge(
    promised: Collection[Key],
    calls: Iterable[ArrivedCall],
    window: Window,
    may_repeat: Collection[Member] = (),
    touched: Collection[Member] = (),
    maybe: Collection[Key] = (),
) -> Verdict:
    """Match calls with promises.

    `may_repeat` names each member once for every fault that met it while it ran: so often it may be called again in
    the same attempt. `touched` is what the fault met, `maybe` may be called or not.
    """
    mine = [call for call in calls if window.start <= call.fire_at < window.end]
    times = Counter(Member(call.timer_id, call.fire_at, call.attempt) for call in mine)
    wanted = set(promised)
    known = wanted | set(maybe)
    unasked = [member for member in times if (member.timer_id, member.fire_at) not in known]
    second = Counter({member: count - 1 for member, count in times.items() if count > 1})
    pardoned = second & Counter(may_repeat)
    first = _first_calls(mine)
    hit = {(member.timer_id, member.fire_at) for member in touched}
    return Verdict(
        promised=len(wanted),
        received=len(mine),
        lost=tuple(sorted(wanted - first.keys())),
        extra=(*unasked, *(second - pardoned).elements()),
        repeated=pardoned.total(),
        early=tuple(call for call in mine if call.lateness_ms < 0),
        retried=sum(call.attempt > 1 for call in mine),
        touched=Lateness.of(call.lateness_ms for key, call in first.items() if key in hit),
        others=Lateness.of(call.lateness_ms for key, call in first.items() if key not in hit),
        latest=tuple(sorted(first.values(), key=lambda call: -call.lateness_ms)[:5]),
    )


def _first_calls(calls: Iterable[ArrivedCall]) -> dict[Key, ArrivedCall]:
    first: dict[Key, ArrivedCall] = {}
    for call in calls:
        key = (call.timer_id, call.fire_at)
        if key not in first or call.arrived_at < first[key].arrived_at:
            first[key] = call
    return first
