"""Leaving a rule out makes it red: each rule of the protocols carries weight, and the simulation can see it.

The flaws are those of the first draft, worst first; each rule stands under the flaw it mends. Where another defence
hides a rule's absence, that one is left out too (`Rule.together_with`), in the clean run as well as in the broken one:
so the rule alone decides. Seeds are hints: any of a case's seeds may show it. Once changed code makes all of them
miss, `make ablate RULE="name"` finds others.
"""

from dataclasses import dataclass

import pytest

from tests.lots import a_twelfth
from tests.simulation.ablate import is_worse, run_with, run_without
from tests.simulation.rules import RULES
from tests.simulation.run import Run

FLAWS = {
    1: "slice without agenda entry is lost for ever",
    2: "edit leaves a gap",
    3: "still wanted judges from Redis",
    4: "timer_id and fire_at are not enough",
    5: "growing buckets put one firing in two slices",
    6: "ghost adds",
    7: "settle is not fenced",
    8: "verify asks only pending",
    9: "outbox invisible to verify",
    10: "repairs come minutes late",
    11: "frozen before the send",
    12: "Redis away for seconds sends all in flight twice",
    13: "rollback to before arm",
    14: "loaded before it is",
    15: "no executor alive is armed again without bound",
    16: "a trigger holds a thread for its whole minute",
    17: "armed and running as credit",
    18: "agenda add that overwrites",
    19: "an engine that never answers renews for ever",
    20: "offset too early",
    21: "ghosts of a closed slice stay for ever",
    22: "messages, clocks and leases",
    23: "the one clock is put back or ahead",
    24: "an app's limit is exceeded",
    25: "a host's limit is exceeded",
    26: "what is paused is called",
}

# Flaws, or halves of them, that no run here can show.
NOT_HERE = {
    2: "timers cannot be edited yet: of their changes there are only enable, disable and delete",
    3: "that a moment off the schedule is sent where somebody asked for it: tests/stages/test_wanted.py",
    21: "a run ends within minutes, keys a day after: tests/store/test_slices.py, on Redis and on the fake",
}

# Rules that no run was seen to need, alone or with another one left out, and why they stay.
REDUNDANT = {
    "what is due soon is added whatever is announced": (
        "it is for marks that are lost, or behind, less than two minutes before a moment; comparing the coming minute"
        " finds what is missing then, and so does the sweep, a few seconds late"
    ),
    "looks of a feeder are told apart": (
        "of 10,000 seeds of `make simulate` one, 2855, had two feeders without it: a look was carried out 12 s late,"
        " while its process fed; tests/store/test_window.py shows it, on Redis and on the fake"
    ),
    "verified: the slice": (
        "a row stands in one slice, so a member elsewhere is a stale planner's, and the plan's fence and the row's"
        " bucket keep that out; seen with attempt and moment left out too, as 'verified: attempt, slice, moment'"
    ),
    "verified: the moment": (
        "what is sent waits for its row's moment anyway, and that rule is seen with this one left out; this one only"
        " spares an executor the wait, when a retry stands far before its moment"
    ),
    "enabling plans from where planning stands": (
        "a moment planned twice is one row: inserting what stands does nothing, so the rule only saves work"
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """Without `rule` one of the `seeds` breaks the promise `breaks`; WORSE: comes out worse by the rule's measure."""

    flaw: int
    rule: str
    breaks: str
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.flaw} {FLAWS[self.flaw]}: {self.rule}"


CASES = (
    Case(1, "repairs add and never ask", "LOST", (2, 11, 42)),
    Case(1, "adders clear the closing mark", "LOST", (354, 374)),
    Case(1, "closing looks after its mark is set", "LOST", (146, 354)),
    Case(1, "closing leaves an entry until it has looked", "LOST", (14, 16, 28)),
    Case(1, "slice first, agenda second", "LOST", (26, 54)),
    Case(1, "add is tried again", "LOST", (2, 22)),
    Case(1, "overdue firings are added", "LOST", (30, 56)),
    Case(2, "switching off plans what came due", "LOST-NEVER-PLANNED", (14,)),
    Case(2, "enabling plans nothing of the past", "MADE-UP-FOR", (0, 2)),
    Case(2, "a plan holds only while its timer is as read", "MADE-UP-FOR", (10, 26)),
    Case(2, "a plan is of the version read", "MADE-UP-FOR", (10, 26)),
    Case(2, "a plan goes on from where planning stands", "MADE-UP-FOR", (10, 26)),
    Case(2, "a plan is of an enabled timer", "MADE-UP-FOR", (4366,)),
    Case(3, "skipped on SQL's word alone", "SKIPPED-WRONGLY", (0,)),
    Case(3, "disabling stops what was asked for before", "UNWANTED", (76, 134)),
    Case(3, "only newer definitions are written", "UNWANTED", (6, 8)),
    Case(3, "the sweep tells Redis of changes", "UNWANTED", (414, 706)),
    Case(4, "an attempt is a member of its own", "LATE", (7, 65, 94)),
    Case(4, "the retry is added before the release", "LOST", (22, 154)),
    Case(4, "what stands elsewhere is added there", "LOST", (38, 106)),
    Case(5, "the bucket is the row's", "SENT-TWICE", (90, 108)),
    Case(6, "add looks into armed and running", "SENT-TWICE", (1, 2, 3)),
    Case(6, "add changes nothing that is due", "WORSE", (98,)),
    Case(6, "what is added near its moment is suspect", "SENT-TWICE-AFTER-ITS-RECORD", (16, 18)),
    Case(6, "nearness counts by the server's time too", "SENT-TWICE-AFTER-ITS-RECORD", (16, 18)),
    Case(6, "what is armed at once and past is suspect", "SENT-TWICE-AFTER-ITS-RECORD", (30, 84)),
    Case(6, "what is taken back is suspect", "SENT-TWICE-AFTER-ITS-RECORD", (6, 14)),
    Case(6, "suspects are verified", "SENT-TWICE-AFTER-ITS-RECORD", (114, 132, 524)),
    Case(6, "planning adds what the table holds", "SENT-TWICE-AFTER-ITS-RECORD", (22, 76, 86)),
    Case(7, "settle: only while pending", "OVERWRITTEN", (10, 12, 14)),
    Case(7, "settle: only at its attempt", "EARLY", (202,)),
    Case(8, "verified: attempt, slice, moment", "SENT-TWICE-AFTER-ITS-RECORD", (22,)),
    Case(8, "verified: the attempt", "SENT-TWICE-AFTER-ITS-RECORD", (733,)),
    Case(8, "sent at the row's moment", "EARLY", (0, 66)),
    Case(8, "what may have been sent is verified", "SENT-TWICE-AFTER-ITS-RECORD", (87, 98)),
    Case(8, "retries are verified", "EARLY", (22, 34)),
    Case(9, "the outbox is read", "SENT-TWICE", (20, 42, 56)),
    Case(9, "the outbox is read before SQL", "SENT-TWICE-AFTER-ITS-RECORD", (40, 68, 90)),
    Case(9, "outcomes are parked while SQL is away", "SENT-TWICE", (0, 1, 10)),
    Case(9, "recorded before the release", "SENT-TWICE", (1081, 1388)),
    Case(9, "what cannot be verified waits", "SENT-TWICE-AFTER-ITS-RECORD", (416, 464)),
    Case(9, "what waits is put back for seconds", "ARMED-AGAIN-AND-AGAIN", (246, 416)),
    Case(9, "flush: settle before forgetting", "SENT-TWICE", (2, 4)),
    Case(9, "flush adds retries", "LOST", (132, 146)),
    Case(10, "the sweep", "LOST", (30, 94)),
    Case(10, "reconcile", "LOST", (64, 144)),
    Case(10, "after a reconnect the window is fed again", "LOST", (2, 12)),
    Case(11, "own check of the lease before the send", "SENT-TWICE", (48, 80, 147)),
    Case(11, "the keeper asks Redis", "SENT-TWICE", (147,)),
    Case(11, "owner fence", "SENT-TWICE", (172, 184, 204)),
    Case(12, "no lease is taken back right after a reconnect", "WORSE", (10,)),
    Case(12, "a renewal soon gives up", "SENT-TWICE", (32, 44, 126)),
    Case(13, "all is verified after a reconnect", "SENT-TWICE-AFTER-ITS-RECORD", (648, 1233)),
    Case(13, "a repair waits a running lease", "WORSE", (26, 74)),
    Case(14, "one feeds at a time", "TWO-FEEDERS", (0, 2)),
    Case(14, "a minute is fed once all of it is added", "LOST", (60, 68)),
    Case(14, "a minute whose Redis was lost is fed again", "LOST", (126, 176)),
    Case(14, "adders look at the mark after their commit", "LOST", (0, 16)),
    Case(14, "the window is fed", "LOST", (22, 26)),
    Case(14, "a lost slice is loaded again", "LOST", (16, 32, 36)),
    Case(15, "nothing is armed while the queue is long", "ARMED-AGAIN-AND-AGAIN", (0, 6, 8)),
    Case(16, "an idle minute holds no thread", "LATE", (21, 91, 169)),
    Case(16, "a slow target holds no thread", "LATE", (11, 14)),
    Case(17, "credit counts only what is armed", "LATE", (11, 21, 67)),
    Case(18, "adders only bring forward", "LATE", (252, 356)),
    Case(19, "renewing ends", "LOST", (1, 21, 32)),
    Case(20, "the clock is a lower bound", "EARLY", (0, 1)),
    Case(22, "a claim is repeatable by its id", "WORSE", (0, 2)),
    Case(22, "only what is armed is claimed", "SENT-TWICE", (10, 14, 20)),
    Case(22, "a late renewal shortens no lease", "SENT-TWICE", (126, 328)),
    Case(22, "a trigger only for a free slice", "TOO-MANY-TRIGGERS", (65, 198)),
    Case(22, "ticks outlive a wall clock that is an hour off", "LOST", (37,)),
    Case(23, "a clock that was put back is noticed", "EARLY", (0, 6)),
    Case(23, "leases are taken back by the earlier clock", "SENT-TWICE", (6, 8)),
    Case(23, "leases are written by the later clock", "SENT-TWICE", (102, 178, 298)),
    Case(24, "a permit outlasts its call", "OVER-THE-LIMIT", (3, 8)),
    Case(24, "a limited call has a permit", "OVER-THE-LIMIT", (3, 8)),
    Case(24, "a limited call has a permit", "OVER-THE-RATE", (8, 15)),
    Case(25, "a call has a permit of its host too", "OVER-THE-RATE", (47, 65, 100)),
    Case(25, "a call has a permit of its host too", "NOT-SENT", (1, 2)),
    Case(26, "what is paused is sent to the lane of its pause", "SENT-THOUGH-PAUSED", (42, 47, 74)),
)


def broken(case: Case, seed: int) -> set[str]:
    """Return the kinds of promises that a run breaks without the rule."""
    rule = RULES[case.rule]
    run = run_without(rule, seed)
    kinds = {kind for kind, _ in run.violations}
    if rule.worse and is_worse(rule, run, run_with(rule, seed)):
        kinds.add("WORSE")
    return kinds


def clean(case: Case) -> list[Run]:
    """Return the same runs with the rule in."""
    return [run_with(RULES[case.rule], seed) for seed in case.seeds]


@pytest.mark.parametrize("case", a_twelfth(CASES), ids=str)
def test_left_out_a_promise_breaks(case: Case) -> None:
    assert any(case.breaks in broken(case, seed) for seed in case.seeds), (
        f'not missed in seeds {case.seeds}; others may be: make ablate RULE="{case.rule}"'
    )


@pytest.mark.parametrize("case", a_twelfth(CASES), ids=str)
def test_with_the_rule_in_the_very_same_runs_keep_every_promise(case: Case) -> None:
    assert {run.seed: run.violations for run in clean(case) if run.violations} == {}


def test_every_rule_is_seen_to_be_needed_or_says_why_not() -> None:
    cases = {case.rule for case in CASES}
    assert not cases & REDUNDANT.keys()
    assert cases | REDUNDANT.keys() == RULES.keys()


def test_every_flaw_has_a_rule_or_says_why_not() -> None:
    assert {case.flaw for case in CASES} | NOT_HERE.keys() == FLAWS.keys()
