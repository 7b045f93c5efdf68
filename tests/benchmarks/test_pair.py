"""Two commits are measured in turns, and compared by the medians of what came of them."""

import subprocess
from pathlib import Path
from typing import cast

import pytest

from benchmarks import checkout, pair
from benchmarks.checkout import Checkout, NoSuchCommit, has_changes
from benchmarks.compared import MEASURES, Compared, Turn, broken, compare
from benchmarks.due import Due
from benchmarks.load import Shot
from benchmarks.stand import Fired
from benchmarks.target import Arrival
from benchmarks.turn import figures

CPU, P99, RATE = MEASURES[:3]


def turn(**changed: float) -> Turn:
    kept = {measure.name: 100.0 for measure in MEASURES} | {"lost": 0.0, "early": 0.0}
    return {"steady": kept | changed}


def test_the_ratio_is_that_of_the_medians() -> None:
    compared = Compared("steady", CPU, [100, 140, 101], [150, 151, 90], 1.02)
    assert compared.ratio == pytest.approx(150 / 101)
    assert compared.turns == pytest.approx([1.5, 151 / 140, 90 / 101])
    assert compared.cells[2:5] == ["101 (100 to 140)", "150 (90 to 151)", "1.49 (0.89 to 1.50)"]


def test_more_cpu_and_fewer_calls_a_second_are_worse_and_the_reverse_is_kept() -> None:
    assert Compared("burst", CPU, [100], [103], 1.02).is_worse
    assert not Compared("burst", CPU, [103], [100], 1.02).is_worse
    assert Compared("burst", RATE, [103], [100], 1.02).is_worse
    assert not Compared("burst", RATE, [100], [103], 1.02).is_worse
    assert not Compared("burst", CPU, [100], [102], 1.02).is_worse


def test_a_millisecond_is_no_difference_of_a_p99() -> None:
    assert not Compared("steady", P99, [0], [1], 1.02).is_worse
    assert Compared("steady", P99, [1], [3], 1.02).is_worse
    assert Compared("steady", P99, [0], [2], 1.02).is_worse


def test_turns_that_disagree_are_said_to_be_too_few() -> None:
    assert Compared("steady", CPU, [100, 100], [80, 101], 1.02).verdict == "kept"
    assert Compared("steady", CPU, [100, 100], [130, 150], 1.02).verdict == "**worse**"
    for head, words in (([101, 102.5], "kept"), ([101, 104], "**worse**")):
        disagreed = Compared("steady", CPU, [100, 100], head, 1.02).verdict
        assert disagreed == f"{words}; turns disagree: more of them needed"


def test_a_lost_or_early_firing_of_either_commit_is_told() -> None:
    assert broken("base", [turn(), turn()]) == []
    assert broken("base", [turn(), turn(lost=2)]) == ["base: steady: 2 firings lost"]
    assert broken("HEAD", [turn(early=1)]) == ["HEAD: steady: 1 firings early"]


def test_each_figure_that_a_row_has_is_compared() -> None:
    of_base, of_head = turn(), turn(cpu_us_per_firing=90.0)
    del of_base["steady"]["calls_per_s"]
    compared = compare([of_base], [of_head], 1.02)
    assert [one.measure for one in compared] == [CPU, P99, *MEASURES[3:]]
    assert compared[0].ratio == 0.9


class Recorded:
    """Notes when a commit has its turn."""

    def __init__(self, asked: str, taken: list[str], **changed: float) -> None:
        self.asked, self.title = asked, f"{asked}, 2026-11-29: Some change"
        self._taken, self._turn = taken, turn(**changed)

    def take_turn(self, rows: list[str], scale: float) -> Turn:
        self._taken.append(self.asked)
        return self._turn


@pytest.mark.parametrize(("cpu_us", "code"), [(101.0, 0), (130.0, 1)])
def test_the_commits_take_turns_and_one_that_is_worse_fails(
    cpu_us: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[str] = []
    base = cast(Checkout, Recorded("A", taken))
    head = cast(Checkout, Recorded("B", taken, cpu_us_per_firing=cpu_us))
    asked = pair.read_command_line(["A", "--rows", "steady"])
    turns = pair.take_turns(base, head, asked)
    assert taken == ["A", "B"] * 3
    assert pair.report(base, head, *turns, asked) == code
    printed = capsys.readouterr().out
    assert "| steady | our CPU a firing, µs | 100 (100 to 100) |" in printed
    assert ("worse: steady: our CPU a firing, µs: 1.30 (1.30 to 1.30)" in printed) == bool(code)


def test_a_load_is_judged_by_what_came_first_and_without_the_servers_cpu() -> None:
    shots = [Shot(Due(number, 1_000), "http://target/") for number in range(3)]
    arrivals = [
        Arrival(1_000, 0, 1_004),
        Arrival(1_000, 0, 1_900),
        Arrival(1_000, 1, 999),
        Arrival(1_000, 9, 1),
    ]
    fired = Fired(shots, arrivals, {"callback": 3e-6, "trigger": 3e-6, "mariadb": 9.0}, 0.0, 0.0, 0)
    assert figures(fired, is_drain=True) == {
        "cpu_us_per_firing": pytest.approx(2),
        "late_p99_ms": 4,
        "lost": 1,
        "early": 1,
        "calls_per_s": 500,
    }


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of one commit, without benchmarks."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    (tmp_path / "file").write_text("as committed")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "file"], [*author, "commit", "-q", "-m", "All there is"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.usefixtures("repository")
def test_a_base_that_cannot_be_measured_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoSuchCommit, match="no commit '84134b09' in this repository: `git log"):
        Checkout.of("84134b09")
    with pytest.raises(NoSuchCommit, match=r"'HEAD' has no benchmarks/stand.py .*: name a later one"):
        Checkout.of("HEAD")


def test_changes_that_are_not_committed_are_seen(repository: Path) -> None:
    assert not has_changes()
    (repository / "file").write_text("changed")
    assert has_changes()
    assert not has_changes("wangtimer")


@pytest.mark.parametrize(
    "words", [[], ["A", "--rows", "nothing"], ["A", "--turns", "0"], ["A", "--most", "0.9"]]
)
def test_a_wrong_command_line_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        pair.read_command_line(words)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err
