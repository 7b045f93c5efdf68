"""A copy of the repository, to be broken."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


class DoesNotApply(Exception):
    """A patch and the code have grown apart; write the patch anew."""


def copy_to(directory: Path) -> Path:
    """Copy every file that git tracks or would track, as it stands now; return the copy's root."""
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (source := ROOT / name).is_file():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return directory


def apply(patch: Path, tree: Path, *options: str) -> None:
    """Apply a patch to a tree; raises `DoesNotApply`.

    By git, which is there wherever this repository was cloned; `patch` is not on a bare Debian.
    """
    # Else git, inside a repository further up, takes the paths for those of other files and applies nothing.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
    command = ("git", "apply", "--whitespace=nowarn", *options, str(patch))
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise DoesNotApply(f"{patch.name}: {done.stderr.strip()}")
