"""Where firings wait that may not go now: in the lane of what holds them up, outside this process."""

from collections.abc import Callable

from wangtimer.callback import Delivery, Request
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.executor.claim import Held
from wangtimer.executor.mover import Move, Mover
from wangtimer.executor.puller import Puller, lanes_of
from wangtimer.executor.ready import Ready
from wangtimer.store.replica import Replica


class Waits:
    """Knows what is paused and which lanes are behind, and moves firings there. Any thread may use it."""

    def __init__(
        self,
        pauses_replica: Replica[Pauses],
        puller: Puller,
        mover: Mover,
        engine: Delivery,
        queue_of: Callable[[str], int],
    ) -> None:
        self._pauses = pauses_replica
        self._puller = puller
        self._mover = mover
        self._engine = engine
        # The number of an app's queue.
        self.queue_of = queue_of

    @property
    def are_any_paused(self) -> bool:
        """Whether something is paused."""
        return bool(self._pauses.known.names)

    @property
    def are_any(self) -> bool:
        """Whether some firing may have to wait: something is paused, or some lane has firings to go first."""
        return self.are_any_paused or bool(self._puller.known)

    def pause_of(self, held: Held, app: str, host: str) -> SharedLane | None:
        """Return the lane in which a member waits until what an operator paused goes on; None if it is not paused."""
        if not self._pauses.known.names:
            return None
        lane = self._pauses.known.lane_of(app, host, held.member.timer_id)
        return None if lane is None else lane.in_queue(self.queue_of(app))

    def behind(self, ready: Ready, known: dict[WayKey, SharedLane | None]) -> SharedLane | None:
        """Return the lane in which a member is to wait; None for one pulled from a lane.

        `known` remembers what was looked up: once for an app and a part of a host.
        """
        if isinstance(ready.held.claim.stands_in, SharedLane):
            return None
        way = ready.order.where.way
        if way not in known:
            known[way] = self._behind(ready)
        return known[way]

    def _behind(self, ready: Ready) -> SharedLane | None:
        """Return the lane that is behind, and has firings to go before this one; None: there is none."""
        where, app = ready.order.where, ready.order.app
        lanes = lanes_of(where.host, app, self.queue_of(app), where.part)
        behind = next(filter(self._puller.is_behind, lanes), None)
        others = SharedLane.of_way(app, where.host)
        # Beyond so many parts of a host the others share a lane.
        if behind is None and self._puller.is_behind(others) and self._engine.health_of(where.way) is None:
            return others
        return behind

    def note_ended(self, held: Held, queue: int, request: Request) -> None:
        """Learn that a call ended, so that there may be room; quick, from the engine's thread."""
        if self._puller.known:
            self._puller.note_ended(request.host, request.app, held.claim.stands_in, queue, request.part)

    def move(self, held: Held, lane: SharedLane, due_at: int) -> None:
        """Move a member without room to a lane, which is one of its queue, outside this process."""
        stood_in = held.claim.stands_in
        if isinstance(stood_in, SharedLane) and stood_in.is_of_limit and lane.is_of_limit:
            self._puller.note_unused(stood_in)
        self._mover.take(Move(held, lane, due_at))
        self._puller.expect()
        held.claim.hand_on([held.member])
