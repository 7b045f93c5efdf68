"""A warning: one thing about a timer that may surprise its author."""

from dataclasses import dataclass
from enum import StrEnum

from wangtimer.core.words.words import Language


class WarningCode(StrEnum):
    """What a warning is about."""

    FIELD_ORDER = "fieldOrder"
    QUARTZ_WEEKDAY = "quartzWeekday"
    LONG_STEP = "longStep"
    UNEVEN_STEP = "unevenStep"
    EITHER_DAY = "eitherDay"
    SHORT_MONTH = "shortMonth"
    LEAP_DAY = "leapDay"
    FIFTH_WEEKDAY = "fifthWeekday"
    CLOCK_FORWARD = "clockForward"
    CLOCK_BACK = "clockBack"
    CLOCK_DRIFT = "clockDrift"
    ENCODED_TWICE = "encodedTwice"
    TEMPLATES_OFF = "templatesOff"
    LOCAL_IS_UTC = "localIsUtc"
    CALENDAR_ENDS = "calendarEnds"
    WIDE_SPREAD = "wideSpread"
    NEVER_FIRES = "neverFires"


@dataclass(frozen=True, slots=True)
class Warning:
    """One thing that may surprise, as a line without a full stop: `text` in English, `text_zh` in Chinese."""

    code: WarningCode
    text: str
    text_zh: str

    def describe(self, language: Language) -> str:
        """Return the line in a language."""
        return self.text if language is Language.EN else self.text_zh
