"""One rule for many cases, as one test that lists every case in which it does not hold."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def in_one(
    names: str | tuple[str, ...], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test each of many cases, as `pytest.mark.parametrize` does, in a single test.

    For rules that are checked without setting anything up: a test for each case would cost far more than its check.
    Fixtures are set up once, for all cases. A case may not be skipped or marked: a test has one outcome.
    """
    names = (names,) if isinstance(names, str) else names
    given = [_values(case, len(names)) for case in cases]

    def made(check: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(**fixtures: Any) -> None:
            assert given, "there is no case"
            faults = []
            for case in given:
                try:
                    check(**fixtures, **dict(zip(names, case, strict=True)))
                except (ImportError, NameError, SyntaxError):
                    # The code stumbles, so it says nothing of the rule: `make broken` must see the error itself.
                    raise
                # pytest's own are no `Exception`.
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as fault:
                    faults.append(f"{' '.join(map(str, case))[:300]}: {type(fault).__name__}: {fault}")
            if faults:
                pytest.fail(f"{len(faults)} of {len(given)}:\n" + "\n".join(faults), pytrace=False)

        signature = inspect.signature(check)
        left = [one for name, one in signature.parameters.items() if name not in names]
        test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return test

    return made


def _values(case: Any, number: int) -> tuple[Any, ...]:
    if hasattr(case, "marks"):
        if case.marks:
            raise ValueError(f"{case.values} has marks, which one test of many cases cannot have")
        return tuple(case.values)
    return tuple(case) if number > 1 else (case,)
