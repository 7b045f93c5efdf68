"""The kinds of intervals, counted from `anchorAt`: `every`, and `everyDays` by the wall clock."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.kinds.clock_changes import drift_at, transitions_between, warnings_of_clock_changes
from wangtimer.core.kinds.kind import AskedRule, RuleKind, StoredRule
from wangtimer.core.schedules.every import LONGEST_MS, MOST_DAYS, SHORTEST_MS, Every, EveryDays
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.time.zones import DAY_MS, offset_at, read_zone, second_of_wall
from wangtimer.core.words.warning import Warning
from wangtimer.core.words.words import WORDS, Language, moment_text

_ANCHOR = "a moment from which intervals are counted; startAt, or else now, by default"


class EveryKind(RuleKind[Every]):
    """Stored as its interval and anchor."""

    of: ClassVar[type[Every]] = Every
    asked_by = (
        ApiField(
            "every_ms",
            ValueType.SPAN,
            f"an interval: {SHORTEST_MS} to {LONGEST_MS} ms, counted from anchorAt",
            90_000,
            v1="every",
            v1_description="an interval of a second or more, counted from anchorAt",
            v1_example="5m",
        ),
    )
    details = (
        ApiField(
            "anchor_at",
            ValueType.MOMENT,
            f"of everyMs: {_ANCHOR}",
            v1_description=f"of every: {_ANCHOR}",
        ),
    )
    shown_by = (ApiField("every_ms", ValueType.SPAN, v1="every"), ApiField("anchor_at", ValueType.MOMENT))

    def read(self, asked: AskedRule, was: Every | None) -> Every:
        """Return the interval, counted from the given anchor, else the former one, else the start, else now."""
        anchor_ms = (
            _anchor(asked) if was is None or "anchor_at" in asked.given else self._kept_anchor(was, asked)
        )
        interval_ms = self._asked_ms(asked)
        if interval_ms is None:
            interval_ms = 0 if was is None else was.interval_ms
        return self.of.parse(interval_ms, anchor_ms, asked.timezone)

    def read_anew(self, asked: AskedRule, was: Every | None) -> Every:
        """Return the interval; if it is the same as before, it keeps its anchor."""
        says_from_when = "anchor_at" in asked.given or "start_at" in asked.given
        is_same = was is not None and was.interval_ms == self._asked_ms(asked)
        return self.read(asked, was if is_same and not says_from_when else None)

    def stored(self, rule: Every) -> StoredRule:
        """Return the interval and its anchor."""
        return StoredRule(rule.timezone, every_ms=rule.interval_ms, anchor_ms=rule.anchor_ms)

    def firings_a_day(self, rule: Every) -> int:
        """Return how many intervals begin in a day."""
        return -(-DAY_MS // rule.interval_ms)

    def shown(self, rule: Every) -> dict[str, Any]:
        """Return the interval and its anchor."""
        return {"every_ms": rule.interval_ms, "anchor_at": show_moment(rule.anchor_ms)}

    def words(self, rule: Every, language: Language) -> str:
        """Return the words of the interval and the moment it is counted from."""
        return WORDS[language].every(rule.interval_ms, moment_text(rule.anchor_ms, rule.timezone))

    def warnings_between(
        self, schedule: Schedule, rule: Every, after_ms: int, until_ms: int
    ) -> Iterable[Warning]:
        """Yield a warning of the first change of clocks that moves whole days to another time of day."""
        plain = replace(as_bounded(schedule), spread=None)
        first = None if rule.interval_ms % DAY_MS else plain.first_after(after_ms)
        if first is not None:
            for change in transitions_between(rule.timezone, first, until_ms)[:1]:
                at = plain.first_after(change.at_s * 1_000 - 1)
                if at is not None:
                    yield drift_at(change, at)

    def _asked_ms(self, asked: AskedRule) -> int | None:
        return asked.given.get("every_ms")

    def _kept_anchor(self, was: Every, asked: AskedRule) -> int:  # noqa: ARG002 - of days it matters
        return was.anchor_ms


class EveryDaysKind(EveryKind):
    """Stored as a text: its days, and its anchor in ms."""

    of = EveryDays
    asked_by = (
        ApiField(
            "every_days",
            ValueType.NUMBER,
            "an interval of whole days, at the time of day that anchorAt has in timezone, also when clocks change",
            14,
            least=1,
            most=MOST_DAYS,
        ),
    )
    shown_by = (ApiField("every_days", ValueType.NUMBER), EveryKind.shown_by[1])
    stored_words = ("days",)

    def stored(self, rule: Every) -> StoredRule:
        """Return the days and the anchor."""
        return StoredRule(rule.timezone, f"days {rule.interval_ms // DAY_MS} {rule.anchor_ms}")

    def from_text(self, text: str, timezone: str) -> Every:
        """Return the rule of a stored text."""
        _, days, anchor_ms = text.split()
        return EveryDays(int(days) * DAY_MS, int(anchor_ms), timezone)

    def shown(self, rule: Every) -> dict[str, Any]:
        """Return the days and the anchor."""
        return {"every_days": rule.interval_ms // DAY_MS, "anchor_at": show_moment(rule.anchor_ms)}

    def words(self, rule: Every, language: Language) -> str:
        """Return the words of the days and the moment they are counted from."""
        anchor = moment_text(rule.anchor_ms, rule.timezone)
        return WORDS[language].every_days(rule.interval_ms // DAY_MS, anchor)

    def warnings_between(
        self, schedule: Schedule, rule: Every, after_ms: int, until_ms: int
    ) -> Iterable[Warning]:
        """Return warnings about the moments when clocks change."""
        shift_ms = offset_at(rule.timezone, rule.anchor_ms // 1_000) * 1_000
        walls = replace(rule, anchor_ms=rule.anchor_ms + shift_ms, timezone="UTC")
        return warnings_of_clock_changes(schedule, walls, None, after_ms, until_ms)

    def _asked_ms(self, asked: AskedRule) -> int | None:
        days = asked.given.get("every_days")
        return None if days is None else days * DAY_MS

    def _kept_anchor(self, was: Every, asked: AskedRule) -> int:
        """Return the anchor in the zone that is asked for, at the same day and time of day, as a cron keeps its own."""
        if asked.timezone == was.timezone:
            return was.anchor_ms
        second, ms = divmod(was.anchor_ms, 1_000)
        wall = datetime.fromtimestamp(second, read_zone(was.timezone)).replace(tzinfo=None)
        return max(0, second_of_wall(asked.timezone, wall) * 1_000 + ms)


def _anchor(asked: AskedRule) -> int:
    for name, spelled in (("anchor_at", "schedule.anchorAt"), ("start_at", "schedule.startAt")):
        if name in asked.given:
            return asked.read_moment(asked.given[name], spelled)
    return asked.now
