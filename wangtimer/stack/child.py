"""One child process: a group of its own, ended by the kernel when its parent dies, its output in a file.

The kernel's promise (PR_SET_PDEATHSIG) is tied to the *thread* that forked, so children are launched from
the main thread. It does not cover processes that a child forks: they end with the group when the parent buries the
child. A gunicorn worker ends by itself within a second or two of its master.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wangtimer.stack.fork import Fork, fork, run_module

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
# Looked up before any fork: loading a library between fork and exec is not safe.
_LIBC = ctypes.CDLL(None)

LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run, in which environment, and where its output goes."""

    name: str
    argv: tuple[str, ...]
    log: Path
    working_directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    # File that the child touches once it does its work; None: it counts as ready as soon as it runs.
    ready_file: Path | None = None
    # File descriptors the child keeps open.
    kept_open: tuple[int, ...] = ()
    # The module that `argv` runs, if the child is to be a fork of this process; None: the program is run.
    forked_module: str | None = None


@dataclass(frozen=True, slots=True)
class Child:
    """A running or ended process that has not been buried yet."""

    spec: ChildSpec
    process: "subprocess.Popen[bytes] | Fork"

    @property
    def pid(self) -> int:
        """The process id, and the id of its group."""
        return self.process.pid

    def has_ended(self) -> bool:
        """Say whether the process has ended. It is not reaped, so that its group's id stays taken."""
        if self.process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def is_ready(self) -> bool:
        """Say whether it runs and has announced itself."""
        return not self.has_ended() and (self.spec.ready_file is None or self.spec.ready_file.exists())

    def ask_to_end(self) -> None:
        """Send SIGTERM to the process itself, which ends the processes it forked."""
        if not self.has_ended():
            self.process.terminate()

    def bury(self) -> int:
        """Kill the rest of its group and return its exit code (negative: the signal)."""
        if self.process.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
        return self.process.wait()

    def last_words(self) -> str:
        """Return the last lines of its output."""
        lines = self.spec.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LAST_LINES:])


def launch(spec: ChildSpec) -> Child:
    """Start the process, its output appended to the log; from the main thread (see above). Raises `OSError`."""
    spec.log.parent.mkdir(parents=True, exist_ok=True)
    if spec.ready_file is not None:
        spec.ready_file.parent.mkdir(parents=True, exist_ok=True)
        spec.ready_file.unlink(missing_ok=True)
    with spec.log.open("ab") as log:
        if spec.forked_module is None:
            return Child(spec, _run(spec, log.fileno()))
        return Child(spec, fork(log.fileno(), partial(_be, spec, spec.forked_module, os.getpid())))


def _run(spec: ChildSpec, log: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        spec.argv,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=spec.working_directory,
        env=dict(spec.environment),
        pass_fds=spec.kept_open,
        start_new_session=True,  # Ctrl-C in a terminal reaches the supervisor alone, which ends in order
        preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 -- one system call; no allocation, no lock
    )


def _be(spec: ChildSpec, module: str, parent: int) -> None:
    dying_with(parent)()
    # `ps -o comm`, `top` and `pgrep` show it; the kernel keeps 15 bytes.
    _LIBC.prctl(_PR_SET_NAME, spec.name.encode(), 0, 0, 0)
    os.chdir(spec.working_directory)
    os.environ.clear()
    os.environ.update(spec.environment)
    run_module(module, spec.argv)


def dying_with(parent: int) -> Callable[[], None]:
    """Return the `preexec_fn` that asks the kernel for SIGKILL when `parent` dies."""

    def ask_the_kernel() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return ask_the_kernel


def inherited_environment() -> dict[str, str]:
    """Return this process's environment for children, with byte code cached: else each start takes a second more."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    )
    environment["PYTHONUNBUFFERED"] = "1"
    return environment
