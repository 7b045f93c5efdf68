"""A schedule in words, English or Chinese."""

from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.core.words.words import WORDS, Language, moment_text


def describe(schedule: Schedule, language: Language) -> str:
    """Return when a schedule fires, as one phrase without a full stop, its zone at the end.

    Two cron expressions in the same words fire at the same moments, save where clocks change
    (`docs/decisions/0002-dst-rule.md`). InvalidSchedule if a cron expression cannot be read.
    """
    whole, zone = as_bounded(schedule), schedule.timezone
    words = WORDS[language].bounded(
        kind_of(whole.rule).words(whole.rule, language),
        None if whole.start_ms is None else moment_text(whole.start_ms, zone),
        None if whole.last_ms is None else moment_text(whole.last_ms, zone),
        None if whole.excluded is None else whole.excluded.name,
        whole.jitter_ms,
    )
    return WORDS[language].in_zone(words, zone)
