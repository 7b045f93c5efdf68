"""All kinds of rules, and how to find the kind of a rule, a request or a stored text."""

from typing import Any

from wangtimer.core.api_field import ApiField
from wangtimer.core.cron.cron import Cron
from wangtimer.core.kinds.cron_kind import CronKind
from wangtimer.core.kinds.every_kind import EveryDaysKind, EveryKind
from wangtimer.core.kinds.kind import RuleKind
from wangtimer.core.kinds.once_kind import OnceKind
from wangtimer.core.schedules.rule import Rule

# In the order in which the API lists their fields. A new kind is added here and nowhere else.
KINDS: list[RuleKind[Any]] = [CronKind(), EveryKind(), EveryDaysKind(), OnceKind()]


def kind_of(rule: Rule) -> RuleKind[Any]:
    """Return a rule's kind."""
    for kind in KINDS:
        if kind.of is type(rule):
            return kind
    raise TypeError(f"{type(rule).__name__} is of no kind of rule that is registered")


def rule_from_text(text: str, timezone: str) -> Rule:
    """Return the rule of a stored text: of the kind whose word it begins with, else a cron expression.

    A text that only another version can read becomes a rule too, but one that cannot be planned.
    """
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
