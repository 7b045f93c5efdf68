"""The lane reader: takes firings out of several lanes in one trip, within the room for firings of this process."""

from collections.abc import Callable, Mapping, Sequence

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.claim import Claims
from wangtimer.store.redis.lanes import LaneStore, Pulled, PullOrder
from wangtimer.store.redis.slices import GRACE_S

log = structlog.get_logger()


class LaneReader:
    """For each order `take_room` comes first; `pull` gives back the room that is not needed.

    `is_mine` tells which lanes this process takes from.
    """

    def __init__(
        self,
        lanes: LaneStore,
        claims: Claims,
        seconds_since_reconnect: Callable[[], float],
        is_mine: Callable[[SharedLane], bool],
    ) -> None:
        self._lanes = lanes
        self._claims = claims
        self._seconds_since_reconnect = seconds_since_reconnect
        self._is_mine = is_mine

    def index(self) -> dict[SharedLane, str]:
        """Return the lanes that this process takes from, with their tokens in the index. Raises `StoreAway`."""
        return {lane: token for lane, token in self._lanes.index().items() if self._is_mine(lane)}

    def forget(self, empty: Mapping[SharedLane, str]) -> None:
        """Strike out lanes that were empty, unless their tokens are others by now. Raises `StoreAway`."""
        self._lanes.forget(empty)

    def take_room(self, most: int) -> int:
        """Hold room for so many firings and return that number; 0 where there is none."""
        return most if most > 0 and self._claims.take_room(most, lambda: True, 0.0) else 0

    def pull(self, orders: Sequence[PullOrder]) -> list[tuple[PullOrder, Pulled]]:
        """Carry out these orders in one trip; a lane that cannot be read is left out. Raises `StoreAway`.

        If no answer came, what was taken is told again.
        """
        pulled: list[tuple[PullOrder, Pulled]] = []
        if not orders:
            return pulled
        keep_leases = self._seconds_since_reconnect() < GRACE_S
        try:
            pulled = self._pulled(orders, keep_leases)
        finally:
            taken = sum(len(found.taken) for _, found in pulled)
            self._claims.give_room(sum(order.most for order in orders) - taken)
        return pulled

    def _pulled(self, orders: Sequence[PullOrder], keep_leases: bool) -> list[tuple[PullOrder, Pulled]]:
        try:
            return list(zip(orders, self._lanes.pull_all(orders, keep_leases), strict=True))
        except StoreAway as error:
            log.warning("pull_failed", lanes=[order.lane.key for order in orders], error=str(error))
        except Exception:
            if len(orders) == 1:
                raise
            log.exception("lanes_pulled_one_by_one", lanes=len(orders))
            return self._pulled_one_by_one(orders, keep_leases)
        return list(zip(orders, self._lanes.pull_all(orders, keep_leases, is_again=True), strict=True))

    def _pulled_one_by_one(
        self, orders: Sequence[PullOrder], keep_leases: bool
    ) -> list[tuple[PullOrder, Pulled]]:
        """Pull each lane by itself, so that a bad one holds up no other."""
        pulled = []
        for order in orders:
            try:
                pulled.append((order, self._lanes.pull_all([order], keep_leases, is_again=True)[0]))
            except Exception:
                log.exception("lane_not_pulled", lane=order.lane.key)
        return pulled
