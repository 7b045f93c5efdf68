"""Commands of ours, run whole and without a terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.patience import wait_for
from tests.stack.processes import living_with


class Command:
    """A command of ours with its output, and a mark by which its descendants are found."""

    def __init__(
        self,
        folder: Path,
        *argv: str,
        program: str = sys.executable,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.out = folder / "out.txt"
        self.mark = f"WANGTIMER_TEST_MARK={folder}"
        with self.out.open("wb") as out:
            self.process = subprocess.Popen(
                [program, *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**environment, "WANGTIMER_TEST_MARK": str(folder), "TMPDIR": str(folder)},
            )

    def output(self) -> str:
        return self.out.read_text()

    def await_line(self, words: str, seconds: float) -> None:
        ended = self.process.poll
        assert wait_for(lambda: words in self.output() or ended() is not None, seconds), self.output()
        assert words in self.output(), self.output()

    def living(self) -> list[int]:
        return living_with(self.mark)

    def end(self) -> None:
        for pid in self.living():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
