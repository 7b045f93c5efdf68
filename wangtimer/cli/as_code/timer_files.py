"""Files of timers, YAML or JSON: each timer with the file and line where it stands."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SUFFIXES = (".yaml", ".yml", ".json")
MEND = "write a list of timers, or timers: with that list, or a timer a document"

# Where the next value of a JSON list begins.
_VALUE = re.compile(r"[^\s,]")

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a file: where, with which timer, and what to do."""

    file: str
    line: int
    key: str | None
    text: str

    def __str__(self) -> str:
        timer = "" if self.key is None else f"timer {self.key!r}: "
        return f"{self.file}:{self.line}: {timer}{self.text}"


class BadFiles(Exception):
    """Files cannot be applied; `faults` are all that was found."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class TimerInFile:
    """A timer as it is written in a file; `line` is where it begins."""

    file: str
    line: int
    document: Any
    node: yaml.Node | None = None

    @property
    def key(self) -> str | None:
        """Its key, where it has one."""
        found = self.document.get("key") if isinstance(self.document, dict) else None
        return found if isinstance(found, str) else None

    def line_of(self, field: str) -> int:
        """Return the line of a field by its dotted name; where it is not written, of what it would be in."""
        line, node = self.line, self.node
        for name in field.split("."):
            if not isinstance(node, yaml.MappingNode):
                break
            found = next((pair for pair in node.value if pair[0].value == name), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return line


class _CoreLoader(_Loader):  # type: ignore[misc]
    """Reads YAML as version 1.2 has it: a moment stays text, `on` and `1:30` too; a key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; raises `yaml.YAMLError` for a key that is given twice."""
        seen: set[object] = set()
        for name, _ in node.value:
            if isinstance(name, yaml.ScalarNode) and name.tag != "tag:yaml.org,2002:merge":
                if name.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{name.value!r} is given twice", name.start_mark
                    )
                seen.add(name.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
):
    _CoreLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}",
        re.compile(rf"(?:{_pattern})\Z"),
        ["" if one == "\0" else one for one in _first],
    )


def read_timer_files(paths: Sequence[str]) -> list[TimerInFile]:
    """Return the timers of files, and of all YAML and JSON files in folders, in order; raises `BadFiles`."""
    found: list[TimerInFile] = []
    faults: list[Fault] = []
    for path in paths:
        for file in _files(Path(path)):
            try:
                found += _timers_of(file)
            except BadFiles as error:
                faults += error.faults
    if faults:
        raise BadFiles(faults)
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())
    if not found:
        raise _fault(str(path), 1, f"the folder has no file that ends in {', '.join(SUFFIXES)}")
    return found


def _timers_of(path: Path) -> Iterator[TimerInFile]:
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _fault(file, 1, f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return _of_json(file, text) if path.suffix == ".json" else _of_yaml(file, text)


def _of_yaml(file: str, text: str) -> Iterator[TimerInFile]:
    loader = _CoreLoader(text)
    found: list[TimerInFile] = []
    try:
        while loader.check_node():
            found += _in_node(file, loader, loader.get_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _fault(file, 1 if mark is None else mark.line + 1, f"{error.problem or error}") from None
    except yaml.YAMLError as error:
        raise _fault(file, 1, str(error).splitlines()[0]) from None
    finally:
        loader.dispose()
    return iter(found)


def _in_node(file: str, loader: Any, node: yaml.Node) -> Iterator[TimerInFile]:
    listed = _listed(node)
    for one in [node] if listed is None else listed:
        line = one.start_mark.line + 1
        value = loader.construct_document(one)
        if value is None and listed is None:
            continue
        if not isinstance(value, dict):
            raise _fault(file, line, f"it is no timer; {MEND}")
        yield TimerInFile(file, line, value, one)


def _listed(node: yaml.Node) -> list[yaml.Node] | None:
    """Return the nodes of a list of timers, None where a document is one timer."""
    if isinstance(node, yaml.MappingNode) and len(node.value) == 1 and node.value[0][0].value == "timers":
        node = node.value[0][1]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else None


def _of_json(file: str, text: str) -> Iterator[TimerInFile]:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise _fault(file, getattr(error, "lineno", 1), getattr(error, "msg", str(error))) from None
    if isinstance(value, dict) and value.keys() == {"timers"}:
        value = value["timers"]
    is_list = isinstance(value, list)
    listed = value if is_list else [value]
    lines = _lines_in_list(text, len(listed)) if is_list else [1]
    for one, line in zip(listed, lines, strict=True):
        if not isinstance(one, dict):
            raise _fault(file, line, f"it is no timer; {MEND}")
        yield TimerInFile(file, line, one)


def _lines_in_list(text: str, count: int) -> list[int]:
    """Return the line on which each value of the first list in a JSON text begins."""
    decoder, at, lines = json.JSONDecoder(), text.index("[") + 1, []
    for _ in range(count):
        begin = _VALUE.search(text, at)
        assert begin is not None
        lines.append(text.count("\n", 0, begin.start()) + 1)
        _, at = decoder.raw_decode(text, begin.start())
    return lines


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is given twice")
    return found


def _fault(file: str, line: int, text: str) -> BadFiles:
    return BadFiles([Fault(file, line, None, text)])
