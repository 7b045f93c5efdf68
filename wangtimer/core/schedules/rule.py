"""A rule: the moments of a schedule before anything bounds them."""

from typing import Protocol

from wangtimer.core.time.zones import DAY_S, Stretch


class Rule(Protocol):
    """What a rule of any kind answers of its moments, all ms since epoch, UTC. It is a value: a frozen dataclass."""

    @property
    def timezone(self) -> str:
        """The zone of its wall clock."""

    @property
    def only_moment(self) -> int | None:
        """The one moment of a rule that has no other, and so takes no bounds; None where it recurs."""

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the moments in (after_ms, until_ms], ascending, the first `limit` of them at most."""

    def first_after(self, after_ms: int) -> int | None:
        """Return the first moment after `after_ms`, or None if there is none."""

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        """Return the first day from `day` on that may have a moment within the stretch; None if none is to come.

        Days are those of the wall clock, counted from 1970-01-01. A day too many costs a look at it, no more.
        """

    def __hash__(self) -> int:
        """Return the same for equal rules: what is worked out of them is remembered."""


def day_of_first(rule: Rule, day: int, stretch: Stretch) -> int | None:
    """Return the day of the first moment from `day` on, by the offset of the stretch; None if none is to come.

    The `next_day` of a rule that tells its first moment without a search.
    """
    first_ms = rule.first_after((day * DAY_S - stretch.offset_s) * 1_000 - 1)
    return None if first_ms is None else (first_ms // 1_000 + stretch.offset_s) // DAY_S
