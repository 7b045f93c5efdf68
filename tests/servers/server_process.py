"""A server program as a child process that ends with the test run, however that ends."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.patience import Deadline
from wangtimer.stack.child import dying_with

START_SECONDS = 30.0
STOP_SECONDS = 10.0

# Debian keeps servers where an ordinary user's PATH does not look.
_PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])


class ServerMissingError(Exception):
    """A server program that tests need is not installed."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(f"{program} is not installed: apt-get install {package} (make install-dev does it)")


def find_program(name: str, package: str) -> str:
    """Return the program's path; raises `ServerMissingError` naming Debian's package."""
    found = shutil.which(name, path=_PLACES)
    if found is None:
        raise ServerMissingError(name, package)
    return found


class ServerProcess:
    """One server process that can be frozen, killed and started again on its port and data."""

    def __init__(self, argv: Sequence[str], directory: Path, answers: Callable[[], bool]) -> None:
        self._argv = list(argv)
        self._answers = answers
        self.log = directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=dying_with(os.getpid()),
            )
        deadline = Deadline(START_SECONDS)
        while not self._answers():
            if self._process.poll() is not None or deadline.is_over:
                raise AssertionError(f"{self._argv[0]} did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def freeze(self) -> None:
        """Let it hang, every thread of it when this is back: connections stay open, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = Deadline(STOP_SECONDS)
        while not has_stopped(self.pid):
            assert not deadline.is_over, f"{self._argv[0]} did not stop"
            time.sleep(0.001)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self.thaw()
        self._process.send_signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def has_stopped(pid: int) -> bool:
    """Tell whether every thread of the process has stopped."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return all((thread / "stat").read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)
