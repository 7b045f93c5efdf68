"""The kind of intervals: `everyMs`, counted from `anchorAt`."""

from typing import Any

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.kinds.kind import AskedRule, RuleKind, StoredRule
from wangtimer.core.schedules.every import LONGEST_MS, SHORTEST_MS, Every
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.words.words import WORDS, Language, moment_text

_ANCHOR = "a moment from which intervals are counted; startAt, or else now, by default"


class EveryKind(RuleKind[Every]):
    """Stored as its interval and anchor."""

    of = Every
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
        anchor_ms = was.anchor_ms if was is not None and "anchor_at" not in asked.given else _anchor(asked)
        interval_ms = asked.given.get("every_ms", 0 if was is None else was.interval_ms)
        return Every.parse(interval_ms, anchor_ms, asked.timezone)

    def read_anew(self, asked: AskedRule, was: Every | None) -> Every:
        """Return the interval; if it is the same as before, it keeps its anchor."""
        says_from_when = "anchor_at" in asked.given or "start_at" in asked.given
        is_same = was is not None and was.interval_ms == asked.given["every_ms"]
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


def _anchor(asked: AskedRule) -> int:
    for name, spelled in (("anchor_at", "anchorAt"), ("start_at", "startAt")):
        if name in asked.given:
            return asked.read_moment(asked.given[name], spelled)
    return asked.now
