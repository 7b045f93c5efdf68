"""What may go wrong at a step, and which of it goes wrong under a seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """What a fault does; those of the first group befall one step and its process, the others the world."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    FREEZE_BEFORE = "freeze before"
    FREEZE_AFTER = "freeze after"
    ERROR = "error, not applied"
    ERROR_APPLIED = "error, applied"
    ERROR_HALF = "error, half applied"
    LATE = "error, applied late"
    TWICE = "applied twice"
    DROP = "message lost"
    DOUBLE = "message doubled"
    DELAY = "message delayed"
    DRAIN = "asked to stop"
    BEATS_STOP = "no beat, no migrator"
    EXECUTORS_STOP = "no executor"

    REDIS_LOSS = "Redis lost its data"
    REDIS_ROLLBACK = "Redis went back in time"
    REDIS_DOWN = "Redis refuses"
    REDIS_HANG = "Redis hangs"
    REDIS_CLOCK_BACK = "Redis' clock is put back"
    REDIS_CLOCK_AHEAD = "Redis' clock is put ahead"
    SQL_DOWN = "SQL refuses"
    SQL_HANG = "SQL hangs"


ON_ANY = (
    Kind.CRASH_BEFORE,
    Kind.CRASH_AFTER,
    Kind.FREEZE_BEFORE,
    Kind.FREEZE_AFTER,
    Kind.REDIS_LOSS,
    Kind.REDIS_ROLLBACK,
    Kind.REDIS_DOWN,
    Kind.REDIS_HANG,
    Kind.SQL_DOWN,
    Kind.SQL_HANG,
)
ON_STORES = (Kind.ERROR, Kind.ERROR_APPLIED, Kind.LATE)
ON_REDIS = (Kind.TWICE,)
ON_MESSAGES = (Kind.DROP, Kind.DOUBLE, Kind.DELAY)
# Steps that are many scripts in one round trip: any number of them may have been applied.
IN_PIECES = frozenset({"slices.add", "slices.renew", "slices.release", "slices.lock", "definitions.put"})
SEEN = frozenset({Kind.ERROR, Kind.ERROR_APPLIED, Kind.ERROR_HALF, Kind.LATE, Kind.TWICE})

DURATIONS_MS: Mapping[Kind, Sequence[int]] = {
    Kind.FREEZE_BEFORE: (2_500, 7_000, 12_000, 30_000),
    Kind.FREEZE_AFTER: (2_500, 7_000, 12_000, 30_000),
    Kind.LATE: (1_500, 4_000, 9_000, 20_000),
    Kind.DELAY: (3_000, 7_000, 9_000, 20_000),
    Kind.BEATS_STOP: (20_000, 70_000),
    Kind.EXECUTORS_STOP: (30_000, 150_000),
    Kind.REDIS_LOSS: (0, 300, 3_000),
    Kind.REDIS_ROLLBACK: (0, 300, 3_000),
    Kind.REDIS_DOWN: (300, 4_000, 15_000),
    Kind.REDIS_HANG: (700, 2_500, 8_000, 12_000),
    Kind.REDIS_CLOCK_BACK: (2_000, 10_000, 40_000),
    Kind.REDIS_CLOCK_AHEAD: (3_000, 8_000, 20_000, 70_000),
    Kind.SQL_DOWN: (2_000, 9_000, 40_000),
    Kind.SQL_HANG: (2_000, 9_000, 20_000),
}
ROLLBACK_DEPTHS_MS = (200, 600, 1_200, 2_500)

# How often a step comes in a calm run, so that a fault strikes at any of them with like chance.
TYPICAL = {
    "agenda.add": 8,
    "agenda.begin_closing": 5,
    "agenda.finish_closing": 5,
    "agenda.needs_until": 250,
    "definitions.get_first": 6,
    "definitions.put": 10,
    "firings.pending_between": 30,
    "firings.settle": 6,
    "firings.tallies": 3,
    "load.reserve": 1,
    "outbox.holds": 2,
    "outbox.page": 50,
    "send.chunk": 6,
    "send.trigger": 6,
    "firings.rows": 2,
    "slices.add": 6,
    "slices.arm_now": 1,
    "slices.claim": 6,
    "slices.lock": 8,
    "slices.needs_of_same": 2,
    "slices.next_need": 5,
    "slices.release": 6,
    "slices.renew": 12,
    "slices.turn": 80,
    "slices.unlock": 5,
    "target.send": 6,
    "timers.changed_behind": 50,
    "timers.commit_plans": 1,
    "timers.create": 1,
    "timers.delete": 1,
    "timers.disable": 1,
    "timers.enable": 1,
    "timers.to_plan": 25,
    "timers.unplanned": 25,
    "window.announced": 4,
    "window.done": 4,
    "window.keep": 1,
    "window.next": 40,
    "window.note_compared": 3,
}
# Steps of lanes, where calls find no room; with those of a claim and its end, which they go between.
IN_LANES = {
    "firings.note_lanes": 12,
    "firings.rows": 15,
    "lanes.add": 12,
    "lanes.enter": 12,
    "lanes.fed": 3,
    "lanes.feed": 3,
    "lanes.forget": 8,
    "lanes.index": 100,
    "lanes.pull_all": 60,
    "lanes.with_rest": 20,
    "slices.put_back": 3,
    "slices.release": 18,
    "slices.renew": 12,
    "target.send": 6,
}
# Where an app has a limit besides.
IN_LIMITS = IN_LANES | {"permits.carry_out": 40, "replica_texts.read": 100, "replica_texts.write": 30}
# Where operators pause something.
IN_PAUSES = IN_LANES | {"replica_texts.read": 40, "replica_texts.write": 7}
# Steps of feeding, where Redis has lost what it held: who feeds, what it reads, what it adds.
IN_FEEDING = {
    "agenda.add": 8,
    "definitions.put": 10,
    "firings.pending_between": 30,
    "firings.tallies": 6,
    "slices.add": 8,
    "slices.needs_of_same": 4,
    "timers.definitions": 4,
    "window.announced": 8,
    "window.done": 6,
    "window.keep": 6,
    "window.next": 80,
}
# Steps of repairs: they come only once something else went wrong.
RARE = {
    "firings.pending_of": 2,
    "firings.rows": 3,
    "outbox.forget": 1,
    "outbox.holds": 3,
    "outbox.park": 2,
    "slices.put_back": 2,
    "timers.definitions": 2,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Strikes at the `nth` step of this label; `shard` None: all of Redis."""

    kind: Kind
    label: str
    nth: int
    lasts_ms: int = 0
    depth_ms: int = 0
    shard: int | None = None

    def __str__(self) -> str:
        extra = f" for {self.lasts_ms} ms" if self.lasts_ms else ""
        extra += f" by {self.depth_ms} ms" if self.depth_ms else ""
        extra += f", shard {self.shard}" if self.shard is not None else ""
        return f"{self.kind} at {self.label} #{self.nth}{extra}"


def draw_faults(random: Random, often: Mapping[str, int] = TYPICAL) -> list[Fault]:
    """Return the faults of a run: mostly one, sometimes none or up to three; most at the steps that come `often`."""
    number = random.choice((0, 1, 1, 1, 1, 1, 2, 2, 2, 3))
    return [_draw(random, often, is_first=not earlier) for earlier in range(number)]


def draw_clock_steps(random: Random) -> list[Fault]:
    """Return the faults of a run in which Redis' clock is put once, and mostly something else goes wrong as well."""
    label = random.choice(("slices.turn", "slices.claim", "slices.renew", "target.send", "firings.settle"))
    kind = random.choice((Kind.REDIS_CLOCK_BACK, Kind.REDIS_CLOCK_AHEAD))
    step = Fault(
        kind, label, nth=random.randint(1, TYPICAL[label]), lasts_ms=random.choice(DURATIONS_MS[kind])
    )
    return [step, *(_draw(random, TYPICAL, is_first=True) for _ in range(random.choice((0, 1, 1))))]


def draw_losses(random: Random) -> list[Fault]:
    """Return the faults of a run in which Redis loses data, and something goes wrong with whoever feeds it again."""
    kind = random.choice((Kind.REDIS_LOSS, Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK))
    loss = Fault(
        kind,
        "agenda.needs_until",
        nth=random.randint(1, TYPICAL["agenda.needs_until"]),
        lasts_ms=random.choice(DURATIONS_MS[kind]),
        depth_ms=random.choice(ROLLBACK_DEPTHS_MS) if kind is Kind.REDIS_ROLLBACK else 0,
        shard=random.choice((0, 1, None)),
    )
    return [loss, *(_draw(random, IN_FEEDING, is_first=True) for _ in range(random.choice((1, 2, 3))))]


def _draw(random: Random, often: Mapping[str, int], is_first: bool) -> Fault:
    often = often if is_first or random.random() < 0.6 else RARE
    label = random.choice(list(often))
    kind = random.choice(_kinds(label))
    return Fault(
        kind,
        label,
        nth=random.randint(1, often[label]),
        lasts_ms=random.choice(DURATIONS_MS.get(kind, (0,))),
        depth_ms=random.choice(ROLLBACK_DEPTHS_MS) if kind is Kind.REDIS_ROLLBACK else 0,
        shard=random.choice((0, 1, None)) if kind in (Kind.REDIS_LOSS, Kind.REDIS_ROLLBACK) else None,
    )


def _kinds(label: str) -> list[Kind]:
    store = label.partition(".")[0]
    if store == "target":
        return [*ON_ANY, Kind.DRAIN]
    if store == "send":
        return [*ON_ANY, *ON_MESSAGES, *ON_MESSAGES]
    kinds = [*ON_ANY, *ON_STORES]
    if store not in ("timers", "firings"):
        kinds += ON_REDIS
    if label in IN_PIECES:
        kinds.append(Kind.ERROR_HALF)
    if label in ("slices.turn", "slices.claim", "firings.settle"):
        kinds.append(Kind.DRAIN)
    if label in ("timers.to_plan", "agenda.needs_until", "timers.enable"):
        kinds += [Kind.BEATS_STOP, Kind.EXECUTORS_STOP]
    return kinds
