"""What a firing and a timer meet is made of few parts each: a feature more is no argument more."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "wangtimer"
# The rooms of stages, those that a firing meets, and those of what features do beside its way.
ROOMS = ("timers", "planning", "window", "executor", "callback", "messaging", "features")
MOST = 8


def made_of(definition: ast.ClassDef) -> int:
    """Return how many arguments a class is made of; 0 for a tuple, which is a value and no part."""
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            given = statement.args
            return len((*given.posonlyargs, *given.args, *given.kwonlyargs)) - 1
    if not any("dataclass" in ast.unparse(decorator) for decorator in definition.decorator_list):
        return 0
    fields = [ast.unparse(one) for one in definition.body if isinstance(one, ast.AnnAssign)]
    return sum("init=False" not in field for field in fields)


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for file in (file for room in ROOMS for file in sorted((PACKAGE / room).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield file, node


def test_no_stage_and_no_part_of_a_firing_s_way_is_made_of_more_than_eight() -> None:
    found = {f"{file.relative_to(PACKAGE)}: {node.name}": made_of(node) for file, node in classes()}
    assert len(found) > 100
    assert {name: number for name, number in found.items() if number > MOST} == {}
