"""What a language must be able to say of schedules."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from wangtimer.core.cron.cron_meaning import Meaning
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
        """Return the words of one moment, without its zone."""

    def every(self, interval_ms: int, anchor: str) -> str:
        """Return the words of an interval and the moment it is counted from."""

    def every_days(self, days: int, anchor: str) -> str:
        """Return the words of an interval of days and the moment it is counted from, which has their time of day."""

    def cron(self, meaning: Meaning) -> str:
        """Return the words of a cron expression, without its zone."""

    def bounded(
        self, rule: str, start: str | None, last: str | None, excluded: str | None, spread_ms: int | None
    ) -> str:
        """Return a rule's words with those of its bounds."""


WORDS: dict[Language, Words] = {Language.EN: words_en, Language.ZH: words_zh}


@lru_cache(maxsize=256)  # each language wants it
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
