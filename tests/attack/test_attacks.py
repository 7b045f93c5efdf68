"""Each attack on a whole deployment: `make attack`, or `make attack ROW="part of its words, or of its section's"`."""

import os

import pytest

from tests.attack.attack import Attack, Tried, try_out
from tests.attack.ground import Ground
from tests.attack.table import SECTIONS

CHOSEN = os.environ.get("ATTACK_ROW", "").lower()
ROWS = [
    pytest.param(attack, id=f"{section.name} {number}")
    for section in SECTIONS
    for number, attack in enumerate(section.attacks, 1)
    if CHOSEN in f"{section.name}: {attack.tried}".lower()
]


@pytest.mark.attack
@pytest.mark.timeout(300)
@pytest.mark.parametrize("attack", ROWS)
def test_an_attack_is_held(attack: Attack, ground: Ground, tried: list[Tried]) -> None:
    one = try_out(attack, ground)
    tried.append(one)
    assert one.happened == attack.expected, attack.tried
