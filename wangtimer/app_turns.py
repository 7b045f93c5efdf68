"""Turns of apps: each has one before any has its second, in this run and the next."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class AppTurns:
    """`next_app` returns the next app by name behind one (None: the first); None: there is none."""

    next_app: Callable[[str | None], str | None]
    _last: str | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[str]:
        """Yield each app once, from behind the one that was last."""
        first = self._last
        while (app := self.next_app(self._last)) is not None:
            self._last = app
            yield app
        self._last = None
        while first is not None and (app := self.next_app(self._last)) is not None:
            if app > first:
                return
            self._last = app
            yield app
