"""The size map of the house is true: each room is there, and has about as many lines as the page says."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "wangtimer"
PAGE = (ROOT / "docs/explanation/size-map.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([a-z0-9_/]+)` \| (\d+) \| ([\d,]+) \|", re.MULTILINE)
SHARE, SOME_LINES = 0.1, 200


def lines_in(folder: Path) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.py"))


def is_near(said: int, counted: int) -> bool:
    return abs(said - counted) <= SHARE * counted + SOME_LINES


def test_each_room_is_there_and_has_about_as_many_lines_as_the_page_says() -> None:
    rooms = {room: int(lines.replace(",", "")) for room, _, lines in ROW.findall(PAGE)}
    wrong = {
        room: (said, lines_in(PACKAGE / room))
        for room, said in rooms.items()
        if not is_near(said, lines_in(PACKAGE / room))
    }
    assert not wrong, f"said and counted: {wrong}"


def test_no_room_is_left_out() -> None:
    rooms = {room.partition("/")[0] for room, _, _ in ROW.findall(PAGE)}
    there = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()}
    assert there == rooms


def test_the_whole_is_what_the_page_says() -> None:
    found = re.search(r"has ([\d,]+) lines", PAGE)
    assert found is not None
    assert is_near(int(found[1].replace(",", "")), lines_in(PACKAGE))
