"""A case: an expression, a zone and a window, made from a seed and a number alone, so that it can be made again."""

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from tests.oracle.brute_force import END_S
from tests.oracle.expressions import any_expression
from tests.oracle.meaning import Meaning, read_meaning
from tests.oracle.wall_hours import DAY_S, HOUR_S, changes_of

# Each zone with the years in which it does its worst: half an hour, midnight missing, a day missing, a quarter.
ZONES = {
    "America/New_York": (1974, 2007, 2026),
    "Europe/London": (1971, 1995, 2026),
    "Australia/Lord_Howe": (1981, 1985, 2026),
    "Asia/Shanghai": (1986, 1991),
    "America/Sao_Paulo": (2018, 2019),
    "Africa/Cairo": (2010, 2014, 2023, 2026),
    "Pacific/Apia": (2010, 2011, 2011, 2012),
    "Asia/Kathmandu": (1985, 1986, 1986),
    "UTC": (2026,),
}
FIRST_YEAR, LAST_YEAR = 1970, 2199
# Where the moments end, where years can no longer be written, and where the moments begin.
EDGES = (END_S, round(datetime(2100, 1, 1, tzinfo=UTC).timestamp()), 0)
AIMED_MOMENTS = 80
LONGEST_S = 40 * DAY_S
LONGEST_IN_SOME_MONTHS_S = 400 * DAY_S
SHORTEST_S = 300
ALL = 10**9


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked: the first `limit` moments of `expression` in (after_ms, until_ms]."""

    number: int
    expression: str
    zone: str
    after_ms: int
    until_ms: int
    limit: int

    @property
    def has_change(self) -> bool:
        """Whether the clocks of the zone change within the window, or within the hour before or after it."""
        first_s, last_s = self.after_ms // 1_000 - HOUR_S, self.until_ms // 1_000 + HOUR_S
        years = range(_year_of(first_s), _year_of(last_s) + 1)
        return any(first_s <= at_s <= last_s for year in years for at_s in changes_of(self.zone, year))

    def __str__(self) -> str:
        after, until = (self._shown(at_ms) for at_ms in (self.after_ms, self.until_ms))
        most = "" if self.limit == ALL else f", the first {self.limit}"
        return f"case {self.number}: {self.expression!r} in {self.zone}, after {after} until {until}{most}"

    def _shown(self, at_ms: int) -> str:
        return f"{datetime.fromtimestamp(at_ms // 1_000, UTC):%Y-%m-%dT%H:%M:%S}.{at_ms % 1_000:03}Z"


def make_case(seed: int, number: int) -> Case:
    """Return the case `number` of a seed; the same two always make the same case."""
    random = Random(f"{seed}:{number}")
    zone = random.choice(list(ZONES))
    centre_s, is_edge = _any_centre(random, zone)
    year = _year_of(centre_s)
    expression = any_expression(random, year)
    length_s = _any_length_s(random, read_meaning(expression))
    after_ms = max(
        (centre_s - _any_lead_s(random, length_s, is_edge)) * 1_000 - random.choice([0, 0, 1, 999]), -1
    )
    until_ms = after_ms + length_s * 1_000 + random.choice([0, 0, 1, 500])
    limit = random.randint(0, 30) if random.random() < 0.1 else ALL
    return Case(number, expression, zone, after_ms, until_ms, limit)


def _any_centre(random: Random, zone: str) -> tuple[int, bool]:
    """Return a moment in seconds, most often a change of clocks; and whether it is an edge of some sort."""
    kind = random.random()
    if kind < 0.03:
        return random.choice(EDGES), True
    year = random.choice(ZONES[zone]) if kind < 0.65 else random.randint(FIRST_YEAR, LAST_YEAR)
    if kind < 0.8 and (changes := changes_of(zone, year)):
        return random.choice(changes), True
    start_s = round(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    return start_s + random.randrange(365 * DAY_S), False


def _any_lead_s(random: Random, length_s: int, is_edge: bool) -> int:
    """Return how long before its centre a window starts; a short one may lie wholly in either pass."""
    if is_edge and random.random() < 0.2:
        return random.choice([-HOUR_S, -1, 0, 1, HOUR_S, length_s - 1, length_s, length_s + 1])
    return random.randint(min(-HOUR_S, 0), max(length_s, HOUR_S))


def _any_length_s(random: Random, meaning: Meaning) -> int:
    """Return a length in which some moments are to be expected, and neither cronsim nor brute force takes long."""
    a_day = len(meaning.seconds) * len(meaning.minutes) * len(meaning.hours)
    longest_s = LONGEST_S if len(meaning.months) == 12 else LONGEST_IN_SOME_MONTHS_S
    aimed_s = AIMED_MOMENTS * DAY_S // a_day * (1 if _is_daily(meaning) else 10)
    if a_day > 24 * 60 or _is_daily(meaning):
        longest_s = min(longest_s, 4 * DAY_S)
    return max(SHORTEST_S, int(min(aimed_s, longest_s) * random.uniform(0.3, 1.5)))


def _is_daily(meaning: Meaning) -> bool:
    rule = meaning.day_rule
    return (
        rule.are_both_needed
        and len(rule.days) == 31
        and len(rule.weekdays) == 7
        and len(meaning.months) == 12
    )


def _year_of(at_s: int) -> int:
    return datetime.fromtimestamp(at_s, UTC).year
