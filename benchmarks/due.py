"""One call that is due: which one, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Due:
    """A call to be made at a moment, in ms since 1970 UTC; its id is unique in a run."""

    id: int
    at_ms: int
