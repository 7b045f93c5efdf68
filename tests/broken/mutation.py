"""A mutation: some lines of the product, found by the name of what they stand in, and what is written in their place.

No mutation names the file of Python code. So a function may move, and its neighbours may change.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

# What is run and deployed; never a test.
PRODUCT = ("wangtimer", "deploy", "docker-compose.yml", "Dockerfile")

# An error tells of so many places of a line that stands in many.
MOST_TOLD = 5


class NotOnePlace(Exception):
    """The lines of a mutation stand in no place of its name, or in several."""


@dataclass(frozen=True, slots=True)
class Named:
    """A class, function or constant, or a whole file, and its lines; the first is 0."""

    name: str
    path: Path
    lines: range

    def __str__(self) -> str:
        return f"{self.name} ({self.path}:{self.lines.start + 1})"


class Product:
    """The files that are run and deployed. Each is read once, and parsed once at most."""

    def __init__(self, root: Path) -> None:
        self.lines: dict[Path, list[str]] = {}
        self._named: dict[Path, list[Named]] = {}
        self._places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
        for path in _files(root):
            self.lines[path.relative_to(root)] = path.read_text().split("\n")
        for path, lines in self.lines.items():
            for number, line in enumerate(lines):
                self._places[line.strip()].append((path, number))

    def places_of(self, text: str) -> Iterator[tuple[Path, range]]:
        """Yield where these lines stand, however far they are indented."""
        wanted = text.split("\n")
        for path, first in self._places[wanted[0].strip()]:
            lines = range(first, first + len(wanted))
            if dedent("\n".join(self.lines[path][first : lines.stop])) == text:
                yield path, lines

    def named(self, path: Path) -> list[Named]:
        """Return the file, and what has a name in it; what stands in another behind it."""
        if path not in self._named:
            found = [Named(str(path), path, range(len(self.lines[path])))]
            if path.suffix == ".py":
                found += _definitions(ast.parse("\n".join(self.lines[path])), path)
            self._named[path] = found
        return self._named[path]


@dataclass(frozen=True, slots=True)
class Mutation:
    """Lines of the product that others replace.

    where: what they stand in, wherever that is: the qualified name of a function, class or constant, as
    `Sender.may_send`; for what is no Python the name of its file, with folders if other files have that name.
    old: one or more whole lines, so many that they are found once in there. new: what stands in their place; "" takes
    them away. Both are written without the indentation that their lines have in common.
    """

    where: str
    old: str
    new: str

    def written_into(self, product: Product) -> tuple[Path, str]:
        """Return the file that it changes, and the file's text then; raises `NotOnePlace`."""
        path, lines = self._place(product)
        old, new = _bare(self.old), _bare(self.new)
        first = product.lines[path][lines.start]
        margin = first[: len(first) - len(old.partition("\n")[0])]
        written = indent(new, margin).split("\n") if new else []
        return path, "\n".join(
            [*product.lines[path][: lines.start], *written, *product.lines[path][lines.stop :]]
        )

    def apply(self, tree: Path) -> None:
        """Write it into a copy of the repository; raises `NotOnePlace`."""
        path, text = self.written_into(Product(tree))
        (tree / path).write_text(text)

    def _place(self, product: Product) -> tuple[Path, range]:
        anywhere = list(product.places_of(_bare(self.old)))
        found = [place for place in anywhere if any(self._means(one) for one in _around(product, *place))]
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(f"{path}:{lines.start + 1}" for path, lines in found)
            raise NotOnePlace(
                f"{self} is found at {places}: let `old` have a line more, that one place has alone"
            )
        elsewhere = [str(_around(product, *place)[-1]) for place in anywhere[:MOST_TOLD]]
        named = [str(one) for path in product.lines for one in product.named(path) if self._means(one)]
        raise NotOnePlace(
            f"{self} is not found. Its lines stand in: {', '.join(elsewhere) or 'nothing'}."
            f" Its name has: {', '.join(named) or 'nothing'}. Write `where` and `old` as the code is now"
        )

    def _means(self, named: Named) -> bool:
        return named.name == self.where or named.name.endswith(f"/{self.where}")

    def __str__(self) -> str:
        return f"{self.where}: {_bare(self.old)!r}"


def _bare(text: str) -> str:
    return dedent(text).strip("\n")


def _files(root: Path) -> Iterator[Path]:
    for top in PRODUCT:
        files = (root / top).rglob("*") if (root / top).is_dir() else [root / top]
        yield from sorted(one for one in files if one.is_file() and one.suffix != ".pyc")


def _around(product: Product, path: Path, lines: range) -> list[Named]:
    """Return what these lines stand in: the file, then what is ever smaller."""
    return [one for one in product.named(path) if lines.start in one.lines and lines[-1] in one.lines]


def _definitions(tree: ast.AST, path: Path, prefix: str = "") -> Iterator[Named]:
    """Yield the classes, functions and constants; a function's variables are none."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield Named(f"{prefix}{node.name}", path, _lines(node, first))
                yield from _definitions(node, path, f"{prefix}{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if isinstance(tree, ast.Module | ast.ClassDef):
                    yield Named(f"{prefix}{name}", path, _lines(node, node.lineno))
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _definitions(node, path, prefix)
            case _:
                pass


def _lines(node: ast.stmt, first: int) -> range:
    return range(first - 1, node.end_lineno or first)
