"""Decides when each name is looked up, and remembers recent results. Pure except for the given clock; one thread."""

import math
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from wangtimer.callback.resolver import Resolved
from wangtimer.core.time.clock import Clock

# Look-ups of one app under way: names that get no answer delay other names of the app, but no other app.
_MOST_OF_AN_APP = 64
# A look-up that takes longer has failed, whatever its result.
_LONGEST_S = 5.0
_MOST_FRESH_S = 30.0
_LEAST_FRESH_S = 1.0
_FAILED_FOR_S = 1.0
# A name whose call comes due within a second is looked up again before its result is too old.
_AHEAD_S = 1.5
_MOST_KNOWN = 10_000

OnFound = Callable[[tuple[str, ...], str], None]


class LooksUp(Protocol):
    """Looks one name up."""

    def look_up(self, name: str, on_resolved: Callable[[Resolved], None], /) -> None:
        """Begin; `on_resolved` gets the result later."""


class _Known(NamedTuple):
    addresses: tuple[str, ...]
    error: str
    until: float


class _Lookup:
    """A wanted name: it waits for its turn among its apps' names, is under way, or has ended."""

    __slots__ = ("app", "apps", "began_at", "has_ended", "name", "wanting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.app = ""  # whose look-up it is, once it has begun
        self.apps: set[str] = set()
        self.began_at: float | None = None
        self.has_ended = False
        self.wanting: list[OnFound] = []


class Lookups:
    """Finds addresses: known ones at once, others when the resolver has them. Calls to one host share a look-up."""

    def __init__(self, clock: Clock, resolver: LooksUp) -> None:
        self._clock = clock
        self._resolver = resolver
        self._known: dict[str, _Known] = {}
        self._wanted: dict[str, _Lookup] = {}
        self._begun: dict[_Lookup, None] = {}  # in the order they began
        self._begun_of: Counter[str] = Counter()
        self._queues: dict[str, deque[_Lookup]] = {}  # by app

    @property
    def rest_until(self) -> float:
        """When the next look-up has taken too long, in monotonic seconds."""
        for lookup in self._begun:
            assert lookup.began_at is not None
            return lookup.began_at + _LONGEST_S
        return math.inf

    def prepare(self, name: str, app: str) -> None:
        """Look a name up for a call that comes due soon, unless its result is valid for long enough."""
        known = self._known.get(name)
        now = self._clock.monotonic()
        if known is None or known.until <= now + (0 if known.error else _AHEAD_S):
            self._want(name, app)

    def find(self, name: str, app: str, on_resolved: OnFound) -> None:
        """Give `on_resolved` the addresses and "", or none and why; now, or when the look-up has ended."""
        known = self._known.get(name)
        if known is not None and self._clock.monotonic() < known.until:
            on_resolved(known.addresses, known.error)
        else:
            self._want(name, app).wanting.append(on_resolved)

    def act(self) -> None:
        """Give up look-ups that take too long."""
        if not self._begun:
            return
        now = self._clock.monotonic()
        while now >= self.rest_until:
            self._end(next(iter(self._begun)), Resolved((), 0.0, f"no answer in {_LONGEST_S:.0f} s"))

    def _want(self, name: str, app: str) -> _Lookup:
        lookup = self._wanted.get(name)
        if lookup is None:
            lookup = self._wanted[name] = _Lookup(name)
        if lookup.began_at is None and app not in lookup.apps:
            lookup.apps.add(app)
            if self._begun_of[app] < _MOST_OF_AN_APP:
                self._begin(lookup, app)
            else:
                self._queues.setdefault(app, deque()).append(lookup)
        return lookup

    def _begin(self, lookup: _Lookup, app: str) -> None:
        lookup.app = app
        lookup.began_at = self._clock.monotonic()
        self._begun[lookup] = None
        self._begun_of[app] += 1
        self._resolver.look_up(lookup.name, lambda found: self._end(lookup, found))

    def _end(self, lookup: _Lookup, found: Resolved) -> None:
        if lookup.has_ended:  # given up before
            return
        lookup.has_ended = True
        del self._begun[lookup], self._wanted[lookup.name]
        error = "" if found.addresses else found.error or "it has no address"
        self._keep(lookup.name, found, error)
        self._begin_next(lookup.app)
        for on_resolved in lookup.wanting:
            on_resolved(found.addresses, error)

    def _keep(self, name: str, found: Resolved, error: str) -> None:
        self._known.pop(name, None)
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        fresh_s = _FAILED_FOR_S if error else min(max(found.ttl_s, _LEAST_FRESH_S), _MOST_FRESH_S)
        self._known[name] = _Known(found.addresses, error, self._clock.monotonic() + fresh_s)

    def _begin_next(self, app: str) -> None:
        """Hand the place of a look-up that ended to the next of its app."""
        self._begun_of[app] -= 1
        queue = self._queues.get(app, deque())
        while queue:
            lookup = queue.popleft()
            if lookup.began_at is None:
                self._begin(lookup, app)
                return
        self._queues.pop(app, None)
        if not self._begun_of[app]:
            del self._begun_of[app]
