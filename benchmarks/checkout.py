"""A commit in a worktree and with an environment of its own, under `build/pair`; both are used again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compared import Turn
from wangtimer.stack.child import dying_with

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "pair"
TURN = Path(__file__).with_name("turn.py")
# What a deployment runs.
RUNS = ("wangtimer", "Procfile", "celeryconfig.py", "schema.sql", "requirements.lock")
# What turn.py needs of a commit.
NEEDED = "benchmarks/stand.py"
ENDS_WITHIN_S = 60


class NoSuchCommit(Exception):
    """There is nothing to measure by that name; the message says what to do."""


class NotMeasured(Exception):
    """A turn of a commit ended without its figures; why was printed."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A commit, by its full name, with what it was called on the command line."""

    called: str
    commit: str

    @classmethod
    def of(cls, called: str) -> "Checkout":
        """Find the commit; raises `NoSuchCommit`."""
        found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{called}^{{commit}}")
        if found.returncode:
            raise NoSuchCommit(
                f"no commit {called!r} in this repository: `git log --oneline` lists those there are"
            )
        commit = found.stdout.strip()
        if _git("cat-file", "-e", f"{commit}:{NEEDED}").returncode:
            raise NoSuchCommit(f"commit {called!r} has no {NEEDED} to be measured by: name a later one")
        return cls(called, commit)

    @property
    def title(self) -> str:
        """Its short name, its day and its first line."""
        return _git("show", "--no-patch", "--format=%h, %cs: %s", self.commit).stdout.strip()

    @property
    def _place(self) -> Path:
        return PLACE / self.commit[:12]

    def prepare(self) -> None:
        """Make the worktree and the environment, unless an earlier call made both and nobody changed a file since."""
        installed = self._place / ".venv" / ".installed"
        if installed.exists() and self._is_as_committed():
            return
        shutil.rmtree(self._place, ignore_errors=True)
        # Forced, as `make clean` removes worktrees that git still has on its list; twice, as git keeps one locked
        # whose making was killed.
        added = _git("worktree", "add", "--force", "--force", "--detach", str(self._place), self.commit)
        if added.returncode:
            raise SystemExit(f"no worktree for {self.called}: {added.stderr.strip()}")
        into = self._place.relative_to(ROOT)
        print(f"installing {self.called} into {into} ...", flush=True)
        try:
            install(self._place)
        except subprocess.CalledProcessError:
            raise SystemExit(
                f"{self.called} could not be installed into {into}: see above; the next `make pair` tries again"
            ) from None
        installed.touch()

    def _is_as_committed(self) -> bool:
        """Tell whether the worktree has this commit, and no change of a file."""
        head = _git("-C", str(self._place), "rev-parse", "HEAD")
        changes = _git("-C", str(self._place), "status", "--porcelain", "--untracked-files=no")
        return head.stdout.strip() == self.commit and not changes.returncode and not changes.stdout

    def take_turn(self, rows: list[str], scale: float) -> Turn:
        """Measure the rows on a new deployment, which has ended on return, also on Ctrl-C; or raise `NotMeasured`."""
        turn = subprocess.Popen(
            # -P: of the other `benchmarks`, beside turn.py, nothing is imported.
            [self._place / ".venv" / "bin" / "python", "-P", TURN, str(scale), *rows],
            cwd=self._place,
            # No setting or secret of this shell's is for the code of another commit.
            env={name: value for name, value in os.environ.items() if not name.startswith("WANGTIMER_")}
            | {"PYTHONPATH": str(self._place)},
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C reaches it once, from here, so that nothing interrupts its clearing up.
            start_new_session=True,
            preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 -- one system call
        )
        try:
            printed, _ = turn.communicate()
        except BaseException:
            turn.send_signal(signal.SIGTERM)
            turn.wait(ENDS_WITHIN_S)
            raise
        if turn.returncode:
            raise NotMeasured(f"{self.called} could not be measured: see above")
        measured: Turn = json.loads(printed.splitlines()[-1])
        return measured


def install(place: Path) -> None:
    """Make the environment of a worktree; raises `CalledProcessError`."""
    environment = place / ".venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", f"{place}[mysql,dev]"], check=True)


def has_changes(*paths: str) -> bool:
    """Tell whether these files of the working tree, or any, differ from its commit."""
    return bool(_git("status", "--porcelain", "--untracked-files=no", "--", *paths).stdout)


def code_here() -> str:
    """Return the latest commit that changed what runs, in its short form, and whether there are changes to it."""
    commit = _git("log", "-1", "--format=%h", "--abbrev=8", "--", *RUNS).stdout.strip() or "unknown"
    return f"{commit} with changes" if has_changes(*RUNS) else commit


def _git(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
