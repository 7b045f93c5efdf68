"""Guesses the known name that somebody meant who wrote an unknown one."""

from collections.abc import Iterable
from itertools import pairwise

# A name of fewer letters may have one wrong letter, a longer name two: with more it is rather another name.
SHORT_LETTERS = 6
# Longer than any name of ours; bounds what is compared.
MOST_LETTERS = 128


def near_miss(written: str, known: Iterable[str]) -> str | None:
    """Return the known name that was meant, or None. Case, hyphens, spaces and underscores do not count."""
    letters = _letters(written)
    scored = [(_distance(letters, _letters(name)), name) for name in known]
    near = [(slips, name) for slips, name in scored if slips <= _most_slips(letters, _letters(name))]
    return min(near, key=lambda miss: miss[0])[1] if near else None


class Names:
    """Known names, found by a text with one wrong letter: in microseconds, however many names there are."""

    def __init__(self, known: Iterable[str]) -> None:
        self._by_letters: dict[str, str] = {}
        self._by_form: dict[str, str] = {}
        for name in known:
            letters = _letters(name)
            self._by_letters.setdefault(letters, name)
            for form in _forms(letters):
                self._by_form.setdefault(form, name)

    def same_as(self, written: str) -> str | None:
        """Return the name that differs at most in case, hyphens, spaces and underscores; None if there is none."""
        return self._by_letters.get(_letters(written))

    def meant_by(self, written: str) -> str | None:
        """Return the name to ask about: the same, or one with one letter left out, added, changed or swapped."""
        found = self.same_as(written)
        forms = _forms(_letters(written))
        return found or next((self._by_form[form] for form in forms if form in self._by_form), None)


def _forms(letters: str) -> list[str]:
    """Return the letters, and the letters without each one of them; words that share a form are one slip apart."""
    if len(letters) < 3:
        return [letters]
    return [letters, *(letters[:place] + letters[place + 1 :] for place in range(len(letters)))]


def _letters(name: str) -> str:
    return "".join(letter for letter in name[:MOST_LETTERS].casefold() if letter not in "_- ")


def _most_slips(word: str, other: str) -> int:
    shorter = min(len(word), len(other))
    return 0 if shorter < 3 else 1 if shorter < SHORT_LETTERS else 2


def _distance(word: str, other: str) -> int:
    """Return how many letters are left out, added, changed or swapped with the next (optimal string alignment)."""
    if abs(len(word) - len(other)) > 2:
        return 3
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        now = [row]
        for column, (over, left) in enumerate(pairwise(last), 1):
            same = other[column - 1] == letter
            best = min(over + (not same), left + 1, now[-1] + 1)
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == other[column - 1]:
                best = min(best, before[column - 2] + 1)
            now.append(best)
        before, last = last, now
    return last[-1]
