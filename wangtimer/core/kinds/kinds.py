"""All kinds of rules: how the kind of a rule, a request or a text is found; how often a schedule fires, in words."""

from typing import Any

from wangtimer.core.api_field import ApiField
from wangtimer.core.cron.cron import Cron
from wangtimer.core.kinds.cron_kind import CronKind
from wangtimer.core.kinds.every_kind import EveryDaysKind, EveryKind
from wangtimer.core.kinds.kind import RuleKind
from wangtimer.core.kinds.once_kind import OnceKind
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Schedule, bounds_in, rule_of
from wangtimer.core.words.words import WORDS, Language, Words, moment_text

# In the order in which the API lists their fields. A new kind is a class in a module beside this one and an entry here;
# its rule is a class in `core/schedules`, or that of `core/cron`. Its words are in `core/words` (`words.py` and each
# language), its fields also in `client/timer_fields.py`, since the client imports nothing of the service, and in
# `api/document/described_document.py`; the help of `cli/timers/timer_commands.py` names its option. An interval is
# named in `clock_changes.py`, `api/compat/xtimer_words.py` and `cli/as_code/differences.py` too.
KINDS: list[RuleKind[Any]] = [CronKind(), EveryKind(), EveryDaysKind(), OnceKind()]


def kind_of(rule: Rule) -> RuleKind[Any]:
    """Return a rule's kind."""
    for kind in KINDS:
        if kind.of is type(rule):
            return kind
    raise TypeError(f"{type(rule).__name__} is of no kind of rule that is registered")


def rule_from_text(text: str, timezone: str) -> Rule:
    """Return the rule of a stored text by its first word, else a cron; one of another version cannot be planned."""
    if text[:1].isalpha():
        word, _, _ = text.partition(" ")
        for kind in KINDS:
            if word in kind.stored_words:
                rule: Rule = kind.from_text(text, timezone)
                return rule
    return Cron(text, timezone)


def asked_fields() -> list[ApiField]:
    """Return the fields of a request that describe the rule, kind by kind; a detail of several kinds comes once."""
    return list(dict.fromkeys(field for kind in KINDS for field in (*kind.asked_by, *kind.details)))


def asked_names() -> list[str]:
    """Return the names in `/v1` of the request's fields of which one decides the kind of rule."""
    return [field.place for kind in KINDS for field in kind.asked_by]


def shown_fields() -> list[ApiField]:
    """Return the fields of an answer that show a rule, kind by kind."""
    return list(dict.fromkeys(field for kind in KINDS for field in kind.shown_by))


def firings_a_day(schedule: Schedule) -> int:
    """Return how many firings a day has on which the schedule's rule fires; 0 for a one-shot.

    Bounds and excluded days, which only leave firings out, do not count. A rule that this version cannot read is never
    planned, and counts as 0.
    """
    rule = rule_of(schedule)
    try:
        return kind_of(rule).firings_a_day(rule)
    except Exception:
        return 0


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
