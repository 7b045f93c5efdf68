"""Expressions of the whole dialect at random: likely ones often, odd ones now and then."""

from random import Random

from tests.oracle.meaning import FIRST_YEAR, LAST_YEAR, MACROS, MONTHS, WEEKDAYS

# What is read otherwise than meant is refused, so it is not made: a range from a value to itself, a step through a
# backward range, plain weekdays beside nth ones, W in a list.


def any_expression(random: Random, year: int) -> str:
    """Return an expression; a year field, where there is one, tends to hold `year`."""
    kind = random.random()
    if kind < 0.02:
        return _in_any_case(random, random.choice(sorted(MACROS)))
    fields = [_clock_field(random, 59), _clock_field(random, 23), *_date_fields(random)]
    if kind < 0.55:
        return " ".join(fields)
    fields = [_second(random), *fields]
    return " ".join(fields if kind < 0.8 else [*fields, _year(random, year)])


def _second(random: Random) -> str:
    return random.choice(["0", "0", str(random.randint(0, 59)), _clock_field(random, 59)])


def _clock_field(random: Random, high: int) -> str:
    kind = random.random()
    if kind < 0.2:
        return "*"
    if kind < 0.35:
        return f"*/{random.randint(1, high)}"
    if kind < 0.45:
        return f"{random.randint(0, high)}/{random.randint(1, high)}"
    if high == 23 and kind < 0.75:
        # The hours around which clocks are changed.
        return ",".join(str(random.choice([0, 1, 2, 3, 23])) for _ in range(random.randint(1, 2)))
    if kind < 0.47:
        return _listed(random, [*map(str, range(high + 1))]) + ",*"
    return _listed(random, [*map(str, range(high + 1))])


def _listed(random: Random, values: list[str], most: int = 3) -> str:
    return ",".join(_listed_part(random, values) for _ in range(random.randint(1, most)))


def _listed_part(random: Random, values: list[str]) -> str:
    kind = random.random()
    if kind < 0.5:
        return random.choice(values)
    low, high = random.sample(range(len(values)), 2)
    if low < high and kind < 0.7:
        return f"{values[low]}-{values[high]}/{random.randint(1, len(values))}"
    if kind < 0.9:
        low, high = sorted((low, high))
    return f"{values[low]}-{values[high]}"


def _date_fields(random: Random) -> tuple[str, str, str]:
    if random.random() < 0.45:
        return random.choice([("*", "*", "*"), ("*", "*", "?"), ("?", "*", "*")])
    day, month, weekday = _day(random), _month(random), _weekday(random)
    blank = random.choice(["*", "*", "?"])
    kind = random.random()
    if kind < 0.3:
        return day, month, blank
    if kind < 0.65:
        return blank, month, weekday
    return day, month, weekday


def _day(random: Random) -> str:
    kind = random.random()
    if kind < 0.2:
        return random.choice(["L", "l", f"{random.randint(1, 28)},L", f"{random.randint(20, 30)}-L"])
    if kind < 0.4:
        return random.choice(["{}W", "{}w", "W{}"]).format(random.randint(1, 31))
    if kind < 0.5:
        return random.choice(["*/{}", "{}/3"]).format(random.randint(1, 31))
    return _listed(random, [*map(str, range(1, 32))])


def _month(random: Random) -> str:
    kind = random.random()
    if kind < 0.55:
        return "*"
    if kind < 0.65:
        return f"*/{random.randint(1, 12)}"
    if kind < 0.7:
        return f"{random.randint(1, 12)}/{random.randint(1, 12)}"
    names = kind < 0.8
    text = _listed(random, list(MONTHS) if names else [*map(str, range(1, 13))])
    return _in_any_case(random, text)


def _weekday(random: Random) -> str:
    kind = random.random()
    if kind < 0.25:
        return ",".join(_nth_weekday(random) for _ in range(random.randint(1, 2)))
    if kind < 0.35:
        return f"*/{random.randint(1, 7)}"
    if kind < 0.42:
        return f"{random.randint(0, 7)}/{random.randint(1, 7)}"
    if kind < 0.55:
        return f"{random.randint(0, 6)},{random.randint(0, 5)}-{random.choice([6, 7])}"
    names = kind < 0.75
    return _in_any_case(random, _listed(random, list(WEEKDAYS) if names else [*map(str, range(7))]))


def _nth_weekday(random: Random) -> str:
    kind = random.random()
    if kind < 0.35:
        return f"{random.choice('Ll')}{random.randint(0, 7)}"
    if kind < 0.5:
        low, high = random.sample(range(7), 2)
        return _in_any_case(random, f"{WEEKDAYS[low]}-{WEEKDAYS[high]}") + f"#{random.randint(1, 5)}"
    of = str(random.randint(0, 7)) if kind < 0.8 else random.choice(WEEKDAYS)
    return f"{of}#{random.randint(1, 5)}"


def _year(random: Random, year: int) -> str:
    near = min(max(year + random.choice([0, 0, 0, 0, -1, 1]), FIRST_YEAR), LAST_YEAR)
    other = random.randint(FIRST_YEAR, LAST_YEAR)
    choices = [
        "*",
        f"{near}",
        f"{near},{other}",
        f"*/{random.randint(1, 40)}",
        f"{near}/{random.randint(1, 9)}",
    ]
    if near != other:
        choices.append(f"{min(near, other)}-{max(near, other)}")
    return random.choice(choices)


def _in_any_case(random: Random, text: str) -> str:
    return random.choice([text, text.upper(), text.title()])
