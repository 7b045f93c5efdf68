"""YAML as files of timers have it: the core schema of YAML 1.2, and nothing that grows or hides in reading."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from wangtimer.api.http.reading import MOST_DEPTH, MOST_DIGITS
from wangtimer.core.numbers_as_written import Fraction, Whole, whole

# Values that aliases and merges repeat, of one document. 10,000 timers that share 40 values each have fewer.
MOST_REPEATED = 500_000

_PREFIX = "tag:yaml.org,2002:"
_SCALARS = frozenset(f"{_PREFIX}{name}" for name in ("str", "int", "float", "bool", "null"))
_STR, _INT, _FLOAT, _MERGE = (f"{_PREFIX}{name}" for name in ("str", "int", "float", "merge"))
_LIST, _OBJECT = f"{_PREFIX}seq", f"{_PREFIX}map"
_IMPLICIT = (True, False)
_IN_JSON = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CoreResolver(yaml.resolver.BaseResolver):
    """Tells what a plain scalar is, as YAML 1.2 has it: a moment stays text, `on` and `1:30` too."""


class CoreDumper(yaml.SafeDumper):
    """Writes YAML that `CoreLoader` and readers of YAML 1.1 read alike: a text is quoted where either needs it."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Return the node of a text. What is no printable sign is escaped: quoted plainly it can become a space."""
        style = None if text.isprintable() else '"'
        node: yaml.ScalarNode = self.represent_scalar(_STR, text, style)
        return node

    def represent_number(self, number: Fraction | Whole) -> yaml.ScalarNode:
        """Return the node of a number with its digits."""
        node: yaml.ScalarNode = self.represent_scalar(
            _FLOAT if isinstance(number, float) else _INT, number.digits
        )
        return node


CoreDumper.add_representer(str, CoreDumper.represent_str)
CoreDumper.add_representer(Fraction, CoreDumper.represent_number)
CoreDumper.add_representer(Whole, CoreDumper.represent_number)


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
    for _class in (CoreResolver, CoreDumper):
        _class.add_implicit_resolver(
            f"{_PREFIX}{_tag}",
            re.compile(rf"(?:{_pattern})\Z"),
            ["" if sign == "\0" else sign for sign in _first],
        )


class CoreLoader(_Loader):  # type: ignore[misc]
    """Reads YAML by the core schema. Look at each node with `NodeCheck` before it is constructed."""

    yaml_implicit_resolvers = CoreResolver.yaml_implicit_resolvers

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """Return the number of a node with its digits, where JSON has them too; `+1`, `.5` and `5.` it has not."""
        if not _IN_JSON.fullmatch(node.value):
            return float(node.value) if node.tag == _FLOAT else int(node.value)
        return Fraction(node.value) if node.tag == _FLOAT else whole(node.value)


for _number in (_INT, _FLOAT):
    CoreLoader.add_constructor(_number, CoreLoader.construct_number)


class _Extent(NamedTuple):
    """How many values a node has with all its aliases written out, and how many levels."""

    values: int
    levels: int


@dataclass(slots=True)
class NodeCheck:
    """Looks at the nodes of one document before anything is made of them."""

    loader: Any
    _extents: dict[int, _Extent] = field(default_factory=dict)
    _repeated: int = 0

    def look_at(self, timer: yaml.Node) -> None:
        """Raise `yaml.MarkedYAMLError` for a timer that cannot be read, or that would take too much work to read."""
        already = len(self._extents)
        values = self._extent(timer, 1).values
        self._repeated += values - (len(self._extents) - already)
        if self._repeated > MOST_REPEATED:
            raise _fault(timer, f"its aliases repeat more than {MOST_REPEATED} values; write fewer of them")

    def _extent(self, node: yaml.Node, level: int) -> _Extent:
        # A node within itself is never known here, and so ends as one that is too deep.
        found = self._extents.get(id(node))
        if level + (0 if found is None else found.levels - 1) > MOST_DEPTH + 1:
            raise _fault(node, f"it is nested too deep; {MOST_DEPTH} objects and lists are the most")
        if found is None:
            self._check(node)
            inner = [self._extent(part, level + 1) for part in _within(node)]
            levels = max((extent.levels for extent in inner), default=0) + 1
            found = self._extents[id(node)] = _Extent(1 + sum(extent.values for extent in inner), levels)
        return found

    def _check(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            _refuse_twice(node)
            allowed = frozenset({_OBJECT})
        else:
            allowed = frozenset({_LIST}) if isinstance(node, yaml.SequenceNode) else _SCALARS
        if node.tag not in allowed:
            raise _fault(node, f"the tag {_shown(node.tag)} is not read; leave it out, or quote a text")
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node)

    def _check_scalar(self, node: yaml.ScalarNode) -> None:
        if node.tag == _STR:
            return
        is_tag = self.loader.resolve(yaml.ScalarNode, node.value, _IMPLICIT)
        if is_tag != node.tag and (is_tag, node.tag) != (_INT, _FLOAT):
            raise _fault(node, f"{node.value[:64]!r} is no {_shown(node.tag)}; leave out the tag")
        if node.tag == _INT and len(node.value) > MOST_DIGITS:
            raise _fault(node, f"a number has {len(node.value)} digits; {MOST_DIGITS} are the most")


def _within(node: yaml.Node) -> list[yaml.Node]:
    """Return the nodes right within a node; the key of a merge is none of them."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair if part.tag != _MERGE or part is not pair[0]]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _refuse_twice(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for name, _ in node.value:
        if isinstance(name, yaml.ScalarNode) and name.tag != _MERGE:
            if name.value in seen:
                raise _fault(name, f"{name.value!r} is given twice")
            seen.add(name.value)


def _shown(tag: str) -> str:
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag


def _fault(node: yaml.Node, text: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, text, node.start_mark)
