"""A rule: the moments of a schedule without bounds."""

from typing import Protocol, Self

from wangtimer.core.time.zones import DAY_S, Stretch


class Rule(Protocol):
    """What a rule of any kind answers; moments are ms since epoch, UTC. A rule is a value: a frozen dataclass."""

    @property
    def timezone(self) -> str:
        """The zone of its wall clock."""

    @property
    def only_moment(self) -> int | None:
        """The only moment of a rule that does not recur, and so takes no bounds; None if it recurs."""

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the first `limit` moments in (after_ms, until_ms], ascending."""

    def first_after(self, after_ms: int) -> int | None:
        """Return the first moment after `after_ms`, or None if there is none."""

    def matches(self, moment_ms: int) -> bool:
        """Tell whether `moment_ms` is one of the moments."""

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        """Return the first day from `day` on that may have a moment within the stretch; None if none is to come.

        Days are those of the wall clock, counted from 1970-01-01. A day without a moment may be returned: it only costs
        a look.
        """

    def anchored_at(self, moment_ms: int) -> Self:
        """Return the rule with its intervals counted from a moment; a rule of the wall clock stays as it is."""

    def __hash__(self) -> int:
        """Return the same for equal rules: results are cached by rule."""


def day_of_first(rule: Rule, day: int, stretch: Stretch) -> int | None:
    """Return `next_day` of a rule that finds its first moment without a search, by the stretch's offset."""
    first_ms = rule.first_after((day * DAY_S - stretch.offset_s) * 1_000 - 1)
    return None if first_ms is None else (first_ms // 1_000 + stretch.offset_s) // DAY_S
