"""A schedule in words, English or Chinese."""

from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.schedule import Bounded, Schedule, bounds_in, rule_of
from wangtimer.core.words.words import WORDS, Language, Words, moment_text


def describe(schedule: Schedule, language: Language) -> str:
    """Return when a schedule fires, as one phrase without a full stop, its zone at the end.

    Two cron expressions with the same words fire at the same moments, except when clocks change
    (`docs/decisions/0002-dst-rule.md`). InvalidSchedule if a cron expression cannot be read.
    """
    rule, words = rule_of(schedule), WORDS[language]
    said = kind_of(rule).words(rule, language)
    bounds = bounds_in(schedule)
    return words.in_zone(said if bounds is None else _bounded(said, bounds, words), rule.timezone)


def _bounded(said: str, bounds: Bounded, words: Words) -> str:
    zone = bounds.timezone
    return words.bounded(
        said,
        None if bounds.start_ms is None else moment_text(bounds.start_ms, zone),
        None if bounds.last_ms is None else moment_text(bounds.last_ms, zone),
        None if bounds.excluded is None else bounds.excluded.name,
        bounds.jitter_ms,
    )
