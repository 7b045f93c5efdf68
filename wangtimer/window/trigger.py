"""The trigger: owns a slice for as long as it has work, arms firings ahead of their moment, sends them on."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.backlog import is_backlog
from wangtimer.core.flow.credit import Credits, Share
from wangtimer.core.flow.firing import Chunk, DueMember
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.time.clock import Clock
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.slices import GRACE_S, BacklogRoom, SliceStore, Turn
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# A slice with nothing due within this is closed, so that an idle minute holds no thread.
IDLE_AHEAD_MS = 3_000
# Running members hold a slice open this long after the last arming, then only the agenda watches their leases.
RUNNING_PATIENCE_S = 2.0
# A minute that ended this long ago is past: its members are the backlog of an outage.
LONG_OVER_MS = 30_000
REDIS_TRIES = 30
REDIS_PAUSE_S = 0.2
SHORTEST_PAUSE_S = 0.02
# Slices that one tick began would turn together. Executors would then prepare all their chunks at once, beside the
# calls. So each slice turns at its own place within `turn_ms` of the clock. The first share has no places: most calls
# come due at a full second. The golden ratio keeps the places of any number of buckets well apart.
SHARE_WITHOUT_PLACES = 0.4
GOLDEN_RATIO = 0.618034
# The pause between turns while a backlog drains.
BACKLOG_PAUSE_S = 0.1
# Calls to slow targets run long, and use up the credit of their slice's backlog. After so long without a backlog member
# armed, the backlog no longer waits for a full chunk, and 1 in so many of the credit is its own whatever runs.
BACKLOG_PATIENCE_S = 1.0
BACKLOG_ANYWAY_SHARE = 10
# A slice whose queue no callback process takes is left, so that it holds no thread. A trigger looks at it again after
# this, or after a twentieth of its age: a queue may be left for days.
LEFT_FOR_MS, LEFT_FOR_MOST_MS, LEFT_SHARE = 5_000, 60_000, 20


@dataclass(frozen=True, slots=True)
class ArmRule:
    """How firings are armed: `lead_ms` ahead, at least every `turn_ms`, at most `chunk_size` a message.

    None is armed while more than `queue_most` chunks wait for executors. A past minute arms at most `catch_up_a_turn`
    a turn.
    """

    lead_ms: int
    turn_ms: int
    lock_ms: int
    chunk_size: int
    queue_most: int
    catch_up_a_turn: int


@dataclass(slots=True)
class Watch:
    """One trigger's time with one slice; times in seconds of the stop-watch."""

    slice: Slice
    token: str
    share: Share
    backlog_armed_at: float
    turns: int = 0
    turned_at: float = 0.0
    is_answer_lost: bool = False
    armed_at: float = float("-inf")


@dataclass(frozen=True, slots=True)
class CallbackProcesses:
    """Those who take chunks, as the trigger sees them.

    `send_chunk` puts a chunk into their queue, `waiting_chunks` counts those in a queue, and `is_served` tells whether
    anybody takes its messages. `outbox_share` is how much of what they could take may be armed while outcomes wait.
    """

    send_chunk: Callable[[Chunk], None]
    waiting_chunks: Callable[[int], int]
    is_served: Callable[[int], bool]
    outbox_share: Callable[[], float]


@dataclass(frozen=True, slots=True)
class SliceReload:
    """Adds what SQL has of a slice that Redis has lost."""

    firings: FiringStore
    hot: HotStore

    def reload(self, slice_: Slice) -> bool:
        """Add the slice's pending firings; True if there were any."""
        try:
            pending = self.firings.pending_of(slice_)
            self.hot.add_all(pending, is_repair=True)
        except StoreAway:
            return False
        if pending:
            log.warning("slice_reloaded", slice=slice_.tag, firings=len(pending))
        return bool(pending)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A slice's lock decides who arms it; a second trigger on it ends at its first turn."""

    slices: SliceStore
    agenda: Agenda
    lost: SliceReload
    clock: Clock
    arm_rule: ArmRule
    credits: Credits
    takers: CallbackProcesses
    is_stopping: Callable[[], bool]

    def watch(self, slice_: Slice, token: str, credit: int) -> None:
        """Turn until the slice needs no trigger for a while, another trigger owns it, or the process stops."""
        for pause_s in self.turns(slice_, token, credit):
            self.clock.sleep(pause_s)

    def turns(self, slice_: Slice, token: str, credit: int) -> Iterator[float]:
        """Make the turns of `watch` one by one; after each but the last, yield how long to pause, in seconds."""
        with self.credits.share(slice_, credit) as share:
            yield from self._watch(Watch(slice_, token, share, self.clock.monotonic()))

    def _watch(self, watch: Watch) -> Iterator[float]:
        while not self.is_stopping():
            turn = self._turn(watch)
            if turn is None:
                return
            has_lost_data = self._has_lost_data(watch, turn)
            self._send(watch, turn.now_armed)
            if has_lost_data and self.lost.reload(watch.slice):
                continue
            if self._may_close(watch, turn):
                self._close(watch)
                return
            if not self.takers.is_served(watch.slice.queue):
                self._leave(watch)
                return
            yield self._pause_s(watch.slice, turn)
        self._quietly(lambda: self.slices.unlock(watch.slice, watch.token))

    def _turn(self, watch: Watch) -> Turn | None:
        """Make one turn, and retry while Redis is away; None when another owns the slice, or Redis stays away."""
        for _ in range(REDIS_TRIES):
            try:
                credit = self._credit(watch) if self._may_arm(watch) else 0
                credit = int(credit * self.takers.outbox_share())
                keep_leases = self.slices.seconds_since_reconnect < GRACE_S
                turn = self.slices.turn(
                    watch.slice,
                    watch.token,
                    credit,
                    keep_leases,
                    self._backlog_room(watch, credit),
                    tell_all_armed=watch.is_answer_lost,
                )
            except StoreAway:
                # The turn may have armed members all the same. Nobody else sends them before their leases run out.
                watch.is_answer_lost = True
                self.clock.sleep(REDIS_PAUSE_S)
                continue
            watch.turns += 1
            watch.is_answer_lost = False
            if turn is not None:
                watch.share.note(turn.armed + turn.running, turn.due if self._has_more_to_arm(turn) else 0)
            return turn
        return None

    def _may_arm(self, watch: Watch) -> bool:
        """Tell whether callback processes take what is armed, and few messages wait for them."""
        queue = watch.slice.queue
        return self.takers.is_served(queue) and self.takers.waiting_chunks(queue) <= self.arm_rule.queue_most

    def _credit(self, watch: Watch) -> int:
        """Return how many may stand armed. A past minute is worked off slowly, so that the present stays on time."""
        if self._is_past(watch.slice):
            return min(watch.share.own, self.arm_rule.catch_up_a_turn)
        return self.credits.of(watch.share)

    def _backlog_room(self, watch: Watch, credit: int) -> BacklogRoom:
        """Return how a backlog is armed: in full chunks; after a long wait for one, as many as there is room for."""
        if self.clock.monotonic() - watch.backlog_armed_at >= BACKLOG_PATIENCE_S:
            return BacklogRoom(anyway=ceil(credit / BACKLOG_ANYWAY_SHARE))
        return BacklogRoom(full=max(1, min(self.arm_rule.chunk_size, credit // 2)))

    def _has_more_to_arm(self, turn: Turn) -> bool:
        return (
            turn.next_due_at is not None and turn.next_due_at <= self.clock.now_ms() + self.arm_rule.lead_ms
        )

    def _is_past(self, slice_: Slice) -> bool:
        return self.clock.now_ms() > slice_.ends_at + LONG_OVER_MS

    def _has_lost_data(self, watch: Watch, turn: Turn) -> bool:
        """Tell whether Redis seems to have lost the slice: its lock is gone early, or it is empty at the first turn."""
        now = self.clock.monotonic()
        since_last = now - watch.turned_at
        watch.turned_at = now
        if watch.turns == 1:
            return turn.is_empty
        return turn.took_lock and since_last < self.arm_rule.lock_ms / 1_000 - 0.5

    def _send(self, watch: Watch, members: tuple[DueMember, ...]) -> None:
        if members:
            watch.armed_at = self.clock.monotonic()
        now = self.clock.now_ms()
        for is_late in (False, True):
            alike = tuple(due for due in members if is_backlog(due.due_at, now) is is_late)
            if alike and is_late:
                watch.backlog_armed_at = watch.armed_at
            for chunk in chunks_of(watch.slice, alike, self.arm_rule.chunk_size):
                self.takers.send_chunk(chunk)

    def _may_close(self, watch: Watch, turn: Turn) -> bool:
        if turn.armed or turn.now_armed:
            return False
        patient = self.clock.monotonic() - watch.armed_at < RUNNING_PATIENCE_S
        if turn.running and patient:
            return False
        if turn.next_due_at is None:
            return True
        return turn.next_due_at - self.arm_rule.lead_ms - self.clock.now_ms() > IDLE_AHEAD_MS

    def _close(self, watch: Watch) -> None:
        """Put the slice off, look, note its next need; a crash or an add at any step leaves an agenda entry.

        The slice is put off for as long as the lock of a dead trigger would last.
        """
        put_off = int(self.clock.now_ms()) + self.arm_rule.lock_ms

        def close() -> None:
            self.agenda.begin_closing(watch.slice, watch.token, put_off)
            self.agenda.finish_closing(watch.slice, watch.token, self.slices.next_need(watch.slice))
            self.slices.unlock(watch.slice, watch.token)

        self._quietly(close)

    def _leave(self, watch: Watch) -> None:
        """Put the slice off for a while: nobody takes its firings now. What is added to it brings it forward."""
        now = self.clock.now_ms()
        age_ms = (now - watch.slice.ends_at) / LEFT_SHARE
        again_at = int(now + min(max(age_ms, LEFT_FOR_MS), LEFT_FOR_MOST_MS))
        log.info("queue_not_served", slice=watch.slice.tag)

        def leave() -> None:
            self.agenda.begin_closing(watch.slice, watch.token, again_at)
            self.agenda.finish_closing(watch.slice, watch.token, again_at)
            self.slices.unlock(watch.slice, watch.token)

        self._quietly(leave)

    def _pause_s(self, slice_: Slice, turn: Turn) -> float:
        """Return the longest pause, which fills chunks, after which the next member is armed in time."""
        if self._is_past(slice_):
            return self.arm_rule.turn_ms / 1_000
        now = self.clock.now_ms()
        pause_ms = self._until_place_ms(slice_, now)
        if turn.next_due_at is not None:
            if is_backlog(turn.next_due_at, now):
                return BACKLOG_PAUSE_S
            latest = turn.next_due_at - (self.arm_rule.lead_ms - self.arm_rule.turn_ms)
            pause_ms = min(pause_ms, latest - now)
        return max(pause_ms / 1_000, SHORTEST_PAUSE_S)

    def _until_place_ms(self, slice_: Slice, now: float) -> float:
        """Return the time until the slice's next place: at most `turn_ms`, so that no pause gets longer."""
        turn_ms = self.arm_rule.turn_ms
        place = SHARE_WITHOUT_PLACES + (1 - SHARE_WITHOUT_PLACES) * (slice_.bucket * GOLDEN_RATIO % 1)
        until_ms = (place * turn_ms - now) % turn_ms
        return until_ms if until_ms > SHORTEST_PAUSE_S * 1_000 else turn_ms

    def _quietly(self, step: Callable[[], None]) -> None:
        """Run a step that may fail: the agenda entry and the lock's expiry make up for it."""
        try:
            step()
        except StoreAway as error:
            log.info("slice_left_open", error=str(error))


def chunks_of(slice_: Slice, members: Sequence[DueMember], size: int) -> list[Chunk]:
    """Cut armed members into chunks of at most `size`, each in due order.

    A moment that fills a chunk by itself is a crowd. It gets chunks of its own, sent last: executors may have room for
    few members when they have none for many.
    """
    numbers = Counter(due.due_at for due in members)
    crowds = {moment for moment, number in numbers.items() if number >= size}
    chunks = _cut(slice_, [due for due in members if due.due_at not in crowds], size)
    for moment in crowds:
        chunks += _cut(slice_, [due for due in members if due.due_at == moment], size)
    return chunks


def _cut(slice_: Slice, members: Sequence[DueMember], size: int) -> list[Chunk]:
    return [Chunk(slice_, tuple(members[first : first + size])) for first in range(0, len(members), size)]
