"""The tables of peers in README and comparison, written from the benchmarks' results.

python -m tests.docs.peers
"""

import re
from pathlib import Path

from benchmarks.page import number
from benchmarks.results import Results
from benchmarks.workload import middle
from benchmarks.workloads.peers import PEERS_BESIDE, variants_in

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "benchmarks" / "results.json"
_ENGLISH = (
    "system",
    "p99, 1,000/s",
    "p99, 1,000 at a full second",
    "calls/s, 10,000 at one moment",
    "CPU a call",
)
HEADS = {
    "README.md": _ENGLISH,
    "README.zh-CN.md": (
        "系统",
        "p99，每秒 1,000 次",
        "p99，整秒同时 1,000 次",
        "调用数/秒，10,000 次同时到点",
        "每次调用的 CPU",
    ),
    "docs/explanation/comparison.md": _ENGLISH,
}
_MEASURES = {"steady_p99_ms": " ms", "ticking_p99_ms": " ms", "calls_per_s": "", "cpu_us_per_call": " µs"}
_MARKED = re.compile(r"(<!-- peers -->\n).*?(<!-- /peers -->)", re.S)


def written(page: str, text: str) -> str:
    """Return a page with its table as it is to be."""
    return _MARKED.sub(lambda found: found[1] + table(page) + found[2], text)


def table(page: str) -> str:
    """Return the table, and a line that says when, where and of which code it was measured."""
    result = Results.read(RESULTS).by_workload[PEERS_BESIDE.name]
    lines = [f"| {' | '.join(HEADS[page])} |", "|---|---|---|---|---|"]
    for variant in variants_in(result):
        figures = (
            number(middle(result.values(f"{name}.{variant}"))) + unit for name, unit in _MEASURES.items()
        )
        lines.append(f"| {variant.partition(' (')[0]} | {' | '.join(figures)} |")
    return "\n".join(lines) + f"\n\n{_measured('zh-CN' in page)}\n"


def _measured(is_chinese: bool) -> str:
    peers = Results.read(RESULTS).by_workload[PEERS_BESIDE.name]
    day, cores, runs = peers.measured_at.split()[0], peers.ran_on.split()[0], len(peers.runs)
    if is_chinese:
        of_each = "各运行一次" if runs == 1 else f"各运行 {runs} 次，取中位数"
        return (
            f"{day} 在 {cores} 核的机器上以提交 {peers.commit} 测得，{of_each}。"
            "只有 WangTimer 把每次的结果写进 SQL，它的 CPU 包含 MariaDB 的。"
        )
    of_each = "one run of each" if runs == 1 else f"median of {runs} runs of each"
    return (
        f"Measured on {day} on {cores} cores at commit {peers.commit}, {of_each}. Only WangTimer writes each outcome "
        "to SQL; its CPU has MariaDB's in it."
    )


def main() -> None:
    """Write the tables anew."""
    for page in HEADS:
        path = ROOT / page
        path.write_text(written(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
