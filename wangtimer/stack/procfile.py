"""The commands of the Procfile, the one place that defines how each process is started."""

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from wangtimer.core.errors import BadSetting

_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+):\s*(?P<command>\S.*)")

# Programs that are Python modules of the same name.
_MODULES = ("celery", "gunicorn")


@dataclass(frozen=True, slots=True)
class Command:
    """How one kind of process is started."""

    name: str
    argv: tuple[str, ...]

    @property
    def module(self) -> str | None:
        """The Python module that it runs; None: another program."""
        if self.argv[:2] == ("python", "-m"):
            return self.argv[2]
        return self.argv[0] if self.argv[0] in _MODULES else None

    def numbered(self, number: int) -> "Command":
        """Return the command of another process of this kind; its Celery node gets its own name."""
        name = f"{self.name}{number}"
        argv = tuple(re.sub(f"^{self.name}@", f"{name}@", word) for word in self.argv)
        return replace(self, name=name, argv=argv)


def procfile_path() -> Path:
    """Return the Procfile beside this module: a link to the repository's, or a copy once installed."""
    return Path(__file__).with_name("Procfile")


def read_commands(path: Path | None = None) -> dict[str, Command]:
    """Read the commands by name, in the file's order. Raises `BadSetting` naming the line that cannot be read."""
    path = path or procfile_path()
    numbered_lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    commands = [
        _read_line(path, number, line)
        for number, line in numbered_lines
        if line.strip() and not line.startswith("#")
    ]
    return {command.name: command for command in commands}


def _read_line(path: Path, number: int, line: str) -> Command:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise BadSetting(f"{path}, line {number}: {line!r} is no process; write name: command")
    return Command(found["name"], tuple(shlex.split(found["command"])))
