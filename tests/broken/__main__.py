"""`make broken`: each promise is broken by its mutation, in a copy, and its test must see it.

python -m tests.broken [part of a promise's name]
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.broken.promises import Promise, promises
from tests.broken.session import Session, not_found, run
from tests.broken.tree import copy_to

JOBS = max(1, min(4, os.cpu_count() or 1))
REASON_CHARACTERS = 90


@dataclass(frozen=True, slots=True)
class Broken:
    """What a promise's tests said once it was broken."""

    promise: Promise
    session: Session
    seconds: float

    @property
    def went_red(self) -> bool:
        """Whether each of its tests failed."""
        return all(self.session.red(test) for test in self.promise.tests)

    def rows(self) -> list[str]:
        """Return the table's rows: one for each test."""
        return [
            f"| {self.promise.words} | {self.promise.name} | {test} | {self._answer(test)} |"
            for test in self.promise.tests
        ]

    def _answer(self, test: str) -> str:
        why = self.session.red(test)
        return f"yes, {self.seconds:.0f} s: {why[:REASON_CHARACTERS]}" if why else "NO"


@contextmanager
def copied(name: str) -> Iterator[Path]:
    """A copy of the repository, for as long as it is used."""
    with TemporaryDirectory(prefix="broken-") as folder:
        yield copy_to(Path(folder) / name)


def stay_green(chosen: Sequence[Promise]) -> bool:
    """Run all tests on the code as it is; print what pytest said if they are not green."""
    tests = sorted({test for promise in chosen for test in promise.tests})
    with copied("as-it-is") as tree:
        if complaint := not_found(tree, tests):
            print(complaint)
            return False
        session = run(tree, tests, "-n", str(JOBS), "--dist", "loadgroup")
    if session.exit_code:
        print(session.output)
    return not session.exit_code


def break_it(promise: Promise) -> Broken:
    """Break the promise in a copy of its own, and run its tests."""
    with copied(promise.name) as tree:
        for mutation in promise.mutations:
            mutation.apply(tree)
        started_at = time.monotonic()
        return Broken(promise, run(tree, promise.tests), time.monotonic() - started_at)


def main(name_part: str) -> int:
    """Break every promise; return 0 if each test went red."""
    chosen = promises(name_part)
    if not chosen:
        print(f"no promise has {name_part!r} in its name")
        return 2
    started_at = time.monotonic()
    if not stay_green(chosen):
        print("the tests must be green before anything is broken")
        return 2
    print(f"green as it is, in {time.monotonic() - started_at:.0f} s\n", flush=True)
    unseen = _break_all(chosen)
    seen, seconds = len(chosen) - len(unseen), time.monotonic() - started_at
    print(f"\n{seen} of {len(chosen)} broken promises went red, in {seconds:.0f} s")
    return 1 if unseen else 0


def _break_all(chosen: Sequence[Promise]) -> list[Broken]:
    """Print the table; return those whose tests did not all see it."""
    print("| promise | name | test | went red |\n|---|---|---|---|", flush=True)
    unseen = []
    with ThreadPoolExecutor(JOBS) as pool:
        for future in as_completed([pool.submit(break_it, promise) for promise in chosen]):
            broken = future.result()
            print("\n".join(broken.rows()), flush=True)
            if not broken.went_red:
                unseen.append(broken)
    for broken in unseen:
        print(
            f"\n{broken.promise.name}: pytest ended with {broken.session.exit_code}\n{broken.session.output}"
        )
    return unseen


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
