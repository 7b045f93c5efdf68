"""Compares what the demo's receiver wrote down with what the two timers promise."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """One callback as the receiver saw it; moments in ms since 1970."""

    timer: str
    fire_at: int
    attempt: str
    firing: str
    arrived_at: float

    @property
    def lateness_ms(self) -> float:
        """Arrival minus moment; negative when early."""
        return self.arrived_at - self.fire_at

    @classmethod
    def read(cls, line: str) -> "Arrival":
        """Read one line of the receiver."""
        request = json.loads(line)
        headers = request["headers"]
        return cls(
            timer=headers["x-wangtimer-timer"],
            fire_at=int(headers["x-wangtimer-fire-at"]),
            attempt=headers["x-wangtimer-attempt"],
            firing=headers["webhook-id"],
            arrived_at=request["arrivedAt"],
        )


class Journal:
    """The receiver's file, read as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_arrivals(self) -> Iterator[Arrival]:
        """Return what came since the last call; a line still being written waits for the next."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode().splitlines():
            yield Arrival.read(line)


@dataclass(frozen=True, slots=True)
class EverySecond:
    """An enabled timer of `* * * * * *`: the API had answered at `enabled_at` (ms)."""

    timer: str
    enabled_at: float

    def expected(self, last_fire_at: int) -> set[int]:
        """Return each whole second after the enabling, up to the last."""
        first = int(self.enabled_at // SECOND_MS + 1) * SECOND_MS
        return set(range(first, last_fire_at + 1, SECOND_MS))


@dataclass(frozen=True, slots=True)
class Once:
    """An enabled one-shot: created between two moments (ms), it is due `delay_ms` later."""

    timer: str
    create_began_at: float
    create_ended_at: float
    delay_ms: int

    def is_its_moment(self, fire_at: int) -> bool:
        """Say whether the moment lies where the request puts it."""
        earliest, latest = self.create_began_at + self.delay_ms, self.create_ended_at + self.delay_ms
        return earliest - 1 <= fire_at <= latest + 1


@dataclass(frozen=True, slots=True)
class Summary:
    """How the callbacks compare with the schedules; lateness in ms."""

    count: int
    lost: int
    duplicates: int
    early: int
    astray: int
    lateness_p50: float
    lateness_max: float

    @property
    def is_clean(self) -> bool:
        """Say whether every expected moment came once, none early, and nothing else came."""
        return self.count > 0 and not (self.lost or self.duplicates or self.early or self.astray)

    def __str__(self) -> str:
        astray = f", at wrong moments {self.astray}" if self.astray else ""
        return (
            f"{self.count} callbacks: lost {self.lost}, duplicates {self.duplicates}, "
            f"early {self.early}{astray}; "
            f"lateness p50 {self.lateness_p50:.1f} ms, max {self.lateness_max:.1f} ms"
        )


def summarise(arrivals: list[Arrival], cron: EverySecond, once: Once) -> Summary:
    """Compare the arrivals with the two schedules; a moment is lost only if a later one has come."""
    times = Counter((arrival.timer, arrival.fire_at) for arrival in arrivals)
    seconds = {moment for timer, moment in times if timer == cron.timer}
    shots = [moment for timer, moment in times if timer == once.timer]
    expected = cron.expected(max(seconds, default=0))
    lateness = sorted(arrival.lateness_ms for arrival in arrivals)
    return Summary(
        count=len(arrivals),
        lost=len(expected - seconds) + (not shots),
        duplicates=_surplus(times.values())
        + _surplus(Counter(firing for firing in _distinct(arrivals)).values()),
        early=sum(late < 0 for late in lateness),
        astray=_astray(times, cron, once),
        lateness_p50=lateness[len(lateness) // 2] if lateness else 0.0,
        lateness_max=lateness[-1] if lateness else 0.0,
    )


def _surplus(counts: Iterable[int]) -> int:
    return sum(count - 1 for count in counts)


def _distinct(arrivals: list[Arrival]) -> list[str]:
    """Return one firing id for each distinct moment: the same id on two moments would be a duplicate."""
    return list({(arrival.timer, arrival.fire_at): arrival.firing for arrival in arrivals}.values())


def _astray(times: Counter[tuple[str, int]], cron: EverySecond, once: Once) -> int:
    """Count moments that no schedule names, and one-shot moments beyond the one."""
    wrong = sum(not _is_named(timer, moment, cron, once) for timer, moment in times)
    shots = sum(timer == once.timer for timer, _ in times)
    return wrong + max(shots - 1, 0)


def _is_named(timer: str, moment: int, cron: EverySecond, once: Once) -> bool:
    if timer == cron.timer:
        return moment % SECOND_MS == 0
    return timer == once.timer and once.is_its_moment(moment)
