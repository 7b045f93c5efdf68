"""`wangtimer up` in a process of its own, as people run it: its processes are forks of it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.stack.commands import Command
from wangtimer.stack.data_directory import known_directory
from wangtimer.stack.embedded import EmbeddedStack
from wangtimer.stack.ports import HOST, free_port
from wangtimer.stack.supervisor import Supervisor

SECONDS = 60
UP = (
    "import sys; from pathlib import Path; from wangtimer.stack.embedded import run_embedded; "
    "sys.exit(run_embedded(Path(sys.argv[1]), int(sys.argv[2])))"
)


def up(folder: Path, port: int, environment: Mapping[str, str] = os.environ) -> Command:
    return Command(folder, "-c", UP, str(folder / "data"), str(port), environment=environment)


@contextmanager
def running_up(folder: Path) -> Iterator[EmbeddedStack]:
    """Run it in `folder`; the supervisor of what is returned has no children, for they are the command's."""
    port = free_port()
    command = up(folder, port)
    try:
        command.await_line("Ctrl-C", SECONDS)
        urls = (f"http://{HOST}:{port}", f"http://{HOST}:{port + 1}")
        yield EmbeddedStack(known_directory(folder / "data"), Supervisor(), *urls)
        command.process.terminate()
        assert command.process.wait(SECONDS) == 0, command.output()
    finally:
        command.end()
