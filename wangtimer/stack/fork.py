"""A child that is a fork of this process: what this process has imported is in memory once, and is not read again.

The process that forks has one thread and no open connection. The child shares no file with it but the log.
"""

import atexit
import contextlib
import gc
import io
import os
import runpy
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import NoReturn

_HELD_BACK = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Fork:
    """A forked process, used as a `subprocess.Popen` is."""

    pid: int
    returncode: int | None = field(default=None, init=False)

    def terminate(self) -> None:
        """Send SIGTERM. Nobody has waited for the process yet."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        """Wait for its end and return its exit code (negative: the signal)."""
        if self.returncode is None:
            _, status = os.waitpid(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def import_once(modules: Iterable[str]) -> None:
    """Import what forks will share."""
    # Else each start would take some seconds more.
    sys.dont_write_bytecode = False
    # Collections free memory in between, which forks would write into. And they take a tenth of the time.
    gc.disable()
    for module in modules:
        import_module(module)
    # Else the first full collection of a fork would write into each page that it shares.
    gc.freeze()
    gc.enable()


def fork(log: int, run: Callable[[], object]) -> Fork:
    """Call `run` in a fork, the first process of a session, whose output is the open file `log`.

    It ends as a program does of which `run` is all: with the same exit code, and threads that are no daemons end first.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with _signals_held_back():
        pid = os.fork()
        if pid == 0:
            _live(log, run)
    return Fork(pid)


def run_module(module: str, argv: tuple[str, ...]) -> None:
    """Be the program of these words, which is a module."""
    # The whole path: at SIGHUP Celery starts its program anew by it, once it has ended.
    sys.argv[:] = [shutil.which(argv[0]) or argv[0], *argv[1:]]
    runpy.run_module(module, run_name="__main__")


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let no signal reach the child while it has the handlers of its parent."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)


def _live(log: int, run: Callable[[], object]) -> NoReturn:
    """Be the child to its end; never return into what the parent does next."""
    code = 1
    try:
        os.setsid()
        _open_streams(log)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)
        # What the parent has registered is for its own end.
        atexit._clear()
        code = _exit_code(run)
        # As at the end of an interpreter.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    finally:
        os._exit(code)


def _open_streams(log: int) -> None:
    """Read from nowhere, write into the log, and keep no other file of the parent's open."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # Not all numbers up to the limit: in containers that may be a billion.
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2:
            with contextlib.suppress(OSError):  # the one that lists them is closed by now
                os.close(descriptor)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = io.TextIOWrapper(
            io.FileIO(number, "w"), encoding="utf-8", errors="backslashreplace", write_through=True
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _exit_code(run: Callable[[], object]) -> int:
    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
