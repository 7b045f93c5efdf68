"""Makes keys of timers from the names of a source's entries."""

import re
from collections.abc import Callable

# A key has 128 characters at most. This leaves room for a number at the end.
MOST_OF_NAME = 120
_UNFIT = re.compile(r"[^\w.:@+-]+")


def fit_for_key(text: str) -> str:
    """Return the text as a valid key: without spaces, and without a slash, which a path cannot hold."""
    return _UNFIT.sub("-", text).strip("-")[:MOST_OF_NAME] or "timer"


def numbering() -> Callable[[str], str]:
    """Return a function that makes names unique: the second of a name gets `-2`, and so on."""
    given: dict[str, int] = {}

    def next_of(name: str) -> str:
        key, number = name, given.get(name, 0)
        while key in given:
            number += 1
            key = f"{name}-{number + 1}"
        given[key] = 0
        if key != name:
            given[name] = number
        return key

    return next_of
