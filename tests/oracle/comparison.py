"""One case: our moments beside those of brute force, and beside those of cronsim where it can read the expression."""

from dataclasses import dataclass
from datetime import UTC, datetime

from tests.oracle.brute_force import END_S, moments_by_brute_force
from tests.oracle.by_cronsim import fired_by_cronsim, written_for_cronsim
from tests.oracle.case import ALL, Case
from tests.oracle.differences import Asked, Reason, explain
from tests.oracle.meaning import Meaning, read_meaning
from tests.oracle.wall_hours import DAY_S
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import InvalidSchedule


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a case came to. `reasons` explain its difference from cronsim; `unexplained` says what nothing does."""

    case: Case
    ours: tuple[int, ...]
    never_fires: bool
    is_read_by_cronsim: bool
    moments_by_cronsim: int
    reasons: tuple[Reason, ...]
    unexplained: tuple[str, ...]


def compare(case: Case) -> Comparison:
    """Ask all three, and explain what differs."""
    meaning = read_meaning(case.expression)
    expected = moments_by_brute_force(meaning, case.zone, case.after_ms, case.until_ms)
    try:
        ours = Cron.parse(case.expression, case.zone).moments(case.after_ms, case.until_ms, case.limit)
    except InvalidSchedule as refused:
        return _refused(case, meaning, str(refused))
    wrong = () if ours == expected[: case.limit] else (_both("brute force", expected[: case.limit], ours),)
    if case.limit < ALL:
        return Comparison(case, tuple(ours), False, False, 0, (), wrong)
    return _beside_cronsim(case, meaning, ours, wrong)


def _beside_cronsim(case: Case, meaning: Meaning, ours: list[int], wrong: tuple[str, ...]) -> Comparison:
    written = written_for_cronsim(case.expression, meaning, case.after_ms, case.until_ms)
    if written is None:
        return Comparison(case, tuple(ours), False, False, 0, (), wrong)
    fired = fired_by_cronsim(written, case.zone, case.after_ms, case.until_ms)
    theirs = [one.at_ms for one in fired]
    reasons: tuple[Reason, ...] | None = ()
    if theirs != ours:
        reasons = explain(Asked(case.expression, written, case.zone, case.after_ms, case.until_ms), fired)
    if not reasons and theirs != ours:
        wrong = (*wrong, _both(f"cronsim ({written})", theirs, ours))
    return Comparison(case, tuple(ours), False, True, len(theirs), reasons or (), wrong)


def _refused(case: Case, meaning: Meaning, why: str) -> Comparison:
    """A refusal is right if the schedule never fires, and wrong whatever else it says: the dialect has the rest."""
    is_right = "never fires" in why and not any(map(meaning.has_day, range(END_S // DAY_S)))
    return Comparison(case, (), True, False, 0, (), () if is_right else (f"we refuse it: {why}",))


def _both(oracle: str, theirs: list[int], ours: list[int]) -> str:
    missing, extra = sorted(set(theirs).difference(ours)), sorted(set(ours).difference(theirs))
    return "\n".join(
        f"{name} {[_shown(at_ms) for at_ms in moments]}"
        for name, moments in (
            (f"{oracle}:", theirs),
            ("ours:", ours),
            ("we lack", missing),
            ("we have beyond it", extra),
        )
    )


def _shown(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}"
