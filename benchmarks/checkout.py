"""A commit in a worktree and with an environment of its own, under `build/pair`; both are used again."""

import json
import os
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


@dataclass(frozen=True, slots=True)
class Checkout:
    """A commit, by its full name, with what it was called on the command line."""

    asked: str
    commit: str

    @classmethod
    def of(cls, asked: str) -> "Checkout":
        """Find the commit; raises `NoSuchCommit`."""
        found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{asked}^{{commit}}")
        if found.returncode:
            raise NoSuchCommit(
                f"no commit {asked!r} in this repository: `git log --oneline` lists those there are"
            )
        commit = found.stdout.strip()
        if _git("cat-file", "-e", f"{commit}:{NEEDED}").returncode:
            raise NoSuchCommit(f"commit {asked!r} has no {NEEDED} to be measured by: name a later one")
        return cls(asked, commit)

    @property
    def title(self) -> str:
        """Its short name, its day and its first line."""
        return _git("show", "--no-patch", "--format=%h, %cs: %s", self.commit).stdout.strip()

    @property
    def _place(self) -> Path:
        return PLACE / self.commit[:12]

    @property
    def _python(self) -> Path:
        return self._place / ".venv" / "bin" / "python"

    def prepare(self) -> None:
        """Make the worktree and the environment where they are not there yet."""
        if not self._place.exists():
            # Forced, as `make clean` removes worktrees that git still has on its list.
            added = _git("worktree", "add", "--force", "--detach", str(self._place), self.commit)
            if added.returncode:
                raise SystemExit(f"no worktree for {self.asked}: {added.stderr.strip()}")
        installed = self._place / ".venv" / ".installed"
        if not installed.exists():
            print(f"installing {self.asked} into {self._python.parents[1].relative_to(ROOT)} ...", flush=True)
            subprocess.run([sys.executable, "-m", "venv", self._place / ".venv"], check=True)
            pip = [self._python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "-e", f"{self._place}[mysql,dev]"], check=True)
            installed.touch()

    def take_turn(self, rows: list[str], scale: float) -> Turn:
        """Measure the rows on a new deployment, which has ended on return, also on Ctrl-C."""
        turn = subprocess.Popen(
            # -P: of the other `benchmarks`, beside turn.py, nothing is imported.
            [self._python, "-P", TURN, str(scale), *rows],
            cwd=self._place,
            env=os.environ | {"PYTHONPATH": str(self._place)},
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
            raise SystemExit(f"{self.asked} could not be measured: see above")
        measured: Turn = json.loads(printed.splitlines()[-1])
        return measured


def has_changes(*paths: str) -> bool:
    """Tell whether these files of the working tree, or any, differ from its commit."""
    return bool(_git("status", "--porcelain", "--untracked-files=no", "--", *paths).stdout)


def code_here() -> str:
    """Return the latest commit that changed what runs, in its short form, and whether there are changes to it."""
    commit = _git("log", "-1", "--format=%h", "--abbrev=8", "--", *RUNS).stdout.strip() or "unknown"
    return f"{commit} with changes" if has_changes(*RUNS) else commit


def _git(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
