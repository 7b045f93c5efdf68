"""The fields of a cron expression: split by name, and read in the dialect they are written in."""

from array import array
from dataclasses import dataclass
from functools import lru_cache

from wangtimer.core.cron_meaning import Meaning
from wangtimer.core.cron_unix import read_unix
from wangtimer.core.errors import InvalidSchedule

MAX_LENGTH = 128

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELD_NAMES = {
    5: ("minute", "hour", "day", "month", "weekday"),
    6: ("second", "minute", "hour", "day", "month", "weekday"),
    7: ("second", "minute", "hour", "day", "month", "weekday", "year"),
}


@dataclass(frozen=True, slots=True)
class Fields:
    """A read expression: what it means, and the seconds within an hour that match."""

    meaning: Meaning
    seconds_of_hour: "array[int]"


# Daily schedules are of 1,440 minutes: with fewer places, going through them all would read each anew, 0.2 ms each.
@lru_cache(maxsize=2_048)
def read_fields(expression: str) -> Fields:
    """Return the fields of an expression; InvalidSchedule if it cannot be read."""
    meaning = read_unix(field_texts(expression))
    return Fields(
        meaning,
        array("H", (minute * 60 + second for minute in meaning.minutes for second in meaning.seconds)),
    )


def meaning_of(expression: str) -> Meaning:
    """Return what an expression means; InvalidSchedule if it cannot be read."""
    return read_fields(expression).meaning


def field_count(expression: str) -> int:
    """Return how many fields an expression is written with: 5, 6 or 7; 0 for a macro."""
    return 0 if expression.lower() in MACROS else len(expression.split())


def field_texts(expression: str) -> dict[str, str]:
    """Return the fields of an expression as they are written, by name, macros written out.

    InvalidSchedule if there are not 5, 6 or 7 of them.
    """
    if len(expression) > MAX_LENGTH:
        raise InvalidSchedule(
            "cron", f"longer than {MAX_LENGTH} characters", "shorten it with ranges (1-5) and steps (*/10)"
        )
    texts = MACROS.get(expression.lower(), expression).split()
    if len(texts) not in FIELD_NAMES:
        raise InvalidSchedule(
            "cron",
            f"{expression!r} has {len(texts)} fields",
            "write 5 fields (minute hour day month weekday), 6 or 7 with seconds first and the year last, "
            f"or one of {', '.join(MACROS)}",
        )
    return dict(zip(FIELD_NAMES[len(texts)], texts, strict=True))
