"""The kind of single moments: `at`, or `delay` from now."""

from typing import Any

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.cron.cron import END_MS
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.kinds.kind import AskedRule, RuleKind, StoredRule
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.words import WORDS, Language, moment_text


class OnceKind(RuleKind[Once]):
    """Stored as its moment."""

    of = Once
    asked_by = (
        ApiField("at", ValueType.MOMENT, "one moment; without an offset it is by the clocks of timezone"),
        ApiField(
            "delay_ms",
            ValueType.SPAN,
            "one moment: ms from this request",
            30000,
            v1="delay",
            v1_description="one moment: so long after this request",
            v1_example="90s",
        ),
    )
    shown_by = (ApiField("at", ValueType.MOMENT), ApiField("at_ms", ValueType.NUMBER, is_in_v1=False))

    def read(self, asked: AskedRule, was: Once | None) -> Once:
        """Return the moment; InvalidSchedule for a delay beyond the years that are known, and for a zone alone."""
        if "delay_ms" in asked.given:
            return Once(_delayed(asked.given["delay_ms"], asked.now))
        if was is None or "at" in asked.given:
            return Once(asked.read_moment(asked.given["at"], "schedule.at"))
        if asked.timezone != was.timezone:
            mend = "give at anew, with timezone"
            raise InvalidSchedule("schedule.timezone", "a single moment stays whatever the zone", mend)
        return was

    def stored(self, rule: Once) -> StoredRule:
        """Return the moment."""
        return StoredRule(at_ms=rule.at_ms)

    def firings_a_day(self, rule: Once) -> int:  # noqa: ARG002 - whatever the moment
        """Return 0, since it does not recur."""
        return 0

    def shown(self, rule: Once) -> dict[str, Any]:
        """Return the moment, as text and in ms."""
        return {"at": show_moment(rule.at_ms), "at_ms": rule.at_ms}

    def words(self, rule: Once, language: Language) -> str:
        """Return the words of one moment."""
        return WORDS[language].once(moment_text(rule.at_ms, rule.timezone))


def _delayed(delay_ms: int, now: int) -> int:
    if not 0 <= delay_ms < END_MS - now:
        raise InvalidSchedule(
            "schedule.delay", f"{str(delay_ms)[:30]} ms lead out of the years 1970 to 2199", "write 0 or more"
        )
    return now + delay_ms
