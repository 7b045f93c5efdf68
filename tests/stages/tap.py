"""A store as one process sees it: a test may do something right before or after one of its calls."""

from collections.abc import Callable
from typing import Any

Taps = dict[str, Callable[[], object]]


class Tap:
    """Runs `taps["before slices.claim"]`, then the store's `claim`, then `taps["after slices.claim"]`."""

    def __init__(self, name: str, store: Any, taps: Taps) -> None:
        self._name = name
        self._store = store
        self._taps = taps

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._store, attribute)
        if not callable(found):
            return found

        def tapped(*arguments: Any, **named: Any) -> Any:
            self._run(f"before {self._name}.{attribute}")
            answer = found(*arguments, **named)
            self._run(f"after {self._name}.{attribute}")
            return answer

        return tapped

    def _run(self, point: str) -> None:
        if point in self._taps:
            self._taps[point]()
