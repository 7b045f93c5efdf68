"""Two commits are measured in turns, and compared by the medians of what came of them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks import checkout, pair
from benchmarks.checkout import Checkout, NoSuchCommit, NotMeasured, has_changes
from benchmarks.compared import MEASURES, PROMISED, Compared, Turn, compare, promise_breaches
from benchmarks.due import Due
from benchmarks.load import Shot
from benchmarks.stand import Fired, MadeTooLate
from benchmarks.target import Arrival
from benchmarks.turn import ROWS, Counted, CountingStand, figures, fire

ROOT = Path(__file__).parents[2]
CPU, P99, RATE = MEASURES[:3]


def turn(**changed: float) -> Turn:
    kept = {measure.name: 100.0 for measure in MEASURES} | dict.fromkeys(PROMISED, 0.0)
    return {"steady": kept | changed}


def test_the_ratio_is_that_of_the_medians() -> None:
    compared = Compared("steady", CPU, [100, 140, 101], [150, 151, 90], 1.02)
    assert compared.ratio == pytest.approx(150 / 101)
    assert compared.ratios_of_turns == pytest.approx([1.5, 151 / 140, 90 / 101])
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
    base = [100, 100, 100, 100]
    assert Compared("steady", CPU, base, [80, 81, 101, 101], 1.02).verdict == "kept"
    assert Compared("steady", CPU, base, [130, 131, 150, 151], 1.02).verdict == "**worse**"
    for head, words in (([101, 101, 102.5, 102.5], "kept"), ([101, 101, 104, 104], "**worse**")):
        disagreed = Compared("steady", CPU, base, head, 1.02).verdict
        assert disagreed == f"{words}; turns disagree: more of them needed"


def test_a_lost_or_early_firing_of_either_commit_is_told() -> None:
    assert promise_breaches("base", [turn(), turn()]) == []
    assert promise_breaches("base", [turn(), turn(lost=2)]) == ["base: steady: 2 firings lost"]
    assert promise_breaches("HEAD", [turn(early=1)]) == ["HEAD: steady: 1 firings early"]
    assert promise_breaches("HEAD", [turn(not_succeeded=1)]) == ["HEAD: steady: 1 firings not succeeded"]
    assert promise_breaches("HEAD", [turn(called_again=1)]) == ["HEAD: steady: 1 firings called again"]


def test_each_figure_that_a_row_has_is_compared() -> None:
    of_base, of_head = turn(), turn(cpu_us_per_firing=90.0)
    del of_base["steady"]["calls_per_s"], of_head["steady"]["calls_per_s"]
    compared = compare([of_base], [of_head], 1.02)
    assert [one.measure for one in compared] == [CPU, P99, *MEASURES[3:]]
    assert compared[0].ratio == 0.9


class Recorded:
    """Notes when a commit has its turn."""

    def __init__(self, called: str, taken: list[str], **changed: float) -> None:
        self.called, self.title = called, f"{called}, 2026-11-29: Some change"
        self._taken, self._turn = taken, turn(**changed)

    def take_turn(self, rows: list[str], scale: float) -> Turn:
        self._taken.append(self.called)
        return self._turn


@pytest.mark.parametrize(("cpu_us", "code"), [(101.0, 0), (130.0, 1)])
def test_the_commits_take_turns_and_one_that_is_worse_fails(
    cpu_us: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[str] = []
    base = cast(Checkout, Recorded("A", taken))
    head = cast(Checkout, Recorded("B", taken, cpu_us_per_firing=cpu_us))
    options = pair.read_command_line(["A", "--rows", "steady"])
    turns = pair.take_turns(base, head, options)
    assert taken == ["A", "B", "B", "A"] * 2
    assert pair.report(base, head, *turns, options) == code
    printed = capsys.readouterr().out
    assert "| steady | our CPU a firing, µs | 100 (100 to 100) |" in printed
    assert ("worse: steady: our CPU a firing, µs: 1.30 (1.30 to 1.30)" in printed) == bool(code)


@pytest.mark.parametrize("turns", [[], ["--turns", "2"]])
def test_a_commit_is_as_good_as_itself_though_the_second_of_a_turn_uses_more(turns: list[str]) -> None:
    taken: list[str] = []

    class Second(Recorded):
        def take_turn(self, rows: list[str], scale: float) -> Turn:
            self._turn = turn(cpu_us_per_firing=109.0 if len(taken) % 2 else 100.0)
            return super().take_turn(rows, scale)

    base, head = (cast(Checkout, Second(who, taken)) for who in "AA")
    options = pair.read_command_line(["A", "--rows", "steady", *turns])
    of_base, of_head = pair.take_turns(base, head, options)
    assert compare(of_base, of_head, options.most)[0].verdict == "kept"
    assert pair.report(base, head, of_base, of_head, options) == 0


@pytest.mark.parametrize("measured", [0, 3, 5])
def test_of_a_pair_that_ends_early_the_turns_taken_are_shown_and_prove_nothing(
    measured: int, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[str] = []

    class Failing(Recorded):
        def take_turn(self, rows: list[str], scale: float) -> Turn:
            if len(taken) == measured:
                raise NotMeasured(f"{self.called} could not be measured: see above")
            return super().take_turn(rows, scale)

    base, head = (cast(Checkout, Failing(who, taken)) for who in "AB")
    options = pair.read_command_line(["A", "--rows", "steady"])
    assert pair.report(base, head, *pair.take_turns(base, head, options), options) == 2
    printed = capsys.readouterr().out
    assert "could not be measured: see above" in printed
    assert f"only {measured // 2} of 4 turns were taken" in printed
    assert ("| steady | our CPU a firing, µs | 100 (100 to 100) |" in printed) == bool(measured)


class LateStand:
    """Makes each load too late, so many times; notes what it did."""

    target = SimpleNamespace(url="http://target/")
    readings = (Counted(0, 0, 0), Counted(3, 6, 9))

    def __init__(self, times_late: int) -> None:
        self._left, self.done = times_late, list[str]()

    def start_for(self, number: int) -> int:
        return 1_000

    def outlast(self, shots: Sequence[Shot]) -> None:
        self.done.append(f"outlasts {len(shots)}")

    def fire(self, shots: Sequence[Shot]) -> Fired:
        self.done.append(f"fires {len(shots)}")
        self._left -= 1
        if self._left >= 0:
            raise MadeTooLate(f"making {len(shots)} timers took too long")
        arrivals = [Arrival(1_000, shot.due.id, 1_004) for shot in shots]
        return Fired(shots, arrivals, {"callback": 1.0}, 0.0, 0.0, 0)


def test_a_load_that_was_made_too_late_is_made_once_more_when_it_has_passed() -> None:
    stand = LateStand(1)
    assert fire(cast(CountingStand, stand), "ticking", 0.1)["lost"] == 0
    assert stand.done == ["fires 1000", "outlasts 1000", "fires 1000"]
    with pytest.raises(MadeTooLate):
        fire(cast(CountingStand, LateStand(2)), "ticking", 0.1)


def fired_of_three(*arrivals: Arrival, not_succeeded: int = 0) -> Fired:
    shots = [Shot(Due(number, 1_000), "http://target/") for number in range(3)]
    cpu_s = {"callback": 3e-6, "trigger": 3e-6, "mariadb": 9.0}
    return Fired(shots, arrivals, cpu_s, 0.0, 0.0, not_succeeded)


def test_a_load_is_judged_by_what_came_first_and_without_the_servers_cpu() -> None:
    fired = fired_of_three(
        Arrival(1_000, 0, 1_004),
        Arrival(1_000, 0, 1_900),
        Arrival(1_000, 1, 999),
        Arrival(1_000, 9, 1),
        not_succeeded=1,
    )
    assert figures(fired, is_drain=True) == {
        "cpu_us_per_firing": pytest.approx(2),
        "late_p99_ms": 4,
        "lost": 1,
        "early": 1,
        "not_succeeded": 1,
        "called_again": 1,
        "calls_per_s": 500,
    }


@pytest.mark.parametrize("number", [0, 1])
def test_a_turn_that_lost_everything_is_told_and_not_kept(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    of_head = [turn(), turn()]
    of_head[number]["steady"] |= figures(fired_of_three(), is_drain=True)
    base, head = (cast(Checkout, Recorded(who, [])) for who in "AB")
    options = pair.read_command_line(["A", "--rows", "steady", "--turns", "2"])
    assert pair.report(base, head, [turn(), turn()], of_head, options) == 1
    printed = capsys.readouterr().out
    assert "B: steady: 3 firings lost" in printed
    assert "| steady | late p99, ms | 100 (100 to 100) | - | - | **not measured** |" in printed
    assert "\nnot measured: steady: late p99, ms" in printed
    assert (
        "| steady | calls/s | 100 (100 to 100) | 50 (0 to 100) | 0.50 (0.00 to 1.00) | **worse**" in printed
    )


def test_a_figure_that_a_turn_does_not_have_is_not_measured() -> None:
    lacking = turn()
    del lacking["steady"]["calls_per_s"]
    (rate,) = (one for one in compare([turn(), turn()], [turn(), lacking], 1.02) if one.measure == RATE)
    assert rate.verdict == "**not measured**"
    assert Compared("steady", P99, [0], [float("nan")], 1.02).verdict == "**not measured**"


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
    with pytest.raises(NoSuchCommit, match="no commit '--help' in this repository: `git log"):
        Checkout.of("--help")
    with pytest.raises(NoSuchCommit, match=r"'HEAD' has no benchmarks/stand.py .*: name a later one"):
        Checkout.of("HEAD")


def test_an_install_that_failed_is_begun_anew(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[str]] = []

    def fail_first(place: Path) -> None:
        found.append(sorted(path.name for path in place.iterdir()))
        (place / ".venv").mkdir()
        if len(found) == 1:
            (place / "file").unlink()
            raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(checkout, "PLACE", repository / "build")
    monkeypatch.setattr(checkout, "install", fail_first)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    )
    head = Checkout("HEAD", commit.stdout.strip())
    with pytest.raises(SystemExit, match=r"HEAD could not be installed into build/.*: see above; the next"):
        head.prepare()
    # So git leaves a worktree whose making was killed.
    subprocess.run(
        ["git", "worktree", "lock", next((repository / "build").iterdir())], cwd=repository, check=True
    )
    head.prepare()
    head.prepare()
    assert found == [[".git", "file"]] * 2


def test_changes_that_are_not_committed_are_seen(repository: Path) -> None:
    assert not has_changes()
    (repository / "file").write_text("changed")
    assert has_changes()
    assert not has_changes("wangtimer")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: base"),
        (["A", "--rows", "nothing"], "no such row: nothing; there are steady, "),
        (["A", "--rows", " "], "--rows names no row; there are steady, "),
        (["A", "--turns", "0"], "--turns 0: take an even number"),
        (["A", "--turns", "3"], "--turns 3: take an even number"),
        (["A", "--most", "0.9"], "--most 0.9: take a ratio of 1 or more, such as 1.02 for 2 %"),
        # Nothing is more than these, so every figure would be kept.
        (["A", "--most", "nan"], "--most nan: take a ratio"),
        (["A", "--most", "inf"], "--most inf: take a ratio"),
        # Without a full second no timer is due at one.
        (["A", "--scale", "0.09"], "--scale 0.09: take a share of 0.1 or more"),
        (["A", "--scale", "nan"], "--scale nan: take a share"),
    ],
)
def test_a_wrong_command_line_is_refused_with_what_to_do(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        pair.read_command_line(words)
    assert ended.value.code == 2
    assert f"error: {message}" in capsys.readouterr().err


def test_each_row_has_timers_at_the_smallest_scale() -> None:
    assert all(moments(0, pair.SMALLEST_SCALE) for moments in ROWS.values())


def test_make_hands_over_each_option_as_it_was_written(tmp_path: Path) -> None:
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    told = ["BASE=--help", "HEAD=y;echo z", "ROWS=steady burst", "TURNS=2", "MOST=1.1", "SCALE=0.5"]
    # Nothing is installed for it: the stub is all that it runs.
    argv = ["make", "--silent", "--old-file=.venv/.installed-dev", "pair", f"BIN={tmp_path}", *told]
    printed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = printed.splitlines()
    options = vars(pair.read_command_line(words[words.index("benchmarks.pair") + 1 :]))
    assert list(options.values()) == ["--help", "y;echo z", ["steady", "burst"], 2, 1.1, 0.5]
