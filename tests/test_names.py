"""One word, one meaning: no class and no type alias of the service shares its name with another."""

import ast
from collections import defaultdict
from pathlib import Path

import wangtimer

PACKAGE = Path(wangtimer.__file__).parent
# These name what they show or ask for as the service does.
OTHER_WORLDS = {"api", "cli", "client", "stack"}


def named_in(path: Path) -> list[str]:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    classes = [one.name for one in body if isinstance(one, ast.ClassDef)]
    assigned = [one for one in body if isinstance(one, ast.Assign)]
    aliases = [
        target.id
        for one in assigned
        if isinstance(one.value, ast.Subscript | ast.BinOp)
        for target in one.targets
        if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper()
    ]
    return classes + aliases


def test_no_two_classes_or_aliases_share_a_name() -> None:
    files_by_name = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        if file.parts[0] not in OTHER_WORLDS:
            for name in named_in(path):
                files_by_name[name].append(str(file))
    assert files_by_name["Slice"] == ["core/flow/slicing.py"]
    assert files_by_name["SliceOrLane"] == ["core/flow/slicing.py"]
    assert {name: files for name, files in files_by_name.items() if len(files) > 1} == {}
