"""CPU seconds and memory of processes and their children, read from /proc."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/<pid>/stat after the command's name: utime, stime, and those of its ended children.
_UTIME, _CUTIME_END = 11, 15
_RSS_PAGES = 21


@dataclass(frozen=True, slots=True)
class CpuReading:
    """CPU seconds used so far, by kind of process."""

    seconds: Mapping[str, float]

    def until(self, later: "CpuReading") -> dict[str, float]:
        """Return the seconds used between this reading and a later one."""
        return {kind: later.seconds[kind] - self.seconds.get(kind, 0.0) for kind in later.seconds}


def read_cpu(pids_by_kind: Mapping[str, Sequence[int]]) -> CpuReading:
    """Return the CPU seconds of each kind's processes, their children included."""
    return CpuReading(
        {
            kind: sum(_cpu_s(pid) for root in roots for pid in _tree(root))
            for kind, roots in pids_by_kind.items()
        }
    )


def largest_rss_mb(pids_by_kind: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """Return the resident memory, MB, of the largest process of each kind."""
    return {
        kind: max((_rss_bytes(pid) for root in roots for pid in _tree(root)), default=0) / 1e6
        for kind, roots in pids_by_kind.items()
    }


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield from _tree(int(child))


def _cpu_s(pid: int) -> float:
    return sum(map(int, _stat(pid)[_UTIME:_CUTIME_END])) / _TICKS_A_SECOND


def _rss_bytes(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[_RSS_PAGES]) * _PAGE_BYTES if fields else 0


def _stat(pid: int) -> list[str]:
    """Return the fields after the name; none when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
