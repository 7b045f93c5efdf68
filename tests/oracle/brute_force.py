"""The rule of `docs/decisions/0002-dst-rule.md`, applied to all that the wall shows in a window."""

from collections.abc import Iterator

from tests.oracle.meaning import Meaning
from tests.oracle.wall_hours import DAY_S, HOUR_S, MINUTE_S, Piece, pieces_of_hour

# Moments are those of 1970 to 2199 (UTC).
END_S = 7_258_118_400


def moments_by_brute_force(meaning: Meaning, zone: str, after_ms: int, until_ms: int) -> list[int]:
    """Return the moments in (after_ms, until_ms], in ms since epoch, ascending."""
    first_s = max(after_ms // 1_000 + 1, 0)
    last_s = min(until_ms // 1_000, END_S - 1)
    found: list[int] = []
    for hour in _hours_to_look_at(meaning, first_s, last_s):
        for piece in pieces_of_hour(zone, hour):
            found += [at_s * 1_000 for at_s in _fired_in(meaning, piece) if first_s <= at_s <= last_s]
    return found


def _hours_to_look_at(meaning: Meaning, first_s: int, last_s: int) -> Iterator[int]:
    """Yield the hours of the window, but not those of days that no zone's wall calls one of the days."""
    has_day = {day: meaning.has_day(day) for day in range(first_s // DAY_S - 1, last_s // DAY_S + 2)}
    for hour in range(first_s // HOUR_S, last_s // HOUR_S + 1):
        day = hour * HOUR_S // DAY_S
        if has_day[day - 1] or has_day[day] or has_day[day + 1]:
            yield hour


def _fired_in(meaning: Meaning, piece: Piece) -> list[int]:
    """Return what fires within a piece of time, in seconds since epoch."""
    matches = _matches(meaning, piece.wall_s, piece.wall_s + piece.length_s)
    shown = [piece.at_s + match - piece.wall_s for match in matches]
    if meaning.follows_the_clock:
        return shown
    if piece.is_repeat:
        return []
    swallowed = _matches(meaning, piece.wall_s - piece.skipped_s, piece.wall_s) if piece.skipped_s else []
    if swallowed and piece.at_s not in shown:
        return [piece.at_s, *shown]
    return shown


def _matches(meaning: Meaning, from_s: int, until_s: int) -> list[int]:
    """Return the wall times in [from_s, until_s) that match, as seconds since epoch as if UTC."""
    return [
        match
        for hour_s in range(from_s - from_s % HOUR_S, until_s, HOUR_S)
        if hour_s % DAY_S // HOUR_S in meaning.hours and meaning.has_day(hour_s // DAY_S)
        for minute in meaning.minutes
        for match in (hour_s + minute * MINUTE_S + second for second in meaning.seconds)
        if from_s <= match < until_s
    ]
