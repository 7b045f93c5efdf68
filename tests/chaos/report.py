"""The table of measured rows, and the page it is written to."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.run import Measured

HEAD = (
    "fault",
    "met",
    "promised",
    "lost",
    "early",
    "extra",
    "repeated (allowed)",
    "touched: p99, max",
    "others: p99, max",
    "machine: p99, max",
    "load",
    "bound",
    "kept",
)

PAGE = """# What was measured when parts die

These are measurements of single runs, not
promises. What is promised, and where it does not hold: [promises.md](promises.md).

`{command}` on {when} UTC, on {machine}.
Load: 500 firings a second where the row does not say otherwise, half of them from every-second and similar cron
timers, half one-shots at random milliseconds. Real processes: MariaDB, two Redis servers without persistence (store
and broker), nginx as the target with its own clock. Expected moments come from the cron texts (by cronsim) and the
one-shots' moments, not from WangTimer's tables.

* **met**: firings the victim held when it was struck (fail points: how many were reached); a row in which it held none
  does not count.
* **extra**: calls nobody promised, and second calls of one attempt beyond **repeated (allowed)**: those that stood in
  `running`, held by the victim, just before the fault.
* **touched**: firings the victim held or that waited for it; **others**: all the rest. First calls, by nginx's clock.
* **machine**: how much longer than 10 ms a process slept that did nothing else: what this machine, with all else that
  ran on it, adds to any lateness here. **load**: how many processes wanted a core, mean of the row's last minute; over
  the number of cores, lateness is this machine's as much as WangTimer's.

{table}
"""


def table(measured: Sequence[Measured]) -> str:
    """Return the rows as a Markdown table."""
    lines = [_line(HEAD), _line(["---"] * len(HEAD))]
    return "\n".join(lines + [_line(_cells(one)) for one in measured])


def write_page(measured: Sequence[Measured], path: Path, command: str) -> None:
    """Write the page with the table, naming the machine."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    text = PAGE.format(command=command, when=now, machine=machine(), table=table(measured))
    path.write_text(text, encoding="utf-8")


def machine() -> str:
    """Return the machine's cores, memory and kernel."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {gib:.0f} GiB, {platform.system()} {platform.release()}, shared with others"
    )


def _cells(one: Measured) -> list[str]:
    verdict, row = one.verdict, one.row
    bounds = [f"max {row.most_late_s:g} s"] if row.most_late_s is not None else []
    bounds += [f"others p99 {row.others_p99_ms:g} ms"] if row.others_p99_ms is not None else []
    counts = [one.strike.bite, verdict.promised, len(verdict.lost), len(verdict.early), len(verdict.extra)]
    lateness = [
        f"{_time(part.p99_ms)}, {_time(part.max_ms)}" if part.count else "-"
        for part in (verdict.touched, verdict.others, one.machine)
    ]
    kept = "; ".join(one.misses()) or "yes"
    return [
        row.name,
        *map(str, counts),
        str(verdict.repeated),
        *lateness,
        f"{one.load:.1f}",
        ", ".join(bounds) or "-",
        kept,
    ]


def _time(ms: float) -> str:
    return f"{ms / 1_000:.1f} s" if ms >= 1_000 else f"{ms:.0f} ms"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
