"""An environment of its own for a wheel: of what is installed here it has what the wheel says it needs, and no more."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from email.parser import Parser
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

COMMAND = "#!{python}\nimport sys\nfrom {module} import {name}\nsys.exit({call}())\n"


@dataclass(frozen=True, slots=True)
class LinkedEnvironment:
    """A virtual environment; what is linked into it is read from where it is installed."""

    folder: Path

    @classmethod
    def of_wheel(cls, folder: Path, wheel: Path) -> "LinkedEnvironment":
        """Make one with the wheel installed, and what it needs linked from here, with the commands of that."""
        venv.create(folder, with_pip=False)
        made = cls(folder)
        install = [sys.executable, "-m", "pip", "--python", str(made.python), "install", "--no-index"]
        # What leads to another environment could pass for the wheel.
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [*install, "--no-deps", str(wheel)]
        subprocess.run(command, check=True, capture_output=True, env=outside, timeout=300)
        for one in needed(requirements_of(wheel)):
            made.link(one)
        return made

    @classmethod
    def by_command(cls, folder: Path, command: str, directory: Path, *needs: str) -> "LinkedEnvironment":
        """Make one by a command with pip, typed in a directory, where what it needs is there already.

        `needs`: of the wheel that is built; no index is asked for anything.
        """
        venv.create(folder, with_pip=False)
        made = cls(folder)
        for one in needed([Requirement(name) for name in ("pip", "hatchling", *needs)]):
            made.link(one)
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # To pip 0 says: no isolation.
        asking_nobody = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
        outside |= {"PATH": f"{made.command('')}:{os.environ['PATH']}"} | asking_nobody
        subprocess.run(["bash", "-c", command], cwd=directory, env=outside, check=True, timeout=300)
        return made

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.command("python")

    def command(self, name: str) -> Path:
        """Return the path of a command."""
        return self.folder / "bin" / name

    def link(self, installed: Distribution) -> None:
        """Link a distribution, and write its commands."""
        (packages,) = self.folder.glob("lib/*/site-packages")
        tops = {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}
        for top in tops:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(installed.locate_file(top))))
        for one in installed.entry_points.select(group="console_scripts"):
            name = one.attr.partition(".")[0]
            text = COMMAND.format(python=self.python, module=one.module, name=name, call=one.attr)
            self.command(one.name).write_text(text)
            self.command(one.name).chmod(0o755)


def requirements_of(wheel: Path) -> list[Requirement]:
    """Return what a wheel says it needs, without its extras."""
    with ZipFile(wheel) as files:
        (name,) = [one for one in files.namelist() if one.endswith(".dist-info/METADATA")]
        said = Parser().parsestr(files.read(name).decode()).get_all("Requires-Dist") or []
    return [one for one in map(Requirement, said) if counts(one, set())]


def needed(requirements: list[Requirement]) -> list[Distribution]:
    """Return the distributions, installed here, of these requirements and of all that they need in turn."""
    found: dict[str, Distribution] = {}
    seen, left = set[str](), list(requirements)
    while left:
        one = left.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        installed = found[one.name] = distribution(one.name)
        left += [
            inner for inner in map(Requirement, installed.requires or ()) if counts(inner, set(one.extras))
        ]
    return list(found.values())


def counts(requirement: Requirement, extras: set[str]) -> bool:
    """Say whether a requirement is one here, where these extras are asked for."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": one}) for one in {*extras, ""})
