"""How many slices that are past get a trigger: few of each queue, so that no backlog takes the triggers of others."""

from collections import Counter
from collections.abc import Sequence

from wangtimer.core.flow.slicing import Slice


def within_quota(
    earlier: Sequence[Slice], current: Sequence[Slice], past: int, most: int
) -> tuple[Slice, ...]:
    """Return the slices that get a trigger now, in the order given; at most `most` of a queue that are past.

    `earlier` have waited for one since before `past` (ms UTC), `current` have not. Of an own queue those are past too
    whose minute ended before that: they were put off while no callback process took them.
    """
    taken: Counter[int] = Counter()
    chosen = []
    for number, slice_ in enumerate([*earlier, *current]):
        is_past = number < len(earlier) or bool(slice_.queue and slice_.ends_at < past)
        if is_past:
            taken[slice_.queue] += 1
        if not is_past or taken[slice_.queue] <= most:
            chosen.append(slice_)
    return tuple(chosen)
