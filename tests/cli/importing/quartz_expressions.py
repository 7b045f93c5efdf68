"""Random Quartz expressions, the same for each seed."""

import random
from collections.abc import Iterator

ZONES = ("UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# 2026-01-01 to 2030-01-01, UTC.
FIRST_S, LAST_S = 1_767_225_600, 1_893_456_000


def quartz_cases(seed: int, count: int) -> Iterator[tuple[str, str, int]]:
    """Yield expressions, each with a zone and a moment (ms UTC) after which its moments are wanted."""
    draw = random.Random(seed)
    for _ in range(count):
        yield expression(draw), draw.choice(ZONES), draw.randint(FIRST_S, LAST_S) * 1_000


def expression(draw: random.Random) -> str:
    by_week = draw.random() < 0.5
    day, weekday = ("?", _weekday(draw)) if by_week else (_day(draw), "?")
    second = draw.choice(["0", "0", "0", "30", "0/20", "5-50/15", "*/30"])
    fields = [second, _number(draw, 0, 59), _number(draw, 0, 23), day, _month(draw), weekday]
    if draw.random() < 0.1:
        fields.append(draw.choice(["*", "2026-2040", "2027,2029", "2026/2"]))
    return " ".join(fields)


def _number(draw: random.Random, low: int, high: int) -> str:
    one, other = draw.randint(low, high), draw.randint(low, high)
    step = draw.randint(2, max(2, high // 2))
    return draw.choice(
        [
            "*",
            str(one),
            f"{one},{other}",
            f"{one}-{other}",
            f"{min(one, other)}-{max(one, other)}/{step}",
            f"{one}/{step}",
            f"*/{step}",
        ]
    )


def _day(draw: random.Random) -> str:
    return draw.choice(
        [_number(draw, 1, 31), "*", "L", "LW", f"L-{draw.randint(1, 20)}", f"{draw.randint(1, 28)}W"]
    )


def _month(draw: random.Random) -> str:
    name, other = draw.sample(MONTHS, 2)
    return draw.choice(["*", "*", _number(draw, 1, 12), name, f"{name}-{other}", f"{name},{other}"])


def _weekday(draw: random.Random) -> str:
    name, other = draw.sample(WEEKDAYS, 2)
    number, place = draw.randint(1, 7), draw.randint(1, 5)
    return draw.choice(
        [
            "*",
            str(number),
            f"{number}L",
            f"{name}L",
            f"{number}#{place}",
            f"{name}#{place}",
            name,
            f"{name}-{other}",
            f"{name},{other}",
            f"{draw.randint(1, 7)}-{draw.randint(1, 7)}",
            "L",
            "2/2",
        ]
    )
