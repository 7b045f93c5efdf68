"""What the service promises, and a patch that breaks each promise: the `.patch` files of this folder.

A patch starts with a header of three fields; a line that is indented goes on with the one before. Behind it comes
a unified diff against `wangtimer/`, as `git diff` writes it:

    Promise: the section of docs/promises.md (see sections.py), a colon, and what the service promises
    Breaks: what the patch does to it
    Red: the pytest node id of a test that must fail then; once for each such test

After a change of a header: `python -m tests.broken.page > docs/promises.md`.

When code and patch have grown apart, `tests/broken/test_patches.py` says so: break the promise in the code as it is
now, put what `git diff` says behind the header, and take the change back.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FIELDS = ("Promise", "Breaks", "Red")


class BadHeader(Exception):
    """A patch does not say which promise it breaks, how, or which test shows it."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise: its words, the patch that breaks it, and the tests that must see it broken."""

    words: str
    patch: Path
    breaks: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """The promise in a few words: the name of its patch."""
        return self.patch.stem


def promises(name_part: str = "") -> list[Promise]:
    """Return the promises with this in their name; raises `BadHeader`."""
    return [read(patch) for patch in sorted(FOLDER.glob("*.patch")) if name_part in patch.stem]


def read(patch: Path) -> Promise:
    """Return the promise a patch breaks; raises `BadHeader`."""
    values: dict[str, list[str]] = {field: [] for field in FIELDS}
    for line in _header_of(patch):
        field, colon, value = line.partition(":")
        if not colon or field not in values or not value.strip():
            raise BadHeader(f"{patch.name}: {line!r} is none of {', '.join(FIELDS)}")
        values[field].append(value.strip())
    if not (len(values["Promise"]) == len(values["Breaks"]) == 1 and values["Red"]):
        raise BadHeader(f"{patch.name}: needs one Promise, one Breaks and at least one Red")
    return Promise(values["Promise"][0], patch, values["Breaks"][0], tuple(values["Red"]))


def _header_of(patch: Path) -> Sequence[str]:
    """Return the lines before the diff, each with those that go on with it."""
    head = patch.read_text().partition("\n--- ")[0]
    return [line for line in re.sub(r"\n[ \t]+", " ", head).splitlines() if line.strip()]
