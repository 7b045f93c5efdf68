"""What the service promises, and mutations that break each promise: the modules of `tests/broken/mutations`.

Each has the promises of one section of docs/promises.md, or of a part of it.
"""

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

from tests.broken import mutations
from tests.broken.mutation import Mutation


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, what breaks it, and what must see it broken.

    name: the promise in a few words, for `make broken PROMISE=`.
    words: what the service promises.
    breaks: what `by` does to it.
    red: the pytest node id of a test that must fail then, or of several.
    """

    name: str
    words: str
    breaks: str
    by: Mutation | tuple[Mutation, ...]
    red: str | tuple[str, ...]

    @property
    def mutations(self) -> tuple[Mutation, ...]:
        """All that is written into the code to break it."""
        return self.by if isinstance(self.by, tuple) else (self.by,)

    @property
    def tests(self) -> tuple[str, ...]:
        """Each test that must fail then."""
        return self.red if isinstance(self.red, tuple) else (self.red,)


def by_section() -> dict[str, list[Promise]]:
    """Return the promises of each section of sections.py, by name."""
    found: dict[str, list[Promise]] = {}
    for info in iter_modules(mutations.__path__, f"{mutations.__name__}."):
        module = import_module(info.name)
        found.setdefault(module.SECTION, []).extend(module.PROMISES)
    return {section: sorted(some, key=lambda one: one.name) for section, some in found.items()}


def promises(name_part: str = "") -> list[Promise]:
    """Return the promises with this in their name."""
    return [one for some in by_section().values() for one in some if name_part in one.name]
