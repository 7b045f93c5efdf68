"""Of each queue few slices that are past get a trigger; those of the present all do."""

from wangtimer.core.flow.past_quota import within_quota
from wangtimer.core.flow.slicing import BUCKETS_A_QUEUE, MINUTE_MS, Slice

PAST = 10 * MINUTE_MS


def slices(queue: int, *minutes: int) -> list[Slice]:
    return [Slice(minute, queue * BUCKETS_A_QUEUE) for minute in minutes]


def test_a_backlog_of_one_queue_leaves_the_pasts_of_others_their_triggers() -> None:
    earlier = slices(1, 1, 2, 3) + slices(0, 4, 5, 6)
    assert within_quota(earlier, [], PAST, 2) == tuple(slices(1, 1, 2) + slices(0, 4, 5))


def test_of_an_own_queue_what_was_put_off_is_past_by_its_minute() -> None:
    current = slices(1, 1, 2, 3, 10) + slices(0, 4, 5, 6)
    assert within_quota([], current, PAST, 2) == tuple(slices(1, 1, 2, 10) + slices(0, 4, 5, 6))
