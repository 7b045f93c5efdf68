"""The page is rendered from the results of every run there was, and keeps what people wrote."""

import re
from pathlib import Path

import pytest

from benchmarks.page import kept_history, render
from benchmarks.results import Result, Results
from benchmarks.workload import Figure
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.peers import MEASURES
from benchmarks.workloads.timely import STEADY

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def result_of(name: str, *runs: dict[str, float], scale: float = 1.0) -> Result:
    return Result(name, "2026-11-20 12:00", "84134b08", "2 cores (Fast)", scale, 60.0, runs)


def steady_run(p99_ms: float, lost: int = 0) -> dict[str, float]:
    return {figure.name: 0.0 for figure in STEADY.figures} | {"late_p99_ms": p99_ms, "lost": lost}


def lines_with(words: str, results: Results) -> list[str]:
    page = render(results, WORKLOADS, "a note")
    return [line for line in page.splitlines() if words in line]


def test_a_bound_holds_for_the_median_and_the_worst_is_shown() -> None:
    results = Results({}, {"steady": result_of("steady", steady_run(2), steady_run(9), steady_run(3))})
    assert lines_with("late p99,", results) == ["| steady | late p99, ms | 3 | 9 | ≤ 5 | yes |"]


def test_a_firing_lost_in_one_run_of_three_misses_the_bound() -> None:
    results = Results(
        {}, {"steady": result_of("steady", steady_run(1), steady_run(1, lost=1), steady_run(1))}
    )
    assert lines_with("| lost", results) == ["| steady | lost, firings | 0 | 1 | ≤ 0 in every run | **no** |"]


def test_a_figure_that_could_not_be_measured_keeps_no_bound() -> None:
    assert not Figure("of_bullmq", "ratio", at_least=1.8).is_kept([float("nan")])
    assert Figure("of_bullmq", "ratio", at_least=1.8).is_kept([1.8, 2.0, 1.0])


def test_the_worst_of_a_rate_is_the_lowest() -> None:
    assert Figure("calls_per_s", "/s", at_least=1).worst([3, 1, 2]) == 1
    assert Figure("late_ms", "ms").worst([3, 1, 2]) == 3


def test_ours_stands_before_the_peers() -> None:
    run = {f"{measure}.{who}": 7.0 for who in ("BullMQ (a)", "WangTimer") for measure in MEASURES}
    rows = lines_with("| 7 |", Results({}, {"peers": result_of("peers", run)}))
    assert [row.split(" | ")[0] for row in rows] == ["| WangTimer", "| BullMQ (a)"]


def test_a_promise_that_every_run_kept_has_no_line() -> None:
    assert lines_with("| lost", Results({}, {"steady": result_of("steady", steady_run(1))})) == []


def test_a_partial_run_renews_its_own_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results({"memory": "4 GiB"}, {"steady": result_of("steady", steady_run(2))}).write(path)
    later = Results.read(path)
    later.by_workload["idle"] = result_of("idle", {"store_commands_per_s": 1.0})
    later.write(path)
    held = Results.read(path)
    assert sorted(held.by_workload) == ["idle", "steady"]
    assert held.by_workload["steady"].values("late_p99_ms") == [2]


def test_each_workload_says_when_on_what_and_by_which_code_it_ran(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results({}, {"steady": result_of("steady", steady_run(2))}).write(path)
    (line,) = lines_with("**steady**", Results.read(path))
    assert line.endswith("; 1 run at 2026-11-20 12:00 UTC, commit 84134b08, on 2 cores (Fast)")


def test_what_people_wrote_between_the_marks_stays(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    assert kept_history(page) == "Nothing yet."
    page.write_text(render(Results(), WORKLOADS, "* gc.freeze: p99 from 56 to 8 ms"), encoding="utf-8")
    assert kept_history(page) == "* gc.freeze: p99 from 56 to 8 ms"


def test_the_history_is_one_table_with_a_commit_in_each_row() -> None:
    head, _, *rows = [line.strip("| ").split(" | ") for line in kept_history(PAGE).splitlines()]
    assert head == ["date", "commit", "what", "before → after"]
    assert {len(row) for row in rows} == {4}
    assert all(re.fullmatch(r"(to )?[0-9a-f]{8}|dropped", row[1]) for row in rows)


def test_a_page_without_the_marks_is_not_overwritten(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("# Somebody's own page", encoding="utf-8")
    with pytest.raises(ValueError, match="has no <!-- history -->"):
        kept_history(page)
