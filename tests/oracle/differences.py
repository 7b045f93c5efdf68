"""Why cronsim and we may differ: each reason predicts what cronsim gives, to the moment, or it is none.

The first three are rules: brute force under that rule must give exactly what cronsim gave. The others are about
single moments: cronsim, asked anew right before the one it left out, gives it; or what it gave was never shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from itertools import combinations

from tests.oracle.brute_force import moments_by_brute_force
from tests.oracle.by_cronsim import Fired, first_by_cronsim
from tests.oracle.meaning import Rules, read_meaning
from tests.oracle.wall_hours import DAY_S, HOUR_S, changes_of, is_of_whole_hours, swallows_midnight


class Reason(Enum):
    """A documented difference, as the table and `docs/cron-oracle.md` name it."""

    STARRED_DAYS = "cronsim: a day field that starts with * is ANDed with the other one"
    STEPS_TO_SEVEN = "cronsim: n/step of a weekday runs on to 7 (Sunday)"
    SIX_FIELDS = "cronsim: six fields always follow the clock"
    STEPPED_OVER = "cronsim: steps over a match within a day of a change not of whole hours"
    AFTER_MIDNIGHT = "cronsim: steps over the hour right after a gap that swallowed midnight"
    NEVER_SHOWN = "cronsim: fires at a wall time that the gap swallowed"


RULES = {
    Reason.STARRED_DAYS: "starred_days_are_and",
    Reason.STEPS_TO_SEVEN: "weekday_steps_reach_seven",
    Reason.SIX_FIELDS: "six_fields_follow_the_clock",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of cronsim: `written` is `expression` in its words."""

    expression: str
    written: str
    zone: str
    after_ms: int
    until_ms: int


def explain(asked: Asked, theirs: list[Fired]) -> tuple[Reason, ...] | None:
    """Return the fewest reasons that together predict exactly what cronsim fired, None if none do."""
    given = [fired.at_ms for fired in theirs]
    predictions = list(_predictions(asked))
    for reasons, predicted in predictions:
        if predicted == given:
            return reasons
    for reasons, predicted in predictions:
        if slips := _slips(asked, predicted, theirs):
            return (*reasons, *slips)
    return None


def _predictions(asked: Asked) -> Iterator[tuple[tuple[Reason, ...], list[int]]]:
    """Yield what brute force gives under ever more of cronsim's rules."""
    for count in range(len(RULES) + 1):
        for reasons in combinations(RULES, count):
            meaning = read_meaning(asked.expression, Rules(**{RULES[reason]: True for reason in reasons}))
            yield reasons, moments_by_brute_force(meaning, asked.zone, asked.after_ms, asked.until_ms)


def _slips(asked: Asked, predicted: list[int], theirs: list[Fired]) -> tuple[Reason, ...] | None:
    """Return how cronsim slipped while walking, None if a moment is left that this does not explain."""
    missing = set(predicted).difference(fired.at_ms for fired in theirs)
    extra = [fired for fired in theirs if fired.at_ms not in predicted]
    reasons = {_why_missing(asked, at_ms) for at_ms in missing}
    reasons |= {None if fired.is_shown else Reason.NEVER_SHOWN for fired in extra}
    if not reasons or None in reasons:
        return None
    return tuple(reason for reason in Reason if reason in reasons)


def _why_missing(asked: Asked, at_ms: int) -> Reason | None:
    """Return why cronsim left out a moment that it gives when asked anew, None if the reason is none of ours."""
    at_s = at_ms // 1_000
    year = datetime.fromtimestamp(at_s, UTC).year
    changes = [
        one for near in (year - 1, year) for one in changes_of(asked.zone, near) if 0 <= at_s - one <= DAY_S
    ]
    if not changes:
        return None
    change_s = changes[-1]
    is_given_anew = first_by_cronsim(asked.written, asked.zone, at_ms - 1_000) == at_ms
    if is_given_anew and not is_of_whole_hours(asked.zone, change_s):
        return Reason.STEPPED_OVER
    # Right before the first instant after the gap is before the gap, from where cronsim steps over it again.
    is_first = at_s == change_s
    if (is_given_anew or is_first) and at_s < change_s + HOUR_S and swallows_midnight(asked.zone, change_s):
        return Reason.AFTER_MIDNIGHT
    return None
