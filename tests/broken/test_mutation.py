"""A mutation is found by the name of what its lines stand in, in whatever file that is."""

from pathlib import Path

import pytest

from tests.broken.mutation import Mutation, NotOnePlace

SENDER = """\
MOST = 5


class Sender:
    most: int = MOST

    @property
    def may_send(self) -> bool:
        if self.is_full:

            return False
        return True

    def send(self) -> None:
        def again() -> None:
            self.send()

        if self.may_send:
            return
        return
"""
LUA = "local a = 1\nreturn a\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of a small product."""
    (tmp_path / "wangtimer" / "lua").mkdir(parents=True)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "docker-compose.yml").write_text("services:\n")
    (tmp_path / "Dockerfile").write_text("FROM debian\n")
    (tmp_path / "wangtimer" / "lua" / "claim.lua").write_text(LUA)
    (tmp_path / "wangtimer" / "sender.py").write_text(SENDER)
    return tmp_path


def sender(tree: Path) -> str:
    return (tree / "wangtimer" / "sender.py").read_text()


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("MOST", "MOST = 5", "MOST = 6"),
        ("sender.py", "MOST = 5", "MOST = 6"),
        ("Sender", "most: int = MOST", "most: int = 7"),
        ("Sender.most", "most: int = MOST", "most: int = 7"),
        ("Sender.may_send", "return True", "return False"),
        ("Sender.send.again", "self.send()", "pass"),
    ],
)
def test_a_line_is_replaced_where_the_name_is_and_keeps_its_indentation(
    tree: Path, where: str, old: str, new: str
) -> None:
    Mutation(where, old, new).apply(tree)
    assert sender(tree) == SENDER.replace(old, new)


def test_several_lines_are_replaced_by_others_however_far_they_are_indented(tree: Path) -> None:
    old = """
    if self.is_full:

        return False
    """
    new = """
    if self.is_full:
        return True
    self.count += 1
    """
    Mutation("Sender.may_send", old, new).apply(tree)
    assert sender(tree) == SENDER.replace(
        "        if self.is_full:\n\n            return False\n",
        "        if self.is_full:\n            return True\n        self.count += 1\n",
    )


def test_a_block_that_ends_further_out_than_it_begins_keeps_its_shape(tree: Path) -> None:
    Mutation("Sender.may_send", "    return False\nreturn True", "    return True\nreturn False").apply(tree)
    assert "            return True\n        return False\n" in sender(tree)


def test_lines_are_taken_away(tree: Path) -> None:
    Mutation("Sender.may_send", "@property", "").apply(tree)
    assert sender(tree) == SENDER.replace("    @property\n", "")


@pytest.mark.parametrize(("where", "old"), [("claim.lua", "local a = 1"), ("lua/claim.lua", "return a")])
def test_what_is_no_python_is_found_by_the_name_of_its_file(tree: Path, where: str, old: str) -> None:
    Mutation(where, old, "-- nothing").apply(tree)
    assert (tree / "wangtimer" / "lua" / "claim.lua").read_text() == LUA.replace(old, "-- nothing")


def test_a_function_that_moved_to_another_file_is_found_there(tree: Path) -> None:
    mutation = Mutation("Sender.may_send", "return True", "return False")
    (tree / "wangtimer" / "sender.py").rename(tree / "wangtimer" / "lua" / "posting.py")
    mutation.apply(tree)
    assert (tree / "wangtimer" / "lua" / "posting.py").read_text() == SENDER.replace(
        "return True", "return False"
    )


def test_lines_that_stand_twice_in_what_has_the_name_are_refused(tree: Path) -> None:
    with pytest.raises(
        NotOnePlace, match=r"wangtimer/sender\.py:19, wangtimer/sender\.py:20: .* a line more"
    ):
        Mutation("Sender.send", "return", "pass").apply(tree)
    Mutation("Sender.send", "if self.may_send:\n    return", "pass").apply(tree)
    assert sender(tree) == SENDER.replace("if self.may_send:\n            return", "pass")


def test_lines_that_two_of_the_name_have_are_refused(tree: Path) -> None:
    (tree / "wangtimer" / "other.py").write_text(SENDER)
    with pytest.raises(NotOnePlace, match=r"wangtimer/other\.py:12, wangtimer/sender\.py:12"):
        Mutation("Sender.may_send", "return True", "return False").apply(tree)


def test_of_lines_that_stand_elsewhere_it_says_where(tree: Path) -> None:
    with pytest.raises(NotOnePlace, match=r"Its lines stand in: Sender\.may_send \(wangtimer/sender\.py:7\)"):
        Mutation("Sender.send", "return True", "return False").apply(tree)


def test_of_a_name_that_has_other_lines_it_says_where_it_is(tree: Path) -> None:
    with pytest.raises(
        NotOnePlace, match=r"stand in: nothing\. Its name has: Sender\.send \(wangtimer/sender\.py:14\)"
    ):
        Mutation("Sender.send", "return None", "return False").apply(tree)
    assert sender(tree) == SENDER


def test_variables_of_a_function_are_no_names(tree: Path) -> None:
    (tree / "wangtimer" / "counted.py").write_text("def counted() -> int:\n    most = 1\n    return most\n")
    with pytest.raises(NotOnePlace, match="Its lines stand in: counted "):
        Mutation("counted.most", "most = 1", "most = 2").apply(tree)
