"""The tables of peers in README and comparison: the bold rows of `docs/benchmarks.md`, written from it.

python -m tests.docs.peers
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "docs" / "benchmarks.md"
HEADS = {
    "README.md": ("system", "p99, 1,000/s", "p99, 1,000 at a full second", "most calls/s", "CPU a call"),
    "README.zh-CN.md": (
        "系统",
        "p99，每秒 1,000 次",
        "p99，整秒同时 1,000 次",
        "最高调用数/秒",
        "每次调用的 CPU",
    ),
    "docs/explanation/comparison.md": (
        "system",
        "p99, 1,000/s",
        "p99, 1,000 at a full second",
        "most calls/s",
        "CPU a call",
    ),
}
_ROW = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.M)
_MARKED = re.compile(r"(<!-- peers -->\n).*?(<!-- /peers -->)", re.S)


def written(page: str, text: str) -> str:
    """Return a page with its table as it is to be."""
    return _MARKED.sub(lambda found: found[1] + table(page) + found[2], text)


def table(page: str) -> str:
    """Return the table, and a line that says when and where it was measured."""
    text = MEASURED.read_text(encoding="utf-8")
    rows = sorted(_ROW.findall(text), key=lambda row: (row[0] != "WangTimer", row[0]))
    lines = [f"| {' | '.join(HEADS[page])} |", "|---|---|---|---|---|"]
    lines += [_row(name, figures.split(" | ")) for name, figures in rows]
    return "\n".join(lines) + f"\n\n{_when(text, 'zh-CN' in page)}\n"


def _row(name: str, figures: list[str]) -> str:
    _, steady, _, ticking, calls, cpu, _, _ = figures
    short = name.partition(" (")[0]
    return f"| {short} | {steady} ms | {ticking} ms | {calls} | {cpu} µs |"


def _when(text: str, is_chinese: bool) -> str:
    (found,) = re.findall(r"^\* \*\*peers\*\*: .*; (\d+) runs? at (\S+) \S+ UTC on (\d+) cores", text, re.M)
    runs, day, cores = found
    if is_chinese:
        return (
            f"{day} 在 {cores} 核的机器上测得，各运行 {runs} 次。"
            "只有 WangTimer 把每次的结果写进 SQL，它的 CPU 包含 MariaDB 的。"
        )
    return (
        f"Measured on {day} on {cores} cores, runs of each: {runs}. Only WangTimer writes each outcome to SQL; "
        "its CPU has MariaDB's in it."
    )


def main() -> None:
    """Write the tables anew."""
    for page in HEADS:
        path = ROOT / page
        path.write_text(written(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
