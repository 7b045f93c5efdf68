"""One word, one meaning: no two classes or type aliases of the service share a name, and each variable has a noun."""

import ast
from collections import defaultdict
from pathlib import Path

import wangtimer

PACKAGE = Path(wangtimer.__file__).parent
# These name what they show or ask for as the service does.
OTHER_WORLDS = {"api", "cli", "client", "stack"}
# The last word of a class's name that means one thing, and the rooms where it does: a feature may have steps and
# readings of its own, and say which parts of a process it needs.
ROOMS = {
    "Step": ("executor/", "features/"),
    "Reading": ("executor/", "features/"),
    "Link": ("messaging/",),
    "Store": ("store/",),
    "Parts": ("wiring/", "features/"),
}
# They say that there is something, and not what it is.
WITHOUT_NOUN = {"one", "some", "those", "its", "ours", "theirs"}


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


def files_by_name() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        if file.parts[0] not in OTHER_WORLDS:
            for name in named_in(path):
                found[name].append(str(file))
    return found


def test_no_two_classes_or_aliases_share_a_name() -> None:
    found = files_by_name()
    assert found["Slice"] == ["core/flow/slicing.py"]
    assert found["SliceOrLane"] == ["core/flow/slicing.py"]
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_a_word_that_means_one_thing_ends_no_other_class_s_name() -> None:
    strange = {
        name: file
        for name, (file, *_) in files_by_name().items()
        for word, rooms in ROOMS.items()
        if name.endswith(word) and not file.startswith(rooms)
    }
    assert strange == {}


def variables_in(path: Path) -> set[str]:
    """Return the names of arguments, of what loops go through, and of what is assigned."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_each_variable_is_named_for_what_it_holds() -> None:
    files = {str(path.relative_to(PACKAGE)): variables_in(path) for path in PACKAGE.rglob("*.py")}
    assert {"tag", "BUCKETS_A_QUEUE"} <= files["core/flow/slicing.py"]
    assert {file: names & WITHOUT_NOUN for file, names in files.items() if names & WITHOUT_NOUN} == {}
