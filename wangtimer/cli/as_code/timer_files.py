"""Files of timers, YAML or JSON: each timer with the file and line where it stands."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from wangtimer.api.http.reading import MOST_DIGITS
from wangtimer.cli.as_code.core_yaml import CoreLoader, NodeCheck
from wangtimer.core.numbers_as_written import Fraction, refuse_constant, whole

SUFFIXES = (".yaml", ".yml", ".json")
MEND = "write a list of timers, or timers: with that list, or a timer a document"
TOO_DEEP = "it is nested too deep"

# Where the next value of a JSON list begins.
_VALUE = re.compile(r"[^\s,]")


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
    found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
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
    found: list[TimerInFile] = []
    loader: CoreLoader | None = None
    try:
        loader = CoreLoader(text)
        while loader.check_node():
            found += _in_node(file, loader, loader.get_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _fault(file, 1 if mark is None else mark.line + 1, f"{error.problem or error}") from None
    except yaml.YAMLError as error:
        raise _fault(file, 1, str(error).splitlines()[0]) from None
    except RecursionError:
        raise _fault(file, 1, TOO_DEEP) from None
    finally:
        if loader is not None:
            loader.dispose()
    return iter(found)


def _in_node(file: str, loader: Any, node: yaml.Node) -> Iterator[TimerInFile]:
    listed = _listed(node)
    check = NodeCheck(loader)
    for inner in [node] if listed is None else listed:
        line = inner.start_mark.line + 1
        check.look_at(inner)
        value = loader.construct_document(inner)
        if value is None and listed is None:
            continue
        if not isinstance(value, dict):
            raise _fault(file, line, f"it is no timer; {MEND}")
        yield TimerInFile(file, line, value, inner)


def _listed(node: yaml.Node) -> list[yaml.Node] | None:
    if isinstance(node, yaml.MappingNode) and len(node.value) == 1 and node.value[0][0].value == "timers":
        node = node.value[0][1]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else None


def _of_json(file: str, text: str) -> Iterator[TimerInFile]:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole,
            parse_float=Fraction,
            parse_constant=refuse_constant,
        )
    except ValueError as error:
        raise _fault(file, getattr(error, "lineno", 1), getattr(error, "msg", str(error))) from None
    except RecursionError:
        raise _fault(file, 1, TOO_DEEP) from None
    if isinstance(value, dict) and value.keys() == {"timers"}:
        value = value["timers"]
    is_list = isinstance(value, list)
    listed = value if is_list else [value]
    lines = _lines_in_list(text, len(listed)) if is_list else [1]
    for document, line in zip(listed, lines, strict=True):
        if not isinstance(document, dict):
            raise _fault(file, line, f"it is no timer; {MEND}")
        yield TimerInFile(file, line, document)


def _lines_in_list(text: str, count: int) -> list[int]:
    """Return the line on which each value of the first list in a JSON text begins."""
    decoder, at, lines = json.JSONDecoder(), text.index("[") + 1, []
    line, counted = 1, 0
    for _ in range(count):
        begin = _VALUE.search(text, at)
        assert begin is not None
        line, counted = line + text.count("\n", counted, begin.start()), begin.start()
        lines.append(line)
        _, at = decoder.raw_decode(text, begin.start())
    return lines


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has too many digits; {MOST_DIGITS} are the most")
    return whole(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{twice!r} is given twice")
    return found


def _fault(file: str, line: int, text: str) -> BadFiles:
    return BadFiles([Fault(file, line, None, text)])
