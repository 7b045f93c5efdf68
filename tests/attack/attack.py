"""An attack: what is tried, what must come of it, and how it is tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.attack.ground import Ground

# Of what a row that stumbled says.
SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Attack:
    """One row. `carry_out` returns what happened, in words that are the same in every run: no ids, ports, moments.

    The row is held where that is `expected`.
    """

    tried: str
    expected: str
    carry_out: "Callable[[Ground], str]"


@dataclass(frozen=True, slots=True)
class Section:
    """Attacks of one kind. `risks` are those of the OWASP API Security Top 10 that they stand for: "API1"."""

    name: str
    risks: tuple[str, ...]
    words: str
    attacks: Sequence[Attack]


@dataclass(frozen=True, slots=True)
class Tried:
    """What happened to a row."""

    attack: Attack
    happened: str

    @property
    def is_held(self) -> bool:
        return self.happened == self.attack.expected


def try_out(attack: Attack, ground: "Ground") -> Tried:
    """Carry it out; an attack that stumbles is not held."""
    try:
        return Tried(attack, attack.carry_out(ground))
    except Exception as error:
        said = f"{type(error).__name__}: {error}".replace("\n", " ")
        return Tried(attack, f"stumbled: {said[:SHOWN_CHARACTERS]}")
