"""A kind of rule that WangTimer does not have: on the so-manieth Monday to Friday of each month.

Whoever adds a kind writes one file like this one, and names it in `KINDS`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice, takewhile
from typing import Any

from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.kinds.kind import AskedRule, RuleKind, StoredRule
from wangtimer.core.kinds.kinds import KINDS
from wangtimer.core.schedules.rule import day_of_first
from wangtimer.core.time.zones import Stretch, read_zone
from wangtimer.core.words.warning import Warning, WarningCode
from wangtimer.core.words.words import Language

MOST = 20
SATURDAY = 5
WORD = "workday"


@dataclass(frozen=True, slots=True)
class Workday:
    """Noon of the `number`th Monday to Friday of each month, on the wall clock of `timezone`."""

    number: int
    timezone: str

    @property
    def only_moment(self) -> None:
        return

    def moments(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        found = takewhile(lambda at: at <= until_ms, self._all_from(after_ms))
        return list(islice((at for at in found if at > after_ms), limit))

    def first_after(self, after_ms: int) -> int | None:
        return next(at for at in self._all_from(after_ms) if at > after_ms)

    def matches(self, moment_ms: int) -> bool:
        return self.first_after(moment_ms - 1) == moment_ms

    def next_day(self, day: int, stretch: Stretch) -> int | None:
        return day_of_first(self, day, stretch)

    def anchored_at(self, _moment_ms: int) -> "Workday":
        return self

    def _all_from(self, after_ms: int) -> Iterator[int]:
        first = datetime.fromtimestamp(max(after_ms, 0) // 1_000, UTC)
        for month in count(first.year * 12 + first.month - 2):
            days = (datetime(month // 12, month % 12 + 1, 1, 12) + timedelta(day) for day in count())
            workdays = (day for day in days if day.weekday() < SATURDAY)
            noon = next(islice(workdays, self.number - 1, None)).replace(tzinfo=read_zone(self.timezone))
            yield int(noon.timestamp()) * 1_000


class WorkdayKind(RuleKind[Workday]):
    """Stored as a text that begins with its word."""

    of = Workday
    asked_by = (ApiField("workday_of_month", ValueType.NUMBER, "noon of this Monday to Friday", 3),)
    shown_by = (ApiField("workday_of_month", ValueType.NUMBER),)
    stored_words = (WORD,)

    def read(self, asked: AskedRule, was: Workday | None) -> Workday:
        number = asked.given.get("workday_of_month", 0 if was is None else was.number)
        if not 1 <= number <= MOST:
            raise InvalidSchedule(
                "schedule.workdayOfMonth", f"no month has a workday {number}", f"write 1 to {MOST}"
            )
        return Workday(number, asked.timezone)

    def stored(self, rule: Workday) -> StoredRule:
        return StoredRule(rule.timezone, f"{WORD} {rule.number}")

    def from_text(self, text: str, timezone: str) -> Workday:
        return Workday(int(text.removeprefix(WORD)), timezone)

    def shown(self, rule: Workday) -> dict[str, Any]:
        return {"workday_of_month": rule.number}

    def words(self, rule: Workday, language: Language) -> str:
        if language is Language.EN:
            return f"at 12:00 on workday {rule.number} of each month"
        return f"每月第 {rule.number} 个工作日 12:00"

    def warnings(self, rule: Workday) -> list[Warning]:
        return [Warning(WarningCode.SHORT_MONTH, "holidays count as workdays", "节假日也算工作日")]


@contextmanager
def registered() -> Iterator[None]:
    """Have the kind among all kinds, as a line of `KINDS` would."""
    kind = WorkdayKind()
    KINDS.append(kind)
    try:
        yield
    finally:
        KINDS.remove(kind)
