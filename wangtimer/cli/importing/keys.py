"""Keys for timers, made of what a source calls its entries."""

import re
from collections.abc import Callable

MOST_CHARACTERS = 128
# Room for a number behind it.
MOST_OF_NAME = 120
_UNFIT = re.compile(r"[^\w.:@+-]+")


def fit_for_key(text: str) -> str:
    """Return a text as a key may have it: no spaces, and no slash, which no path can hold."""
    return _UNFIT.sub("-", text).strip("-")[:MOST_OF_NAME] or "timer"


def numbering() -> Callable[[str], str]:
    """Return what gives each key once: the second of a name gets `-2`, and so on."""
    given: set[str] = set()

    def next_of(name: str) -> str:
        key, number = name, 1
        while key in given:
            number += 1
            key = f"{name}-{number}"
        given.add(key)
        return key

    return next_of
