"""Each attack on a whole deployment: `make attack`, or `make attack ROW="part of its words"`."""

import pytest

from tests.attack.attack import Attack, Tried, try_out
from tests.attack.ground import Ground
from tests.attack.table import SECTIONS

ROWS = [
    pytest.param(attack, id=f"{section.name}: {attack.tried}")
    for section in SECTIONS
    for attack in section.attacks
]


@pytest.mark.attack
@pytest.mark.parametrize("attack", ROWS)
def test_an_attack_is_held(attack: Attack, ground: Ground, tried: list[Tried]) -> None:
    one = try_out(attack, ground)
    tried.append(one)
    assert one.happened == attack.expected
