"""Files of timers that are made to harm whoever reads them: each is a fault with its line, and soon."""

import time
from pathlib import Path

import pytest

from tests.cli.as_code.test_timer_files import fault_of, read

LEVELS = 12
# Ten times as many values a level.
ALIASES = "- key: a\n  json:\n    l0: &l0 [x]\n" + "".join(
    f"    l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]\n" for level in range(1, LEVELS)
)
MERGES = "".join(
    f"- &m{level} {{<<: [{', '.join([f'*m{level - 1}'] * 10)}], key: a}}\n"
    if level
    else "- &m0 {key: a, b: c}\n"
    for level in range(LEVELS)
)
DEEP = 100_000


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(ALIASES, "1: its aliases repeat more than", id="aliases"),
        pytest.param(MERGES, "6: its aliases repeat more than", id="merges"),
        pytest.param("- key: a\n  json: &a [*a]\n", "2: it is nested too deep", id="a list in itself"),
        pytest.param("- &a\n  key: a\n  json: *a\n", "2: it is nested too deep", id="a timer in itself"),
        pytest.param("- key: a\n- &a\n  <<: *a\n", "2: it is nested too deep", id="a merge of itself"),
        pytest.param(
            "- key: a\n  json: " + "[" * DEEP + "]" * DEEP, "2: exceeded maximum nesting", id="deep"
        ),
        pytest.param("- key: a\n  json: " + "9" * 5_000, "2: a number has 5000 digits", id="digits"),
        ("- key: a\n  json: !!binary aGk=\n", "2: the tag !!binary is not read"),
        ("- key: a\n  json: !!set {a, b}\n", "2: the tag !!set is not read"),
        ("- key: a\n  json: !!timestamp 2027-01-01\n", "2: the tag !!timestamp is not read"),
        ("- key: a\n  json: !!omap [a: b]\n", "2: the tag !!omap is not read"),
        (
            "- key: a\n  json: !!python/object:os.system x\n",
            "2: the tag !!python/object:os.system is not read",
        ),
        ("- key: a\n  json: !mine x\n", "2: the tag !mine is not read"),
        ("- key: a\n  json: !!int x\n", "2: 'x' is no !!int"),
        ("- key: a\n  json: !!bool x\n", "2: 'x' is no !!bool"),
        ("- key: a\n  json: !!map [x]\n", "2: the tag !!map is not read"),
        ("- key: a\n  json: !!str {x: y}\n", "2: the tag !!str is not read"),
        ("- key: a\n  json: <<\n", "2: the tag !!merge is not read"),
        ("- key: a\n  ? [b]\n  : c\n", "2: "),
    ],
)
def test_yaml_is_refused_soon(tmp_path: Path, text: str, fault: str) -> None:
    began = time.process_time()
    assert fault_of(tmp_path / "a.yaml", text).startswith(fault)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param('[{"key": "a", "json": ' + "[" * DEEP + "]" * DEEP + "}]", "1: it is nested", id="deep"),
        pytest.param('[{"json": ' + "9" * 5_000 + "}]", "1: a number has too many digits", id="digits"),
        pytest.param(
            "[{" + ", ".join(f'"f{number}": 1' for number in range(50_000)) + ', "f49999": 1}]',
            "1: 'f49999' is given twice",
            id="names",
        ),
    ],
)
def test_json_is_refused_soon(tmp_path: Path, text: str, fault: str) -> None:
    began = time.process_time()
    assert fault_of(tmp_path / "a.json", text).startswith(fault)
    assert time.process_time() - began < 2


def test_the_lines_of_a_long_list_are_counted_once(tmp_path: Path) -> None:
    began = time.process_time()
    found = read(tmp_path / "a.json", "[\n" + ",\n".join(['{"key": "a"}'] * 100_000) + "]")
    assert [line for line, _ in found] == list(range(2, 100_002))
    assert time.process_time() - began < 3


def test_tags_of_the_core_schema_are_read(tmp_path: Path) -> None:
    text = "- !!map {key: !!str 5, a: !!int '5', b: !!float 5, c: !!null '', d: !!seq [!!bool true]}\n"
    assert read(tmp_path / "a.yaml", text) == [(1, {"key": "5", "a": 5, "b": 5.0, "c": None, "d": [True]})]


def test_many_timers_may_share_much(tmp_path: Path) -> None:
    """Each merges a base, and names a target that itself merges one and says a field otherwise."""
    base = "- &base {key: a, target: &t {<<: {url: x, method: POST}, url: y}, tags: [a, b, c]}\n"
    each = "".join(f"- {{<<: *base, key: b{number}, other: *t}}\n" for number in range(5_000))
    found = read(tmp_path / "a.yaml", base + each)
    target = {"url": "y", "method": "POST"}
    assert found[-1] == (5_001, {"key": "b4999", "target": target, "tags": ["a", "b", "c"], "other": target})
