"""The kind of cron expressions: `cron`, read by `dialect`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.cron.cron import Cron, never_fires
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.kinds.clock_changes import warnings_of_clock_changes
from wangtimer.core.kinds.cron_warnings import warnings_of_expression, warnings_of_text
from wangtimer.core.kinds.kind import AskedRule, RuleKind, StoredRule
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.words.warning import Warning
from wangtimer.core.words.words import WORDS, Language

_FIELDS = (
    "minute hour day month weekday; or 6 or 7 fields with SECONDS FIRST and the year last; "
    "or @hourly, @daily, ..."
)
_EXAMPLE = "*/5 9-17 * * 1-5"


class CronKind(RuleKind[Cron]):
    """Stored as its expression; in another dialect than unix, the dialect's name comes first."""

    of = Cron
    asked_by = (
        ApiField(
            "cron",
            ValueType.TEXT,
            f"{_FIELDS}; the answer shows the next five moments",
            _EXAMPLE,
            v1_description=_FIELDS,
        ),
    )
    details = (
        ApiField(
            "cron_dialect",
            ValueType.TEXT,
            "how cron is read, unix by default. quartz, as Quartz, XXL-JOB and PowerJob write it: 6 or 7 "
            "fields, ? for day or weekday, weekdays 1-7 from SUNDAY, 6L, 6#3, L, L-3, LW, 15W",
            "unix",
            CronDialect,
            v1="dialect",
        ),
    )
    shown_by = (
        ApiField("cron", ValueType.TEXT, example=_EXAMPLE),
        ApiField("cron_dialect", ValueType.TEXT, "unix or quartz", choices=CronDialect, v1="dialect"),
    )
    stored_words = (CronDialect.QUARTZ.value,)

    def read(self, asked: AskedRule, was: Cron | None) -> Cron:
        """Return the expression in the dialect asked for, else the former one, else unix."""
        dialect_before = CronDialect.UNIX if was is None else was.dialect
        dialect = CronDialect(asked.given.get("cron_dialect", dialect_before))
        expression = asked.given["cron"] if was is None else asked.given.get("cron", was.expression)
        return Cron.read(expression, asked.timezone, dialect)

    def refuse_never(self, rule: Cron) -> None:
        """Raise `InvalidSchedule` if no day matches the expression."""
        if not rule.has_days:
            raise never_fires(rule)

    def refuse_over(self, rule: Cron, now: int) -> None:
        """Raise `InvalidSchedule` if no moment of the expression is left."""
        if rule.first_after(now) is None:
            raise never_fires(rule)

    def stored(self, rule: Cron) -> StoredRule:
        """Return the expression, its dialect before it."""
        return StoredRule(rule.timezone, cron_text(rule))

    def from_text(self, text: str, timezone: str) -> Cron:
        """Return the cron of a stored expression."""
        return cron_from(text, timezone)

    def shown(self, rule: Cron) -> dict[str, Any]:
        """Return the expression and its dialect."""
        return {"cron": rule.expression, "cron_dialect": rule.dialect.value}

    def words(self, rule: Cron, language: Language) -> str:
        """Return the words of what the expression means."""
        return WORDS[language].cron(rule.meaning)

    def firings_a_day(self, rule: Cron) -> int:
        """Return how many times of day match."""
        meaning = rule.meaning
        return len(meaning.seconds) * len(meaning.minutes) * len(meaning.hours)

    def warnings(self, rule: Cron) -> Iterable[Warning]:
        """Return what may surprise about the expression."""
        return warnings_of_expression(rule)

    def quick_warnings(self, rule: Cron) -> Iterable[Warning]:
        """Return what may surprise about the text of the expression alone."""
        return warnings_of_text(rule)

    def warnings_between(
        self, schedule: Schedule, rule: Cron, after_ms: int, until_ms: int
    ) -> Iterable[Warning]:
        """Return warnings about the moments when clocks change."""
        walls = replace(rule, timezone="UTC")
        return warnings_of_clock_changes(schedule, walls, rule.fields, after_ms, until_ms)


def cron_text(cron: Cron) -> str:
    """Return the expression as it is stored: `*/5 * * * *`, or behind its dialect, `quartz 0 0 9 ? * 2`.

    A version that does not know the dialect reads its name as a field, and refuses it: it takes no weekday for another.
    """
    return cron.expression if cron.dialect is CronDialect.UNIX else f"{cron.dialect} {cron.expression}"


def cron_from(text: str, timezone: str) -> Cron:
    """Read back what `cron_text` wrote; an expression in an unknown dialect can be read, but not planned."""
    name, _, expression = text.partition(" ")
    if name == CronDialect.QUARTZ:
        return Cron(expression, timezone, CronDialect.QUARTZ)
    return Cron(text, timezone)
