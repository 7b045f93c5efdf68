"""Slices, agenda and the way into them as they would be with one rule left out; `rules` says which."""

from collections.abc import Callable, Sequence
from typing import Any

from wangtimer.core.flow.firing import DueMember, Firing, Member
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.store import hot
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.slices import BacklogRoom
from wangtimer.store.redis.window import Found
from wangtimer.testing.doubles import MemoryWindow, memory_slices
from wangtimer.testing.doubles.memory_slices import MemorySlices, Sets

# slices

# As the settings have it.
LEAD_MS = 1_000


def add_without(rule: str) -> Callable[..., None]:
    """Add a member as `add.lua` does, without one of its rules."""

    def add(self: Any, sets: Sets, due: DueMember, is_repair: bool) -> None:
        if _is_held(sets, due.member, rule):
            return
        now = self._latest() if rule != "server time" else self._now()
        is_near = due.due_at <= now + self._leases.lead_ms
        if is_near and rule != "suspect":
            sets.suspect.add(due.member)
        wait_ms = self._leases.running_ms if is_near and is_repair and rule != "delay" else 0
        sets.due[due.member] = due.due_at + wait_ms

    return add


def _is_held(sets: Sets, member: Member, rule: str) -> bool:
    if rule == "look":
        return member in sets.due
    if rule == "look in due":
        return member in sets.armed or member in sets.running
    if rule == "attempt":
        return any(member._replace(attempt=number) in sets.running for number in range(1, member.attempt + 1))
    return sets.holds(member)


def arm_now_unsuspected(self: Any, slice_: Any, members: Sequence[DueMember]) -> Any:
    def work() -> Any:
        sets, now = self._written(slice_), self._now()
        new = [due for due in members if not sets.holds(due.member)]
        sets.armed |= {due.member: now + self._leases.armed_ms for due in new}
        return new

    return self._server.call(work)


def arm_by_all_in_hand(self: Any, slice_: Any, credit: int, backlog: BacklogRoom) -> Any:
    sets = self._read(slice_)
    return _arm(self, slice_, max(0, credit - len(sets.running)), backlog)


def lock_anyhow(self: Any, tokens: Any) -> Any:
    return self._server.call(lambda: dict(tokens))


_arm = MemorySlices._arm


def take_back_unsuspected(self: Any, slice_: Any, held: dict[Member, int]) -> None:
    sets, now = self._written(slice_), self._now()
    for member in memory_slices._first_until(held, now, memory_slices.TAKEN_BACK_A_TURN):
        del held[member]
        sets.owner.pop(member, None)
        sets.due[member] = member.fire_at if member.attempt == 1 else now


def anybodys(claim_id: str, sets: Sets, members: Sequence[Member]) -> list[Member]:
    for member in members:
        if member in sets.running:
            sets.owner.setdefault(member, claim_id)
    return [member for member in members if member in sets.running]


def renew_to_any_end(self: Any, held: Any) -> Any:
    def work() -> Any:
        mine = {}
        for (slice_, claim_id), members in held.items():
            sets = self._read(slice_)
            mine[slice_, claim_id] = set(memory_slices._of(claim_id, sets, members))
            for member in mine[slice_, claim_id] & sets.running.keys():
                sets.running[member] = self._now() + self._leases.running_ms
        return mine

    return self._server.call(work)


def claim_once(self: Any, slice_: Any, claim_id: str, members: Any) -> Any:
    def work() -> Any:
        sets = self._written(slice_)
        taken = []
        for member in members:
            if sets.armed.pop(member, None) is not None:
                sets.running[member] = self._now() + self._leases.running_ms
                sets.owner[member] = claim_id
                taken.append(memory_slices.Taken(member, member in sets.suspect, sets.deaths.get(member, 0)))
        return taken

    return self._server.call(work)


def claim_anything(self: Any, slice_: Any, claim_id: str, members: Any) -> Any:
    def work() -> Any:
        sets = self._written(slice_)
        for member in members:
            sets.armed.pop(member, None)
            sets.running[member] = self._now() + self._leases.running_ms
            sets.owner[member] = claim_id
        return [memory_slices.Taken(member, member in sets.suspect) for member in members]

    return self._server.call(work)


# agenda


def agenda_add_keeping_marks(self: Any, needs: Any) -> None:
    def work() -> None:
        for slice_, moment in needs:
            self._bring_forward(slice_, moment)

    self._server.call(work)


def set_moment(self: Any, slice_: Any, moment: int) -> None:
    self._entries[slice_] = moment


def close_at_once(self: Any, watch: Any) -> None:
    """Look first, then strike the entry out: without the mark."""

    def close() -> None:
        need = self.slices.next_need(watch.slice)
        self.agenda.begin_closing(watch.slice, watch.token, int(self.clock.now_ms()))
        self.agenda.finish_closing(watch.slice, watch.token, need)
        self.slices.unlock(watch.slice, watch.token)

    self._quietly(close)


def agenda_first(self: Any, firings: Any, is_repair: bool = False) -> None:
    by_slice = hot._by_slice(firings)
    if by_slice:
        needs = [
            (slice_, min(due.due_at for due in members) - LEAD_MS) for slice_, members in by_slice.items()
        ]
        self._retry(lambda: self._agenda.add(needs))
        self._retry(lambda: self._slices.add(by_slice, is_repair))


def add_once(self: Any, step: Callable[[], Any]) -> Any:
    return step()


def put_out_of_sight(self: Any, slice_: Any, token: str, put_off_until: int) -> None:
    def work() -> None:
        if slice_ in self._entries:
            del self._entries[slice_]
            self._closing[slice_] = token

    self._server.call(work)


def done_though_lost(self: Any, minute: int, firings: int, until_ms: int, look: int) -> bool:
    def work() -> bool:
        marks = self._marks
        marks["fed"] = max(marks.get("fed", -1), minute)
        return True

    return self._server.call(work)


def add_only_what_is_missing(self: Any, firings: Sequence[Firing], is_repair: bool = False) -> None:
    """Ask first whether a slice has it, and do nothing where it has."""
    if is_repair:
        slices = self._slices._store
        firings = [
            one
            for one in firings
            if not slices._server.call(lambda one=one: slices._read(one.slice).holds(one.member))
        ]
    _add_all(self, firings, is_repair)


_add_all = HotStore.add_all


def fed_first(self: Any, now: int, from_present: bool, look: int) -> Any:
    """Call a minute fed before it is."""
    coming = _next_minute(self, now, from_present, look)
    if coming.found is Found.FEED:
        self._marks["fed"] = coming.minute
    return coming


_next_minute = MemoryWindow.next


def next_though_another_feeds(self: Any, now: int, from_present: bool, look: int) -> Any:
    self._marks.pop("feeder", None)
    return _next_minute(self, now, from_present, look)


def next_as_the_marks_say(self: Any, now: int, from_present: bool, look: int) -> Any:
    return _next_minute(self, now, False, look)


def in_window_by_an_earlier_mark(self: Any, firings: Sequence[Firing]) -> Sequence[Firing]:
    """Go by the mark as it was when something was last added: from before the commit."""
    mark, self._seen = getattr(self, "_seen", self._window.announced()), self._window.announced()
    until = max(self._clock.now_ms() + self._always_held_ms, ((mark or 0) + 1) * MINUTE_MS - 1)
    return [one for one in firings if one.due_at <= until]
