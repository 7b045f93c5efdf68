"""What business services do in a run, and how their targets answer; drawn from the seed."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.pauses import EVERYTHING, Pauses
from wangtimer.core.retry import Backoff, RetryPolicy
from wangtimer.core.schedules.schedule import Once, Schedule
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.testing.doubles.hand_clock import START_MS

# Within the run's two minutes; no moment after them.
EXPRESSIONS = tuple(
    f"{seconds} 0-1 8 15 1 * 2027"
    for seconds in ("7-59/15", "0/20", "*/30", "0-59/15", "11-59/30", "58-59", "0,1,59", "13-59/45")
)
# What is done and due in a run has begun by then.
ACTIVE_MS = 122_000
APP, HOST = "shop", "shop.test:80"
EDGES_MS = (59_990, 60_000, 60_010, 61_000, 90_000, 30_000, 119_500)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a service asks of the API at a moment (ms after the start): `verb` create, enable, disable, delete.

    Or fire_now; or cancel, of the first moment that is more than `ahead_ms` ahead.
    """

    at_ms: float
    timer: int
    verb: str
    ahead_ms: int = 0


@dataclass(frozen=True, slots=True)
class PlannedTimer:
    """A timer of the run and its target's manners."""

    name: str
    schedule: Schedule
    misfire: MisfireRule
    fails: float
    is_fast: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run.

    `credit`, `firings_per_bucket`, `chunk_size` and `lane_firings`, how many Redis may hold in lanes, stand for the
    settings; `never_told` is the share of calls whose
    engine hangs; in a slow world half of all ways take long. `sends_away` is the share of calls for which their
    process has no room. Of the `migrators` each plans in so many threads. `limit` is how many calls the app may make,
    `host_limit` how many its target's host may get.
    `pauses` are what operators pause, each from a moment (ms after the start) until the next one of them.
    `retry` is the policy of all timers; None: the usual one of `most_attempts`. Calls that fail are answered with one
    of `failures`, a status and the pause (s) that the target asks for; None: it asks for none.
    """

    timers: list[PlannedTimer] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    most_attempts: int = 1
    base_pause_ms: int = 1_000
    credit: int = 40_000
    firings_per_bucket: int = 15_000
    chunk_size: int = 250
    never_told: float = 0.0
    is_slow: bool = False
    sends_away: float = 0.0
    migrators: int = 2
    plan_threads: int = 1
    lane_firings: int = 1_000
    limit: CallLimit | None = None
    host_limit: CallLimit | None = None
    pauses: list[tuple[float, Pauses]] = field(default_factory=list)
    retry: RetryPolicy | None = None
    failures: tuple[tuple[int, int | None], ...] = ((500, None),)

    @property
    def policy(self) -> RetryPolicy:
        """When a failed call is made again."""
        return self.retry or RetryPolicy(self.most_attempts, pause_ms=self.base_pause_ms)

    @property
    def has_rules(self) -> bool:
        """Whether operators limit or pause something."""
        return bool(self.limits or self.pauses)

    @property
    def limits(self) -> list[CallLimit]:
        """All limits; each counts for every call of the run."""
        return [limit for limit in (self.limit, self.host_limit) if limit is not None]


def draw_scenario(random: Random) -> Scenario:
    """Return a run of one to three timers."""
    scenario = Scenario(
        most_attempts=random.choice((1, 2, 2, 3)),
        base_pause_ms=random.choice((300, 2_000, 5_000, 20_000, 61_000)),
        credit=random.choice((40_000, 40_000, 40_000, 1)),
        firings_per_bucket=random.choice((15_000, 15_000, 2)),
        chunk_size=random.choice((250, 1)),
        never_told=random.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2)),
        is_slow=random.random() < 0.15,
    )
    for number in range(random.choice((1, 1, 2, 3))):
        _add_timer(scenario, number, random)
    return scenario


def draw_crowded_minute(random: Random) -> Scenario:
    """Return a run of three moments in one minute and slice, two of them asked for when the first may be over."""
    scenario = Scenario()
    for number, created_at in enumerate(
        (500.0, random.uniform(8_000, 30_000), random.uniform(8_000, 30_000))
    ):
        ahead = random.choice((2_000, 5_000, 12_000)) if number else random.choice((7_000, 12_000, 50_000))
        once = Once(START_MS + round(created_at + ahead))
        scenario.timers.append(PlannedTimer(f"timer-{number}", once, MisfireRule(), fails=0.0, is_fast=1.0))
        scenario.wishes.extend(Wish(created_at, number, verb) for verb in ("create", "enable"))
    return scenario


def draw_switched_off_and_on(random: Random) -> Scenario:
    """Return a run of a timer that is on for seconds, off for twenty, and on again."""
    scenario = draw_switched_off(random)
    scenario.wishes.append(Wish(scenario.wishes[-1].at_ms + 20_000, 0, "enable"))
    return scenario


def draw_switched_off(random: Random) -> Scenario:
    """Return a run of a timer that is on for seconds, then off."""
    every_15_s = Cron.parse("0-59/15 0-1 8 15 1 * 2027")
    wishes = [Wish(500.0, 0, "create"), Wish(500.0, 0, "enable")]
    wishes.append(Wish(random.uniform(4_000, 12_000), 0, "disable"))
    return Scenario([PlannedTimer("timer-0", every_15_s, MisfireRule(), fails=0.0, is_fast=1.0)], wishes)


def draw_demands(random: Random) -> Scenario:
    """Return a run in which single firings are asked for and cancelled, of timers that are on or off."""
    scenario = draw_scenario(random)
    asked = scenario.wishes
    for number in range(len(scenario.timers)):
        for _ in range(random.randrange(1, 5)):
            verb = random.choice(("fire_now", "cancel", "cancel"))
            ahead_ms = random.choice((1_450, 1_600, 2_500, 8_000))
            asked.append(Wish(random.uniform(3_000, 100_000), number, verb, ahead_ms))
    timers = [replace(timer, misfire=MisfireRule()) for timer in scenario.timers]
    return replace(scenario, timers=timers, wishes=sorted(asked, key=lambda wish: wish.at_ms))


def draw_crowded_targets(random: Random) -> Scenario:
    """Return a run in which many calls find no room at their moment, and wait in lanes."""
    scenario = replace(draw_scenario(random), sends_away=random.choice((0.3, 0.6, 0.8)), is_slow=False)
    timers = [replace(timer, misfire=MisfireRule()) for timer in scenario.timers]
    return replace(scenario, timers=timers, lane_firings=random.choice((4, 4, 1_000)))


def draw_limited_app(random: Random) -> Scenario:
    """Return a run of an app whose calls exceed its limit now and then, some of them sent away besides."""
    scenario = draw_crowded_targets(random)
    for number in range(len(scenario.timers), 3):
        _add_timer(scenario, number, random)
    timers = [
        replace(timer, misfire=MisfireRule(), is_fast=random.choice((0.0, 0.3))) for timer in scenario.timers
    ]
    limit = CallLimit(random.choice((None, 0.25, 1)), random.choice((1, 2, 2)))
    sends_away = random.choice((0.0, 0.0, 0.2))
    return replace(scenario, timers=timers, limit=limit, sends_away=sends_away)


def draw_limited_host(random: Random) -> Scenario:
    """Return a run whose target's host has a limit, and mostly the app too: a call needs two permits."""
    scenario = draw_limited_app(random)
    host_limit = CallLimit(random.choice((None, 0.25, 1)), random.choice((1, 2, 2)))
    limit = random.choice((None, scenario.limit, scenario.limit))
    return replace(scenario, limit=limit, host_limit=host_limit)


def draw_pauses(random: Random) -> Scenario:
    """Return a run in which an operator pauses everything, the app, the host or a timer, for a while, once or twice."""
    scenario = replace(draw_scenario(random), is_slow=False, sends_away=random.choice((0.0, 0.0, 0.3)))
    at_ms, pauses = random.uniform(5_000, 50_000), []
    for _ in range(random.choice((1, 1, 2))):
        names = random.sample((EVERYTHING, f"app:{APP}", f"host:{HOST}", "timer"), random.choice((1, 1, 2)))
        pauses.append((at_ms, Pauses(frozenset(names))))
        at_ms += random.choice((3_000, 10_000, 40_000))
        pauses.append((at_ms, Pauses()))
        at_ms += random.choice((500, 15_000))
    return replace(scenario, pauses=pauses, lane_firings=random.choice((4, 1_000)))


def draw_many_migrators(random: Random) -> Scenario:
    """Return a run of four timers and more, planned and fed by four migrators of two threads."""
    scenario = replace(draw_scenario(random), migrators=4, plan_threads=2)
    for number in range(len(scenario.timers), random.choice((4, 6))):
        _add_timer(scenario, number, random)
    return scenario


def draw_slow_targets(random: Random) -> Scenario:
    """Return a run of calls that take as long as they may."""
    often = Cron.parse(random.choice(EXPRESSIONS))
    wishes = [Wish(500.0, 0, "create"), Wish(500.0, 0, "enable")]
    slow = PlannedTimer("timer-0", often, MisfireRule(), fails=0.0, is_fast=0.0)
    return Scenario([slow], wishes, firings_per_bucket=random.choice((15_000, 2)))


def draw_slow_targets_each_second(random: Random) -> Scenario:
    """Return a run of calls each second for some, one a message, that take as long as they may."""
    seconds = random.choice(("5-25", "50-59", "20-40"))
    often = Cron.parse(f"{seconds} 0 8 15 1 * 2027")
    wishes = [Wish(500.0, 0, "create"), Wish(500.0, 0, "enable")]
    timer = PlannedTimer("timer-0", often, MisfireRule(), fails=0.0, is_fast=0.0)
    return Scenario([timer], wishes, chunk_size=1)


def draw_failing_targets(random: Random) -> Scenario:
    """Return a run of calls most of which fail and are tried again after two seconds."""
    often = Cron.parse(random.choice(EXPRESSIONS))
    wishes = [Wish(500.0, 0, "create"), Wish(500.0, 0, "enable")]
    failing = PlannedTimer("timer-0", often, MisfireRule(), fails=0.8, is_fast=1.0)
    return Scenario([failing], wishes, most_attempts=3, base_pause_ms=2_000)


def draw_policies(random: Random) -> Scenario:
    """Return a run whose targets fail in many ways, under a policy of any kind."""
    drawn = replace(draw_scenario(random), never_told=0.0, is_slow=False)
    timers = [
        replace(timer, misfire=MisfireRule(), fails=random.choice((0.5, 0.8, 0.95))) for timer in drawn.timers
    ]
    kind, words = random.randrange(3), ("404", "4xx", "429", "503", "5xx", "410")
    grows = {"attempts": random.choice((1, 2, 4)), "pause_ms": random.choice((100, 300, 2_000, 5_000))}
    if kind == 0:
        how: dict[str, Any] = {
            "pauses": tuple(random.choices((100, 500, 4_000, 20_000), k=random.randrange(1, 5)))
        }
    elif kind == 1:
        how = {"backoff": Backoff.FIXED, **grows}
    else:
        how = {"longest_pause_ms": random.choice((300, 60_000)), **grows}
    policy = RetryPolicy(
        **how,
        within_ms=random.choice((None, None, 3_000, 30_000)),
        final=tuple(random.sample(words, random.choice((0, 1, 2)))),
        retried=tuple(random.sample(words, random.choice((0, 0, 1)))),
    )
    answers = ((404, None), (410, None), (429, 7), (429, 0), (503, 25), (503, None), (500, None), (500, 9))
    return replace(drawn, timers=timers, retry=policy, failures=tuple(random.sample(answers, 3)))


def _add_timer(scenario: Scenario, number: int, random: Random) -> None:
    created_at = random.uniform(500, 4_000)
    draw = random.random()
    if draw < 0.4:
        schedule: Schedule = Cron.parse(random.choice(EXPRESSIONS))
    elif draw < 0.7:
        created_at = random.uniform(2_000, 80_000)
        ahead = random.choice((-2_000, 200, 900, 1_400, 1_600, 3_000, 6_000, 20_000))
        schedule = Once(START_MS + round(created_at + ahead))
    else:
        schedule = Once(START_MS + random.choice(EDGES_MS) + random.randrange(3))
    scenario.timers.append(
        PlannedTimer(
            f"timer-{number}",
            schedule,
            _draw_misfire(random),
            fails=random.choice((0.0, 0.0, 0.5, 0.8)),
            is_fast=random.choice((1.0, 0.8, 0.3)),
        )
    )
    scenario.wishes.append(Wish(created_at, number, "create"))
    scenario.wishes.append(Wish(created_at, number, "enable"))
    _add_changes(scenario, number, random)


def _draw_misfire(random: Random) -> MisfireRule:
    if random.random() < 0.8:
        return MisfireRule()
    return MisfireRule(random.choice(list(MisfirePolicy)), random.choice((1_000, 5_000, 60_000)))


def _add_changes(scenario: Scenario, number: int, random: Random) -> None:
    draw = random.random()
    if draw < 0.25:
        at_ms = random.uniform(10_000, 100_000)
        scenario.wishes.append(Wish(at_ms, number, "disable"))
        if random.random() < 0.7:
            pause_ms = random.choice((0, 5, 500, 20_000))
            scenario.wishes.append(Wish(at_ms + pause_ms, number, "enable"))
    elif draw < 0.35:
        scenario.wishes.append(Wish(random.uniform(10_000, 100_000), number, "delete"))
