"""A schedule in words, English or Chinese."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol

from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_meaning import Meaning
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule
from wangtimer.core.time.zones import read_zone
from wangtimer.core.words import words_en, words_zh

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Language(StrEnum):
    """A language schedules are described in."""

    EN = "en"
    ZH = "zh"


class Words(Protocol):
    """What a language says; moments and zones come as texts, a bound that is not there as None."""

    def in_zone(self, words: str, timezone: str) -> str:
        """Return the words with the zone they are meant in."""

    def once(self, moment: str) -> str:
        """Return the words of one moment, given in UTC."""

    def every(self, interval_ms: int, anchor: str) -> str:
        """Return the words of an interval and the moment it is counted from."""

    def cron(self, meaning: Meaning) -> str:
        """Return the words of a cron expression, without its zone."""

    def bounded(
        self, rule: str, start: str | None, last: str | None, excluded: str | None, spread_ms: int | None
    ) -> str:
        """Return a rule's words with those of its bounds."""


WORDS: dict[Language, Words] = {Language.EN: words_en, Language.ZH: words_zh}


def describe(schedule: Schedule, language: Language) -> str:
    """Return when a schedule fires, as one phrase without a full stop, its zone at the end.

    Two cron expressions in the same words fire at the same moments, save where clocks change
    (`docs/decisions/0002-dst-rule.md`). InvalidSchedule if a cron expression cannot be read.
    """
    words = WORDS[language]
    if isinstance(schedule, Once):
        return words.once(moment_text(schedule.at_ms, "UTC"))
    if isinstance(schedule, Bounded):
        return words.in_zone(_bounded(schedule, words), schedule.timezone)
    return words.in_zone(_rule(schedule, words), schedule.timezone)


def moment_text(moment_ms: int, timezone: str) -> str:
    """Return a moment on the wall clock of a zone: to the minute, or as fine as it needs; with its offset
    from UTC where that wall time comes twice.
    """
    at = (EPOCH + timedelta(milliseconds=moment_ms)).astimezone(read_zone(timezone))
    if moment_ms % 1_000:
        text = f"{at:%Y-%m-%d %H:%M:%S}.{moment_ms % 1_000:03}"
    else:
        text = f"{at:%Y-%m-%d %H:%M:%S}" if at.second else f"{at:%Y-%m-%d %H:%M}"
    other_pass = at.replace(fold=1 - at.fold)
    return text if other_pass.utcoffset() == at.utcoffset() else text + at.isoformat()[-6:]


def _rule(rule: Cron | Every, words: Words) -> str:
    if isinstance(rule, Cron):
        return words.cron(rule.meaning)
    return words.every(rule.interval_ms, moment_text(rule.anchor_ms, rule.timezone))


def _bounded(schedule: Bounded, words: Words) -> str:
    zone = schedule.timezone
    return words.bounded(
        _rule(schedule.rule, words),
        None if schedule.start_ms is None else moment_text(schedule.start_ms, zone),
        None if schedule.last_ms is None else moment_text(schedule.last_ms, zone),
        None if schedule.excluded is None else schedule.excluded.name,
        schedule.jitter_ms,
    )
