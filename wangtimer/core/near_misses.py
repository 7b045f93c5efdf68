"""What somebody meant who wrote a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise

# A name of fewer letters may have one wrong, a longer one two: more is another name rather than a slip.
SHORT_LETTERS = 6
# Longer than any name of ours; what is compared is bounded by it.
MOST_LETTERS = 128
# difflib's measure of likeness above which a name is worth a question; it is no ground to refuse anything.
LIKELY = 0.7


def near_miss(written: str, known: Iterable[str]) -> str | None:
    """Return the known name that `written` is a slip of the pen for; None where none is so near.

    Case, hyphens, spaces and underscores do not count; letters left out, added, changed or swapped do.
    """
    letters = _letters(written)
    scored = [(_distance(letters, _letters(name)), name) for name in known]
    near = [(slips, name) for slips, name in scored if slips <= _most_slips(letters, _letters(name))]
    return min(near, key=lambda one: one[0])[1] if near else None


def likely_meant(written: str, known: Iterable[str]) -> str | None:
    """Return the known name to ask about: a near miss, or else the most alike; None where none is alike."""
    names = list(known)
    found = near_miss(written, names)
    if found is not None:
        return found
    by_letters = {_letters(name): name for name in reversed(names)}
    alike = get_close_matches(_letters(written), by_letters, n=1, cutoff=LIKELY)
    return by_letters[alike[0]] if alike else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name[:MOST_LETTERS].casefold() if letter not in "_- ")


def _most_slips(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return 0 if shorter < 3 else 1 if shorter < SHORT_LETTERS else 2


def _distance(one: str, other: str) -> int:
    """Return how many letters are left out, added, changed or swapped with the next (optimal string alignment)."""
    if abs(len(one) - len(other)) > 2:
        return 3
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, (over, left) in enumerate(pairwise(last), 1):
            same = other[column - 1] == letter
            best = min(over + (not same), left + 1, now[-1] + 1)
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == other[column - 1]:
                best = min(best, before[column - 2] + 1)
            now.append(best)
        before, last = last, now
    return last[-1]
