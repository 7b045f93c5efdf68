"""The fields of a cron expression: split by name, and read in their dialect."""

import re
from array import array
from dataclasses import dataclass
from functools import lru_cache

from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.cron.cron_meaning import Meaning
from wangtimer.core.cron.cron_quartz import read_quartz
from wangtimer.core.cron.cron_unix import read_unix
from wangtimer.core.errors import InvalidSchedule

# The most characters of an expression as it is stored, with the name of its dialect before it unless that is unix.
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
# The number of fields without seconds; the quartz dialect has no such expressions.
FEWEST_FIELDS = 5
QUARTZ_MEND = (
    "the quartz dialect has 6 fields (second minute hour day month weekday), or 7 with the year last"
)
UNIX_MEND = (
    "write 5 fields (minute hour day month weekday), 6 or 7 with seconds first and the year last, "
    f"or one of {', '.join(MACROS)}"
)

# Intervals as other schedulers write them: @every 5m, rate(5 minutes).
_INTERVAL = re.compile(r"\s*(@every\b|rate\s*\()", re.IGNORECASE)
# As AWS writes an expression, and as Go's schedulers name its zone.
_AWS = re.compile(r"\s*cron\s*\(\s*(?P<fields>\S+(?:\s+\S+){4})\s+(?P<year>\S+?)\s*\)\s*", re.IGNORECASE)
_ZONED = re.compile(r"\s*(?:CRON_)?TZ=(?P<zone>\S+)\s+(?P<expression>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fields:
    """A read expression: what it means, and the seconds within an hour that match."""

    meaning: Meaning
    seconds_of_hour: "array[int]"


# Daily schedules have 1,440 different minutes: with fewer entries, a pass over all of them would read each again.
@lru_cache(maxsize=2_048)
def read_fields(expression: str, dialect: CronDialect = CronDialect.UNIX) -> Fields:
    """Return the fields of an expression; InvalidSchedule if it cannot be read."""
    texts = field_texts(expression, dialect)
    meaning = read_quartz(texts) if dialect is CronDialect.QUARTZ else read_unix(texts)
    return Fields(
        meaning,
        array("H", (minute * 60 + second for minute in meaning.minutes for second in meaning.seconds)),
    )


def field_count(expression: str) -> int:
    """Return how many fields an expression has: 5, 6 or 7; 0 for a macro."""
    return 0 if expression.lower() in MACROS else len(expression.split())


def field_texts(expression: str, dialect: CronDialect = CronDialect.UNIX) -> dict[str, str]:
    """Return an expression's fields by name, macros expanded. InvalidSchedule for another number of fields."""
    longest = MAX_LENGTH if dialect is CronDialect.UNIX else MAX_LENGTH - len(f"{dialect} ")
    if len(expression) > longest:
        raise InvalidSchedule(
            "schedule.cron",
            f"longer than {longest} characters",
            "shorten it with ranges (1-5) and steps (*/10)",
        )
    if _INTERVAL.match(expression):
        mend = "write the interval as every, in place of cron"
        raise InvalidSchedule("schedule.cron", f"{expression!r} is an interval", mend)
    if found := _AWS.fullmatch(expression):
        year = "" if found["year"] in "*?" else f" {found['year']}"
        mend = f'write 0 {" ".join(found["fields"].split())}{year} with "dialect": "quartz"'
        raise InvalidSchedule("schedule.cron", f"{expression!r} is an expression of AWS", mend)
    if found := _ZONED.fullmatch(expression):
        mend = f'write the zone apart, as "timezone": "{found["zone"]}"'
        raise InvalidSchedule(
            "schedule.cron", f"{expression!r} has its zone in it", mend, found["expression"]
        )
    is_quartz = dialect is CronDialect.QUARTZ
    texts = expression.split() if is_quartz else MACROS.get(expression.lower(), expression).split()
    if len(texts) not in FIELD_NAMES or (is_quartz and len(texts) == FEWEST_FIELDS):
        mend = QUARTZ_MEND if is_quartz else UNIX_MEND
        raise InvalidSchedule("schedule.cron", f"{expression!r} has {len(texts)} fields", mend)
    return dict(zip(FIELD_NAMES[len(texts)], texts, strict=True))
